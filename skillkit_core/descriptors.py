"""Descriptors: small descriptions that plugins pass to ``register``, each with a name, and the kinds of descriptors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from .errors import PluginError, close_matches
from .fields import check_fields
from .frozen import EMPTY

__all__ = [
    "Command", "ConfigSection", "ContextProvider", "Factory", "Provider", "TokenEstimator",
]  # fmt: skip


KINDS = (
    "adapters", "models", "runtimes", "compactors", "tools", "skill_sources", "skill_loaders", "session_stores",
    "token_estimators", "context_providers", "executors", "credentials", "commands", "config",
)  # fmt: skip
"""For each kind there is a hook ``register_<kind>`` and a registry."""


class Factory(NamedTuple):
    """A named object that is made when it is first needed: a runtime, compactor, session store or skill loader.

    ``create``, a callable, a class or an import string, is called with the host, and with ``config=`` (the plugin's section)
    where the plugin registered a section and ``create`` takes ``config``.
    """

    name: str
    create: Callable[..., Any] | str
    description: str = ""


class Provider(NamedTuple):
    """An adapter plus endpoint and credentials.

    Attributes:
        name: name for ``--provider``.
        apis: wire protocol to adapter class or its import string. The first one is the default.
        base_url: endpoint; ``None``: the one of the adapter.
        base_url_env: variable that replaces ``base_url``.
        api_key_env: variables that may hold the key, of which the first that is set counts; empty: no key is needed.
        default_model: model that is used when only the provider is named.
        headers: headers of every request.
        options: arguments of the adapter's constructor. description: one line for people.
        rank: order of the providers that a bare ``skillkit run`` may use when they have a key, lowest first; ``None``: never.
        generic: this provider takes any endpoint that speaks its api, and a bare ``--base-url`` means this provider.
        api_aliases: other name of a wire protocol to its name, for every provider that speaks the protocol.
    """

    name: str
    apis: Mapping[str, Callable[..., Any] | str]
    base_url: str | None = None
    base_url_env: str | None = None
    api_key_env: tuple[str, ...] = ()
    default_model: str | None = None
    headers: Mapping[str, str] = EMPTY
    options: Mapping[str, Any] = EMPTY
    description: str = ""
    rank: int | None = None
    generic: bool = False
    api_aliases: Mapping[str, str] = EMPTY


class Command(NamedTuple):
    """A command: its name, the import string of its click command, one line of help. ``opens``: a bare ``skillkit`` runs it."""

    name: str
    target: str
    help: str
    hidden: bool = False
    opens: bool = False


class ConfigSection(NamedTuple):
    """The section ``name`` of the configuration, for one plugin.

    ``model`` is a dataclass of :func:`skillkit_core.config.setting` fields, which needs no pydantic while its values are of their
    own types, or a pydantic model, or the import string of either. A static method ``doctor(host)`` of it raises what
    ``skillkit doctor`` says of settings that do not work here.
    """

    name: str
    model: type[Any] | str


class ContextProvider(NamedTuple):
    """A part of the system prompt: ``provide(agent) -> str | None`` is called once per run, lower ``order`` first."""

    name: str
    provide: Callable[[Any], str | None] | str
    order: int = 50


class TokenEstimator(NamedTuple):
    """An estimator of tokens: ``estimate(text) -> int``, for models whose ids match one of the ``fnmatch`` patterns.

    ``create(model)``, where given, makes what estimates for one model and counts more than texts: an object with ``text(text)``,
    ``message(message)`` and ``prompt(system, tools)``, each a number of tokens, and ``margin``, the relative error of half of
    the estimates (``None``: not measured).
    """

    name: str
    estimate: Callable[[str], int] | str
    models: Sequence[str] = ("*",)
    create: Callable[[Any], Any] | str | None = None


def _check(descriptor: Any) -> None:
    """Have the fields of every new ``descriptor`` checked; a named tuple has no ``__post_init__``."""
    make = descriptor.__new__

    def checked(cls: Any, *args: Any, **kwargs: Any) -> Any:
        made = make(cls, *args, **kwargs)
        check_fields(made, f"{cls.__name__} {made[0]!r}")
        return made

    descriptor.__new__ = checked


for _descriptor in (Factory, Provider, Command, ConfigSection, ContextProvider, TokenEstimator):
    _check(_descriptor)


def load_object(target: Any) -> Any:
    """Return the object that an import string ``"package.module:attribute"`` names, and any other target unchanged.

    Raises:
        PluginError: the string is malformed, or the module has no such attribute.
    """
    if not isinstance(target, str):
        return target
    module, sep, attribute = target.partition(":")
    if not sep or not module or not attribute:
        raise PluginError(f"{target!r} is not an import string", hint="write 'package.module:attribute'")
    __import__(module)  # waits where another thread still runs the module's code, as a look into sys.modules would not
    found = sys.modules[module]
    try:
        return attrgetter(attribute)(found)
    except AttributeError:
        hint = next((f"did you mean {name!r}?" for name in close_matches(attribute, vars(found), 1)), None)
        raise PluginError(f"module {module!r} has no attribute {attribute!r}", hint=hint) from None
