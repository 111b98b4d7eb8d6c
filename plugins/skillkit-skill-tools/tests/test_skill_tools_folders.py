"""Each way in which files change is one change; what does not matter is none, and is not even watched."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest
import skillkit_skill_tools.folder_watch as watching
import skillkit_skill_tools.notices as noticing
from skillkit_skill_tools import FolderWatch
from skillkit_skill_tools.changes_seen import is_remote, look
from skillkit_skill_tools.config import WatchConfig

PATIENCE = 60  # seconds: a machine may be slow, no change takes that long


def put(root: Path, name: str, body: str = "Be kind.") -> Path:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "SKILL.md"
    file.write_text(f"---\nname: {name}\ndescription: Use it.\n---\n{body}\n")
    return file


class Changes:
    """The changes of one folder, one at a time."""

    def __init__(self, root: Path, changes: AsyncGenerator[list[str], None], told: list[str]) -> None:
        self._root, self._changes, self.told = root, changes, told

    async def next(self) -> list[str]:
        """The files of the next change, as paths below the root."""
        found = await asyncio.wait_for(anext(self._changes), PATIENCE)
        return [os.path.relpath(path, self._root) for path in found]

    async def only(self, *expected: str) -> None:
        """Of what was done until now, one change came, of these files; whatever comes late would come now."""
        assert await self.next() == sorted(expected)
        put(self._root, "zz-last", body=os.urandom(8).hex())
        assert await self.next() == ["zz-last/SKILL.md"]


def watched(root: Path, work: Callable[[Changes], object], *, settle: float = 0.5, **options) -> list[str]:
    """Watch ``root`` while ``work`` goes on; return what was told."""
    whole = options.pop("whole", False)
    roots = options.pop("roots", [root])

    async def run() -> list[str]:
        told: list[str] = []
        watch = FolderWatch(lambda: roots, told.append, WatchConfig(settle=settle, **options), whole=whole)
        async with aclosing(watch.changes()) as changes:
            seen = Changes(root, changes, told)
            first = put(root, "zz-last")
            assert os.path.relpath(first, root) in await seen.next()
            await work(seen)  # type: ignore[misc]
        return told

    return asyncio.run(run())


def in_place(file: Path, text: str) -> None:
    """nano, VS Code: the file is emptied and written."""
    file.write_text(text)


def temporary_and_rename(file: Path, text: str) -> None:
    """gedit, Sublime Text and most programs: a new file takes the place of the old one."""
    new = file.with_name(".goutputstream-A1B2C3")
    new.write_text(text)
    new.replace(file)


def jetbrains(file: Path, text: str) -> None:
    """IntelliJ's safe write: the old file steps aside until the new one is there."""
    new, old = file.with_name(file.name + "___jb_tmp___"), file.with_name(file.name + "___jb_old___")
    new.write_text(text)
    file.replace(old)
    new.replace(file)
    old.unlink()


def vim(file: Path, text: str) -> None:
    """Vim: a swap file, a trial file, the old file becomes the backup, a new one is written."""
    swap, trial, backup = file.with_name(".SKILL.md.swp"), file.with_name("4913"), file.with_name("SKILL.md~")
    swap.write_bytes(b"b0VIM 9.0")
    trial.touch()
    trial.unlink()
    file.replace(backup)
    with file.open("w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    backup.unlink()
    swap.unlink()


def emacs(file: Path, text: str) -> None:
    """Emacs: a lock that is a link to nowhere, an auto-save file, the backup a rename."""
    lock, auto = file.with_name(".#SKILL.md"), file.with_name("#SKILL.md#")
    lock.symlink_to("ana@machine.4242:1700000000")
    auto.write_text(text)
    file.replace(file.with_name("SKILL.md~"))
    file.write_text(text)
    auto.unlink()
    lock.unlink()


def sed(file: Path, text: str) -> None:
    """The stream editor itself."""
    file.with_name("script.sed").write_text("s/kind/bold/\n")
    subprocess.run(["sed", "-i", "-f", "script.sed", file.name], cwd=file.parent, check=True)


def vim_itself(file: Path, text: str) -> None:
    """Vim as its users have it: swap file, backup by renaming, undo file."""
    options = "set nocompatible swapfile backup writebackup backupcopy=no undofile"
    subprocess.run(
        ["vim", "-u", "NONE", "-es", "-c", options, "-c", "%s/kind/bold/", "-c", "wq", file.name],
        cwd=file.parent,
        check=True,
    )


SAVES = [
    in_place, temporary_and_rename, jetbrains, vim, emacs, sed,
    pytest.param(vim_itself, marks=pytest.mark.skipif(shutil.which("vim") is None, reason="no vim")),
]  # fmt: skip


@pytest.mark.smoke
@pytest.mark.parametrize("save", SAVES)
def test_an_editor_that_saves_is_one_change(tmp_path, save):
    file = put(tmp_path, "one")

    async def work(changes):
        save(file, file.read_text() + "More.\n")
        await changes.only("one/SKILL.md")

    assert watched(tmp_path, work) == []


def test_a_checkout_of_another_branch_is_one_change(tmp_path):
    def git(*words: str) -> None:
        identity = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    names = [f"s{n:03}" for n in range(150)]
    git("init")
    for name in names:
        put(tmp_path, name)
    git("add", ".")
    git("commit", "-m", "one")
    git("checkout", "-b", "other")
    for name in names[:100]:
        put(tmp_path, name, "Changed.")
    shutil.rmtree(tmp_path / names[-1])
    put(tmp_path, "new/deeper", "New.")
    git("add", ".")
    git("commit", "-m", "two")

    async def work(changes):
        git("checkout", "main")
        await changes.only(*(f"{n}/SKILL.md" for n in names[:100]), f"{names[-1]}/SKILL.md", "new/deeper/SKILL.md")
        git("checkout", "other")  # folders that were made anew are watched
        await changes.only(*(f"{n}/SKILL.md" for n in names[:100]), f"{names[-1]}/SKILL.md", "new/deeper/SKILL.md")
        put(tmp_path, "new/deeper", "Newer.")
        await changes.only("new/deeper/SKILL.md")

    watched(tmp_path, work, settle=1.0)


def test_renames_and_deletions_are_seen_whatever_is_above_them(tmp_path):
    root = tmp_path / "project/.skillkit/skills"

    async def work(changes):
        put(root, "one")
        assert await changes.next() == ["one/SKILL.md"]
        (root / "one").rename(root / "two")
        assert await changes.next() == ["one/SKILL.md", "two/SKILL.md"]
        put(root, "two", "After the rename.")
        assert await changes.next() == ["two/SKILL.md"]
        shutil.rmtree(tmp_path / "project")
        assert await changes.next() == ["two/SKILL.md", "zz-last/SKILL.md"]
        put(root, "three")  # all of the folders above come again
        assert await changes.next() == ["three/SKILL.md"]

    watched(root, work)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_a_change_and_its_return_another(tmp_path):
    put(tmp_path, "one")

    async def work(changes):
        (tmp_path / "one").chmod(0)
        assert "one" in await changes.next()
        (tmp_path / "one").chmod(0o755)
        assert "one/SKILL.md" in await changes.next()

    watched(tmp_path, work)


def test_what_belongs_to_no_skill_is_no_change(tmp_path):
    put(tmp_path, "one")
    (tmp_path / "one/scripts").mkdir()

    async def work(changes):
        (tmp_path / "one/scripts/run.py").write_text("print()")
        (tmp_path / "one/notes.txt").write_text("no part of what is read")
        (tmp_path / "one/.git").mkdir()
        (tmp_path / "one/.git/SKILL.md").write_text("x")
        (tmp_path / "node_modules/m").mkdir(parents=True)
        put(tmp_path, "node_modules/m/s")
        file = tmp_path / "one/SKILL.md"
        text = file.read_bytes()
        file.with_name("SKILL.md~").write_bytes(text)
        (tmp_path / "one/agents").mkdir()
        (tmp_path / "one/agents/skillkit.yaml").write_text("priority: 60\n")
        await changes.only("one/agents/skillkit.yaml")

    watched(tmp_path, work)


def test_all_files_of_a_skill_count_where_they_are_asked_for(tmp_path):
    put(tmp_path, "one")
    (tmp_path / "one/scripts/__pycache__").mkdir(parents=True)

    async def work(changes):
        (tmp_path / "one/scripts/__pycache__/run.pyc").write_bytes(b"\0")
        (tmp_path / "one/scripts/run.py").write_text("print()")
        await changes.only("one/scripts/run.py")

    watched(tmp_path, work, whole=True)


@pytest.mark.parametrize("each", [1, pytest.param(100, marks=pytest.mark.slow)])
def test_a_virtual_environment_of_370_folders_is_not_watched(tmp_path, each):
    """With 100 files in each it is one of 37,000 files."""
    put(tmp_path, "one")
    packages = tmp_path / "one/.venv/lib"
    for n in range(370):
        (packages / f"p{n}").mkdir(parents=True)
        for k in range(each):
            os.close(os.open(packages / f"p{n}/m{k}.py", os.O_CREAT | os.O_WRONLY))
    shutil.copytree(packages / "p0", tmp_path / "one/env/lib/p0")
    (tmp_path / "one/env/pyvenv.cfg").touch()

    async def work(changes):
        (packages / "p0/m0.py").write_text("changed")
        put(tmp_path, "one", "Changed.")
        await changes.only("one/SKILL.md")

    watched(tmp_path, work)
    for whole in (False, True):
        followed = {path for path, _ in look([tmp_path], whole=whole).folders.values()}
        assert followed <= {
            str(p) for p in (tmp_path, *tmp_path.parents, *(tmp_path / n for n in ("one", "zz-last", "one/env")))
        }


def test_skills_behind_links_are_watched_where_they_are(tmp_path):
    root, elsewhere = tmp_path / "skills", tmp_path / "elsewhere"
    put(elsewhere, "linked")
    real = put(root, "real")
    (root / "link").symlink_to(elsewhere / "linked")
    (root / "by-file").mkdir()
    (tmp_path / "shared.md").write_text(real.read_text())
    (root / "by-file/SKILL.md").symlink_to(tmp_path / "shared.md")
    (root / "loop").symlink_to(root)
    (root / "everything").symlink_to("/")

    async def work(changes):
        put(elsewhere, "linked", "Changed behind the link.")
        await changes.only("link/SKILL.md")
        (tmp_path / "shared.md").write_text("---\ndescription: New.\n---\n")
        await changes.only("by-file/SKILL.md")

    watched(root, work)


def test_without_events_it_looks_from_time_to_time(tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "notices", lambda touched: pytest.fail("polling was asked for"))
    file = put(tmp_path, "one")

    async def work(changes):
        vim(file, file.read_text() + "More.\n")
        await changes.only("one/SKILL.md")

    assert watched(tmp_path, work, polling=True, interval=0.1, settle=0.1) == []


def test_where_the_system_refuses_to_watch_it_says_so_and_looks_itself(tmp_path, monkeypatch):
    """The limit is the kernel's own: its error is what the library raises where the user's watches are used up."""
    if noticing.sys.platform != "linux":
        pytest.skip("limits of inotify")
    from watchdog.observers.inotify_c import InotifyFD

    real, allowed = InotifyFD.add_callback, 4

    def limited(self, path, mask, callback, id_):
        nonlocal allowed
        allowed -= 1
        if allowed < 0:
            raise OSError(28, "inotify watch limit reached")
        return real(self, path, mask, callback, id_)

    monkeypatch.setattr(InotifyFD, "add_callback", limited)
    for n in range(5):
        put(tmp_path, f"s{n}")

    async def work(changes):
        put(tmp_path, "s4", "Changed.")
        await changes.only("s4/SKILL.md")

    (told,) = watched(tmp_path, work, interval=0.1, settle=0.1)
    assert "inotify watch limit reached" in told and "looking every 0.1 s" in told


def test_whole_trees_are_observed_where_that_costs_nothing(tmp_path, monkeypatch):
    """What macOS and Windows use, on this system's observer."""
    monkeypatch.setattr(watching, "notices", noticing.Observed)
    file = put(tmp_path, "one")

    async def work(changes):
        (tmp_path / "one/.venv").mkdir()
        (tmp_path / "one/.venv/x").touch()
        emacs(file, file.read_text() + "More.\n")
        await changes.only("one/SKILL.md")
        shutil.rmtree(tmp_path / "one")
        await changes.only("one/SKILL.md")

    assert watched(tmp_path, work) == []


@pytest.mark.parametrize(("kind", "remote"), [("nfs4", True), ("fuse.sshfs", True), ("9p", True), ("ext4", False)])
def test_network_file_systems_are_known(tmp_path, kind, remote):
    mounts = tmp_path / "mountinfo"
    place = str(tmp_path).replace(" ", "\\040")
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:5 / {place} rw - {kind} server:/x rw\n")
    assert is_remote([tmp_path / "skills"], str(mounts)) is remote
