"""The container file of a distribution."""

from __future__ import annotations

import sys

from .project import Project

__all__ = ["container_file"]

_TEXT = """\
# The image of {package} {version}, written by 'skillkit dist image'. Build it beside dist/, which 'skillkit dist build' fills:
#
#   podman build --tag {name}:{version} .        (or docker build)
#   podman run --rm -it {name}:{version}
#
# Wheels that no package index has are put into dist/, too.
FROM {base} AS build
COPY dist/ /build/
RUN python -m venv /opt/{name}
RUN /opt/{name}/bin/pip install --no-cache-dir --find-links /build --requirement /build/requirements.txt

FROM {base}
RUN useradd --create-home {name}
COPY --from=build /opt/{name} /opt/{name}
ENV PATH=/opt/{name}/bin:$PATH
USER {name}
WORKDIR /home/{name}
ENTRYPOINT ["{command}"]
"""


def container_file(project: Project, base: str | None = None) -> str:
    """Return the container file of a distribution whose wheel, lock and requirements are in ``dist/``.

    Args:
        base: image with a Python; default: that of python.org with the version that runs here, for which the lock was made.
    """
    python = f"docker.io/library/python:{sys.version_info.major}.{sys.version_info.minor}-slim"
    return _TEXT.format(
        base=base or python, package=project.package, version=project.version, name=project.name,
        command=project.command or project.name,
    )  # fmt: skip
