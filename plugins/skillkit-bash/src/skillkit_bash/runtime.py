"""The runtime ``bash``: commands as processes of this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit_process import Capture, Mask, environment, run

from skillkit_core import AbortSignal, ExecutionResult, OnOutput, SkillRuntime

if TYPE_CHECKING:
    from skillkit_core import Host

    from .config import BashConfig
    from .spill import SpillFile

__all__ = ["BashRuntime", "clean_environment", "with_programs"]

_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


def clean_environment(
    allow: Iterable[str] = (), *, path: str | None = None, host: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the variables of ``host`` that a command may see, as :func:`skillkit_process.environment` does.

    ``TERM`` is always ``dumb``: nothing that runs here has a terminal.

    Args:
        allow: further names.
        path: ``PATH``; default: the host's, else a common one.
        host: where the variables are; default: ``os.environ``.
    """
    env = environment(allow, host)
    return {**env, "PATH": path or env.get("PATH") or _DEFAULT_PATH, "TERM": "dumb"}


def with_programs(env: Mapping[str, str], host: Host) -> dict[str, str]:
    """Return variables with the programs of other plugins at the end of ``PATH``."""
    known = host.registry("shell_paths") if "shell_paths" in host.kinds else None
    folders = [str(folder) for name in known.list() for folder in known.get(name)()] if known is not None else []
    return {**env, "PATH": os.pathsep.join([env["PATH"], *folders])}


class BashRuntime(SkillRuntime):
    """Runs commands with live output, in bounded memory, and ends everything they started.

    - A string goes to ``bash -c`` (``sh -c`` where there is no bash). A sequence is executed as it is, without a shell.
    - Output reaches the subscribers as it arrives, in chunks of any size, decoded as UTF-8. What is not UTF-8 becomes U+FFFD.
      :class:`~skillkit_bash.Lines` makes whole lines of the chunks.
    - The result keeps the first and the last ``max_output / 2`` characters of each stream with a note between them. The whole
      stream is then in a file (mode 0600, up to 1 GiB, in ``cache_dir/output``). The file is removed a day after the last write,
      or earlier when all these files grow beyond ``max_kept_output``. ``truncated`` without a path means that the disk refused.
    - A timeout, an abort and a cancelled caller end the whole tree: SIGTERM, two seconds, SIGKILL. :class:`skillkit_process.Tree`
      says who is found. ``exit_code`` is then ``None``.
    - When the command exits by itself, what the command left in its session is ended the same way. A pipe that somebody else
      keeps open is waited for a quarter of a second. To leave a server running: ``setsid -f server >log 2>&1``.
    - A secret of the host in the environment of a command is ``***`` in all output of that command, the file too.
    - There is no terminal: the command leads a session that has none, so that ``/dev/tty`` cannot be opened, and stdin has
      ended. ``needs_terminal`` says that a command failed for that. An editor that waits nevertheless is ended.
    - An exception of a subscriber ends the tree and is raised.

    Args:
        host: gives the configuration section ``bash`` and the cache directory; ``None``: neither, just defaults.
        shell: used instead of the section's (see :class:`~skillkit_bash.BashConfig`).
        env_allow: used instead of the section's.
        path: used instead of the section's.
        spill_dir: used instead of ``host.cache_dir / "output"``.
    """

    def __init__(
        self,
        host: Host | None = None,
        *,
        shell: str | None = None,
        env_allow: Sequence[str] = (),
        path: str | None = None,
        spill_dir: Path | None = None,
    ) -> None:
        self._host = host
        config: BashConfig | None = host.config.section("bash", None) if host is not None else None
        self._shell = shell or (config.shell if config else None)
        self._env_allow = tuple(env_allow) or (config.env_allow if config else ())
        self._path = path or (config.path if config else None)
        if spill_dir is None:
            spill_dir = host.cache_dir / "output" if host is not None else _own_temporary_directory()
        self._spill_dir = spill_dir
        self._max_kept = config.max_kept_output if config else None

    async def execute(
        self,
        command: str | Sequence[str],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        *,
        on_error_output: OnOutput | None = None,
        signal: AbortSignal | None = None,
        stdin: bytes | None = None,
        max_output: int = 256 * 1024,
    ) -> ExecutionResult:
        """Run ``command``; see :meth:`skillkit_core.SkillRuntime.execute`."""
        if signal is not None and signal.aborted:
            return ExecutionResult(exit_code=None, aborted=True)
        if env is None:
            env = self._environment()
        secrets = self._secrets(env)
        stdout, stderr = (
            Capture(max_output, heard, partial(self._spill, name), Mask(secrets) if secrets else None)
            for name, heard in (("stdout", on_output), ("stderr", on_error_output or on_output))
        )
        began = time.monotonic()
        try:
            how, code = await run(
                self._argv(command), stdout, stderr, cwd=cwd, env=env, stdin=stdin, timeout=timeout, signal=signal
            )
        except BaseException:  # nobody gets a result that could name the files
            stdout.discard()
            stderr.discard()
            raise
        out, out_cut, out_path = stdout.finish()
        err, err_cut, err_path = stderr.finish()
        failed = how == "timeout" or (how == "exited" and code != 0)
        return ExecutionResult(
            stdout=out,
            stderr=err,
            exit_code=code,
            timed_out=how == "timeout",
            aborted=how == "aborted",
            truncated=out_cut or err_cut,
            stdout_path=out_path,
            stderr_path=err_path,
            stdout_bytes=stdout.total,
            stderr_bytes=stderr.total,
            duration=time.monotonic() - began,
            needs_terminal=how == "terminal" or (failed and _misses_terminal(err if err.strip() else out)),
        )

    def _environment(self) -> dict[str, str]:
        """Return what commands see, with the programs of other plugins at the end of ``PATH``."""
        env = clean_environment(self._env_allow, path=self._path)
        return env if self._host is None else with_programs(env, self._host)

    def _spill(self, name: str) -> SpillFile | None:
        """Open a file for the whole of an output."""
        from .spill import MAX_TOTAL, SpillDirectory

        return SpillDirectory(self._spill_dir, max_total=self._max_kept or MAX_TOTAL).open(name)

    def _secrets(self, env: Mapping[str, str]) -> list[str]:
        """Return the secrets of the host that a command gets to know by its environment."""
        known = self._host.secrets.known if self._host is not None else ()
        return [secret for secret in known if any(secret in value for value in env.values())]

    def _argv(self, command: str | Sequence[str]) -> list[str]:
        if not isinstance(command, str):
            return list(command)
        if self._shell is None:
            import shutil

            self._shell = shutil.which("bash") or shutil.which("sh") or "/bin/sh"
        # A leading blank means nothing to a shell, but keeps a command that starts with '-' from being an option.
        return [self._shell, "-c", f" {command}" if command.startswith(("-", "+")) else command]


def _misses_terminal(text: str) -> bool:
    from .terminal import misses_terminal

    return misses_terminal(text)


def _own_temporary_directory() -> Path:
    import tempfile

    return Path(tempfile.gettempdir()) / f"skillkit-output-{os.geteuid()}"
