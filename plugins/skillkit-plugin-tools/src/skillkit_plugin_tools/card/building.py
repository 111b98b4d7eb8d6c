"""From a folder to its wheel, with the build backend that the project names."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from skillkit_core.errors import SkillKitError, UsageError

__all__ = ["BuildFailed", "wheel_of"]


class BuildFailed(SkillKitError):
    """A folder cannot be built; ``output`` is what the backend wrote."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


def wheel_of(source: Path, folder: Path) -> Path:
    """Build the wheel of a project in ``folder``, and return its path.

    A backend that is installed here builds it here; another one is fetched into an environment of its own, by uv or pip.

    Raises:
        UsageError: the folder is no project.
        BuildFailed: the build fails.
    """
    from build import BuildBackendException, BuildException, ProjectBuilder, check_dependency
    from build.env import DefaultIsolatedEnv
    from pyproject_hooks import quiet_subprocess_runner

    if not (source / "pyproject.toml").is_file():
        raise UsageError(f"{source} has no pyproject.toml", hint="name the folder of a plugin's package")
    try:
        builder = ProjectBuilder(source, runner=quiet_subprocess_runner)
        if not any(list(check_dependency(one)) for one in builder.build_system_requires):
            return Path(builder.build("wheel", folder))
        with DefaultIsolatedEnv(installer="uv" if shutil.which("uv") else "pip") as env:
            builder = ProjectBuilder.from_isolated_env(env, source, runner=quiet_subprocess_runner)
            env.install(builder.build_system_requires)
            env.install(builder.get_requires_for_build("wheel"))
            return Path(builder.build("wheel", folder))
    except (BuildException, BuildBackendException, subprocess.CalledProcessError) as error:
        cause = error if isinstance(error, subprocess.CalledProcessError) else getattr(error, "exception", error)
        output = getattr(cause, "output", None) or getattr(cause, "stderr", None) or b""
        text = output.decode(errors="replace") if isinstance(output, bytes) else str(output)
        last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), str(error))
        raise BuildFailed(last, text) from error
