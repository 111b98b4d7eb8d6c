"""Files that only their owner can read: what is refused, and what two processes do to one file."""

import os
import stat
import subprocess
import sys

import pytest
from skillkit_oauth import PrivateFolder

from skillkit_core import SkillKitError

pytestmark = pytest.mark.smoke


@pytest.fixture
def folder(tmp_path):
    """A folder with a file of tokens."""
    made = PrivateFolder(tmp_path, "acme")
    made.write("tokens.json", {"a": 1})
    return made


def test_files_are_private_and_whole(folder):
    path = folder.path / "tokens.json"
    before = folder.signature("tokens.json")
    folder.write("tokens.json", {"a": 2})
    assert folder.read("tokens.json") == {"a": 2} and folder.signature("tokens.json") != before
    assert (stat.S_IMODE(folder.path.stat().st_mode), stat.S_IMODE(path.stat().st_mode)) == (0o700, 0o600)
    assert [p.name for p in folder.path.iterdir()] == ["tokens.json"]
    with pytest.raises(TypeError):
        folder.write("tokens.json", {"a": object()})
    assert folder.read("tokens.json") == {"a": 2} and [p.name for p in folder.path.iterdir()] == ["tokens.json"]
    assert folder.read("nothing.json") == {} and folder.signature("nothing.json") is None


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda path: path.chmod(0o640), "others can read it; chmod 600"),
        (lambda path: path.rename(path.with_name("real")).parent and path.symlink_to("real"), "it is a link"),
        (lambda path: path.unlink() or path.mkdir(), "is no regular file"),
        (lambda path: path.unlink() or os.mkfifo(path, 0o600), "is no regular file"),
        (lambda path: path.write_text("[]"), "holds no credentials; remove it and log in again"),
        (lambda path: path.write_bytes(b"\xff{"), "holds no credentials"),
        (lambda path: path.parent.chmod(0o777), "others can write there; chmod 700"),
    ],
    ids=["readable", "a link", "a folder", "a pipe", "no object", "no text", "a folder that others can write"],
)
def test_what_is_not_private_is_not_read(folder, spoil, why):
    spoil(folder.path / "tokens.json")
    with pytest.raises(SkillKitError, match=why):
        folder.read("tokens.json")


def test_a_link_in_place_of_a_file_is_replaced_and_what_it_leads_to_is_untouched(folder, tmp_path):
    theirs, path = tmp_path / "theirs", folder.path / "tokens.json"
    theirs.write_text("{}")
    path.unlink()
    path.symlink_to(theirs)
    folder.write("tokens.json", {"a": 3})
    assert not path.is_symlink() and folder.read("tokens.json") == {"a": 3} and theirs.read_text() == "{}"


def test_a_link_in_place_of_the_folder_or_of_a_lock_is_refused(folder, tmp_path):
    (folder.path / "store.lock").symlink_to(tmp_path / "theirs")
    with pytest.raises(SkillKitError, match="cannot be opened"), folder.lock("store"):
        pass
    assert not (tmp_path / "theirs").exists()
    folder.path.rename(tmp_path / "moved")
    folder.path.symlink_to(tmp_path / "moved")
    for use in (lambda: folder.read("tokens.json"), lambda: folder.write("tokens.json", {})):
        with pytest.raises(SkillKitError, match="is a link, and credentials are not kept behind one"):
            use()


def test_a_lock_that_another_process_holds_is_waited_for_and_then_said(folder):
    code = (
        "import sys, pathlib; from skillkit_oauth import PrivateFolder\n"
        f"with PrivateFolder(pathlib.Path({str(folder.path.parent)!r}), 'acme').lock('store'):\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(SkillKitError, match="another process has held the lock for 0 s"):
            with folder.lock("store", seconds=0):
                pass
        other.stdin.close()
        with folder.lock("store"):
            assert other.wait() == 0
