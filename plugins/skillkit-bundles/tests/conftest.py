"""What the tests of this plugin share."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest
import skillkit_bundles.plugin
import skillkit_skills.plugin
from click.testing import CliRunner
from skillkit_bundles.cli import bundles
from skillkit_bundles.import_cli import import_
from skillkit_bundles.market_cli import marketplace

GROUPS = {"bundles": bundles, "marketplace": marketplace, "import": import_}


@pytest.fixture
def run(make_host, skillkit_home):
    """Run a command in this process, with a fresh host each time; ``code`` is the exit code that it must have."""

    def call(group, *args, code=0, plugins=(), environ=None):
        host = make_host(
            ("skills", skillkit_skills.plugin),
            ("bundles", skillkit_bundles.plugin),
            *plugins,
            environ={**os.environ, **(environ or {})},
        )
        words = [os.fspath(one) for one in args]
        done = CliRunner().invoke(GROUPS[group], words, obj=SimpleNamespace(host=host))
        said = f"{done.stdout}{done.stderr}{done.exception or ''} {getattr(done.exception, 'hint', None) or ''}"
        assert getattr(done.exception, "exit_code", done.exit_code) == code, said
        data = json.loads(done.stdout) if "--json" in words and done.stdout else None
        return SimpleNamespace(text=said, json=data, host=host)

    return call


@pytest.fixture(scope="session")
def _unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bundles")


@pytest.fixture
def corpus(shared_data: Path, _unpacked: Path) -> Path:
    """The folder with the public bundles, unpacked once."""
    if not any(_unpacked.iterdir()):
        with tarfile.open(shared_data / "bundles" / "bundles.tar.xz") as archive:
            archive.extractall(_unpacked, filter="fully_trusted")
    return _unpacked
