"""A PostgreSQL for the tests of this package, where one is installed."""

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent / "support"))  # other processes of the conformance suite find it there

import durable_postgres


@pytest.fixture(scope="session")
def postgres():
    """The URL of a database; skipped where PostgreSQL is not installed."""
    if not durable_postgres.BINARIES:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="skpg"))
    try:
        with durable_postgres.server(folder) as url:
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)
