"""One agent elsewhere: its card, the messages to it, and its tasks, all behind the guard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit, urlunsplit

from ..chain import ERROR
from ..errors import PeerError
from ..guard import guarded_client
from .progress import Progress
from .settings import Target, settings_of

if TYPE_CHECKING:
    from a2a.client import Client
    from a2a.types import AgentCard, SecurityScheme

    from skillkit_core import Host

__all__ = ["Peer"]

_POLL = (0.2, 2.0)  # seconds between two looks at a task: the first ones, and the last ones
_BINDINGS = ("JSONRPC", "HTTP+JSON")
_SIGNED = ("ES256", "ES384", "ES512", "RS256", "PS256", "EdDSA")  # no algorithm whose key both sides know


class Peer:
    """An agent elsewhere, while its ``async with`` block runs.

    Args:
        host: the host that calls it.
        target: the agent.

    Attributes:
        card: its card, once the block is entered.
    """

    card: AgentCard

    def __init__(self, host: Host, target: Target) -> None:
        self._host, self.target = host, target
        self.settings = settings_of(host)
        own = self.settings
        self._http = guarded_client(own.allow, max_bytes=own.max_bytes, timeout=own.timeout, silence=own.silence)
        self._client: Client

    async def __aenter__(self) -> Self:
        try:
            with self._told():
                await self._open()
        except BaseException:
            await self._http.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    def progress(self, task: str = "") -> Progress:
        """Return the progress of a task of which nothing is known yet."""
        found = Progress(self.target.name, self.settings.max_bytes, self._host.data_dir / "a2a" / "files")
        found.task = task
        return found

    # --- the card -----------------------------------------------------------------------------------------------------

    async def _open(self) -> None:
        from a2a.client import A2ACardResolver, ClientConfig, ClientFactory

        base, path = _card_address(self.target.url)
        resolver, check = A2ACardResolver(self._http, base), self._verifier()
        try:
            async with asyncio.timeout(self.settings.timeout):
                self.card = await resolver.get_agent_card(relative_card_path=path, signature_verifier=check)
        except TimeoutError:
            raise self._error("silent", f"sent no card within {self.settings.timeout:g} s", retryable=True) from None
        self._check_skill()
        await self._authorize()
        config = ClientConfig(
            streaming=True, polling=True, httpx_client=self._http, supported_protocol_bindings=list(_BINDINGS)
        )
        try:
            self._client = ClientFactory(config).create(self.card)
        except ValueError:
            spoken = ", ".join(sorted({one.protocol_binding for one in self.card.supported_interfaces})) or "nothing"
            raise self._error("protocol", f"speaks {spoken}, and none of {', '.join(_BINDINGS)}") from None

    def _verifier(self) -> Callable[[AgentCard], None] | None:
        """Return what checks the signature of the card; ``None``: it need not have one."""
        if not self.target.signed_by:
            return None
        try:
            from a2a.utils.signing import SignatureVerificationError, create_signature_verifier
        except ImportError:
            raise self._error("signature", "has to sign its card", hint="pip install 'skillkit-a2a[signing]'") from None
        try:
            key = Path(self.target.signed_by).expanduser().read_text("ascii")
        except (OSError, UnicodeError) as error:
            raise self._error("signature", f"has to sign its card, and the key cannot be read: {error}") from None
        verify = create_signature_verifier(lambda kid, jku: key, list(_SIGNED))

        def check(card: AgentCard) -> None:
            try:
                verify(card)
            except SignatureVerificationError as error:
                raise self._error("signature", f"did not sign its card by {self.target.signed_by}: {error}") from None

        return check

    def _check_skill(self) -> None:
        ids = [one.id for one in self.card.skills]
        if self.target.skill and self.target.skill not in ids:
            text = f"has no skill {self.target.skill!r} (its card has {', '.join(ids) or 'none'})"
            raise self._error("unknown_skill", text)

    async def _authorize(self) -> None:
        """Send the key with each request from now on, to the host of the address that the user wrote and to no other."""
        if not self.target.key:
            return
        for one in self.card.supported_interfaces:
            if one.protocol_binding in _BINDINGS and _origin(one.url) != _origin(self.target.url):
                hint = f"if that is right, make {_origin(one.url)} the url of the agent"
                text = f"wants its key at {_origin(one.url)}, which is not the address in a2a.client.agents"
                raise self._error("auth", text, hint=hint)
        value = await self._host.find_secret(self.target.key)
        if not value:
            hint = f"set the variable, or: skillkit auth login {self.target.key}"
            raise self._error("auth", f"needs the secret {self.target.key}, which is nowhere", hint=hint)
        name, text = _header(self.card, value)
        self._http.headers[name] = text

    # --- its tasks ----------------------------------------------------------------------------------------------------

    async def send(
        self,
        parts: Sequence[Mapping[str, Any]],
        progress: Progress,
        *,
        message: str,
        metadata: Mapping[str, Any],
        than: str = "",
    ) -> AsyncIterator[Progress]:
        """Send a message, and yield the progress each time something was told, until the task ends, asks or is left.

        Args:
            parts: of the message, as JSON: ``{"text": ...}``, ``{"data": ...}``.
            progress: of the task to which it belongs; without a task the message begins one.
            message: its id, the same where the same message is sent again.
            metadata: of the message.
            than: the question that it answers: the task has to go on, or ask another one.
        """
        from a2a.types import Message, SendMessageRequest
        from google.protobuf.json_format import ParseDict

        about = {**metadata, **({"skillkit.skill": self.target.skill} if self.target.skill else {})}
        told = {"messageId": message, "role": "ROLE_USER", "parts": list(parts), "metadata": about}
        request = SendMessageRequest(message=ParseDict(told, Message()))
        request.message.task_id, request.message.context_id = progress.task, progress.context
        progress.state = "submitted"
        with self._told(progress):
            async with aclosing(self._client.send_message(request)) as events:  # type: ignore[type-var]
                async for event in events:
                    progress.take(event)
                    yield progress
                    if progress.over_but(than):
                        return
            if not progress.task:
                raise self._error("protocol", "answered with nothing")
        async for _ in self.watch(progress, than=than):
            yield progress

    async def watch(self, progress: Progress, *, than: str = "") -> AsyncIterator[Progress]:
        """Look at a task until it ends, asks or is left, and yield the progress each time the state is another one.

        Args:
            progress: of the task.
            than: the question that was answered already: the task has to ask another one.
        """
        from a2a.types import GetTaskRequest

        pause, seen = _POLL[0], ""
        while True:
            with self._told(progress):
                progress.see(await self._client.get_task(GetTaskRequest(id=progress.task)))
            if progress.state != seen:
                seen = progress.state
                yield progress
            if progress.over_but(than):
                return
            await asyncio.sleep(pause)
            pause = min(_POLL[1], pause * 1.5)

    async def cancel(self, progress: Progress) -> None:
        """Ask the agent to end a task."""
        from a2a.types import CancelTaskRequest

        with self._told(progress):
            progress.see(await self._client.cancel_task(CancelTaskRequest(id=progress.task)))

    def left(self, progress: Progress) -> PeerError:
        """Return the error for a task that has not come to its end in time."""
        why = "waits for its own owner to decide" if progress.owners else "works on"
        text = f"{why} after {self.settings.wait:g} s (a2a.client.wait)"
        return self._error("silent", text, retryable=True, task=progress.task)

    # --- what goes wrong ----------------------------------------------------------------------------------------------

    def _error(self, code: str, text: str, **more: Any) -> PeerError:
        return PeerError(code, f"{self.target.name} {text}", **more)

    @contextmanager
    def _told(self, progress: Progress | None = None) -> Iterator[None]:
        """Raise what goes wrong as :class:`PeerError`, with the task, which is kept."""
        import httpx
        from a2a.client.errors import A2AClientTimeoutError
        from a2a.utils.errors import A2AError, TaskNotFoundError
        from google.protobuf.json_format import ParseError

        task = progress.task if progress is not None else ""
        try:
            yield
        except PeerError as error:
            error.task = error.task or (progress.task if progress is not None else "")
            raise
        except TaskNotFoundError:
            raise self._error("unknown_task", f"knows no task {task}", task=task) from None
        except (A2AClientTimeoutError, httpx.TimeoutException):
            text = f"said nothing for {self.settings.silence:g} s"
            raise self._error("silent", text, retryable=True, task=_task(progress)) from None
        except (A2AError, httpx.HTTPError) as error:
            raise self._failed(error, _task(progress)) from None
        except (ParseError, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            text = f"does not answer as A2A says: {error}"[:500]
            raise self._error("protocol", text, task=_task(progress)) from None

    def _failed(self, error: Exception, task: str) -> PeerError:
        import httpx

        cause = error.__cause__ or error
        if isinstance(cause, httpx.HTTPStatusError):
            status = cause.response.status_code
            if status in (401, 403):
                hint = (
                    "a2a.client.agents.NAME.key names the secret"
                    if not self.target.key
                    else "see whether it is the right one"
                )
                return self._error("auth", f"does not let us in (HTTP {status})", hint=hint, task=task)
            if status == 429 or status >= 500:
                return self._error("busy", f"cannot do it now (HTTP {status})", retryable=True, task=task)
            return self._error("protocol", f"answered with HTTP {status}", task=task)
        if isinstance(cause, httpx.RequestError):
            text = f"cannot be reached: {cause or type(cause).__name__}"
            return self._error("unreachable", text, retryable=True, task=task)
        code = (getattr(error, "data", None) or {}).get(ERROR)
        if code in ("ring", "depth"):
            return self._error(str(code), f"refused it: {error}", task=task)
        return self._error("protocol", f"refused it: {error}"[:500], task=task)


def _task(progress: Progress | None) -> str:
    return progress.task if progress is not None else ""


def _card_address(url: str) -> tuple[str, str | None]:
    """Return the address of an agent and the path of its card; ``None``: the usual one."""
    parts = urlsplit(url)
    if parts.path.endswith(".json"):
        return urlunsplit((parts.scheme, parts.netloc, "", "", "")), parts.path
    return url.rstrip("/"), None


def _origin(url: str) -> str:
    parts = urlsplit(url)
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    return f"{parts.scheme}://{(parts.hostname or '').rstrip('.')}:{port}"


def _header(card: AgentCard, key: str) -> tuple[str, str]:
    """Return the header that a key goes into, as the card wants it: a bearer token unless it says that a header has a name."""
    wanted = [name for one in card.security_requirements for name in one.schemes] or list(card.security_schemes)
    schemes: list[SecurityScheme] = [card.security_schemes[name] for name in wanted if name in card.security_schemes]
    for scheme in schemes:
        if scheme.HasField("http_auth_security_scheme") and scheme.http_auth_security_scheme.scheme.lower() == "bearer":
            break
        own = scheme.api_key_security_scheme
        if scheme.HasField("api_key_security_scheme") and own.location.lower() == "header" and own.name:
            return own.name, key
    return "Authorization", f"Bearer {key}"
