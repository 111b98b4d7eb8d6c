"""The folder of texts: each once, and those in use stay young."""

import os

import pytest
from skillkit_why.texts import Texts


@pytest.mark.smoke
def test_a_text_in_use_stays_young_and_is_marked_once_in_ten_minutes(tmp_path):
    digest = Texts(tmp_path).keep("You are helpful.")
    file = tmp_path / digest
    written = file.stat()

    Texts(tmp_path).keep("You are helpful.")  # as the next session does
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (written.st_mtime_ns, written.st_ino)

    os.utime(file, (written.st_mtime - 700,) * 2)
    Texts(tmp_path).keep("You are helpful.")
    assert file.stat().st_mtime >= written.st_mtime
    file.unlink()
    assert Texts(tmp_path).get(Texts(tmp_path).keep("You are helpful.")) == "You are helpful."
