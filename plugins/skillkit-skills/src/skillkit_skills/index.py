"""The index of skills: which of them a request means, by full text over name, description and body.

SQLite's FTS5 keeps the index in one file of the cache folder, for all hosts of a user. Where the file cannot be used the same
index is made in memory, and without FTS5 the one of :mod:`skillkit_skills.word_index`: a search takes longer then, and is never
empty because of it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from hashlib import blake2b
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import skillkit_markdown

from skillkit_core.contracts.skill_loader import SkillSource
from skillkit_core.skills import Requirements, Skill, SkillProblem

from .scanner import FILE, FoundSkill
from .skill_md.build import DEFAULTS, skill_of
from .word_index import WordIndex, plain, spaced, terms

if TYPE_CHECKING:
    from sqlite3 import Connection

    from skillkit_core import Host

__all__ = ["Found", "Kept", "Row", "SkillIndex", "index_of"]

WEIGHTS = (5.0, 3.0, 1.0)  # of name, description and body
BODY_CHARS = 20_000
MOST_ROWS = 50_000  # texts of removed and changed skills stay; with more rows than this the index starts anew
WAIT = 1.0  # seconds for another process that writes
FTS = "fts5"
_FORMAT = 1
_REMEDY = "delete the file, or give yourself the right to write it; skills are searched from memory until then"


# A row: folder, what made it, size, mtime_ns and ctime_ns of the file, digest of its content, the skill's fields, its body.
Row = tuple[str, str, int, int, int, bytes, str, str]
_SETTLED = 2_000_000_000  # nanoseconds; a younger file can change again within one tick of its time stamp
# What runs programs is read anew each time: whether it is right depends on other files of the skill, too.
_NEVER = ("actions", "hooks", "arguments")
_OWN = frozenset(("path", "source", "body", "requires", "problems"))

T = TypeVar("T")


class Found(NamedTuple):
    """A skill that a search found. A higher ``score`` is a better match, comparable within one search."""

    skill: Skill
    score: float


_indexes: WeakKeyDictionary[Any, SkillIndex] = WeakKeyDictionary()


def index_of(host: Host) -> SkillIndex:
    """The index of a host's skills. Why it cannot be kept in its file is a line of ``skillkit plugins doctor``."""
    found = _indexes.get(host)
    if found is None:
        from weakref import ref

        known = ref(host)

        def note(text: str) -> None:
            if (alive := known()) is not None:
                alive.note("skills", text, stage="index", remedy=_REMEDY)

        found = _indexes[host] = SkillIndex(host.cache_dir / "skills" / "index.sqlite", note)
    return found


class SkillIndex:
    """Finds skills by what a request says. The first search builds the index, later ones index what changed.

    Args:
        file: where it is kept; ``None``: in memory.
        note: called with the reason when the file cannot be used.
    """

    def __init__(self, file: Path | None = None, note: Callable[[str], None] = lambda text: None) -> None:
        self._file = file
        self._note = note
        self._lock = RLock()
        self._remade = False
        self._db: Connection | None = None
        self._plain: WordIndex | None = None  # instead of FTS5
        self._skills: Sequence[Skill] = ()
        self._rows: dict[int, Skill] = {}
        self._version = -1

    def search(self, request: str, skills: Sequence[Skill], limit: int = 20) -> list[Found]:
        """The best of ``skills`` for ``request``, best first; of two alike the one of higher priority, then by name.

        Skills that share no telling word with the request are left out. While the skills are the same, pass the same
        sequence: then their texts are compared with the index only once.
        """
        said = terms(request)
        if not said or not skills or limit < 1:
            return []
        with self._lock:
            found = self._search(said, skills, limit)
        return sorted(found, key=lambda f: (-round(f.score, 6), -f.skill.priority, f.skill.name))

    def rows(self, root: str) -> list[Row]:
        """What is kept of the skills in the folder ``root`` and below; nothing without a file."""
        asked = "SELECT * FROM files WHERE folder = ? OR folder > ? AND folder < ?"
        bare = root.rstrip("/")
        return self._in_file(lambda db: db.execute(asked, (root, f"{bare}/", f"{bare}0")).fetchall()) or []

    def keep(self, rows: Iterable[Row], gone: Iterable[str]) -> None:
        """Keep skills for :meth:`rows`, and forget the folders ``gone``."""

        def work(db: Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            with db:
                db.executemany("DELETE FROM files WHERE folder = ?", [(folder,) for folder in gone])
                db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

        self._in_file(work)

    def _in_file(self, work: Callable[[Connection], T]) -> T | None:
        """Do ``work`` if there is a file; without it a reader reads all skills, and nothing else is different."""
        import sqlite3

        with self._lock:
            while self._file is not None and self._plain is None:
                try:
                    if self._db is None:
                        self._db = _opened(self._file)
                    return work(self._db)
                except (sqlite3.Error, OSError) as error:
                    self._take_over(error)
        return None

    def close(self) -> None:
        """Close the file; the next search opens it again."""
        with self._lock:
            if self._db is not None:
                self._db.close()
            self._db, self._plain, self._skills = None, None, ()

    def _search(self, said: Sequence[str], skills: Sequence[Skill], limit: int) -> list[Found]:
        import sqlite3

        while self._plain is None:
            try:
                if self._db is None:
                    self._db = _opened(self._file)
                (version,) = self._db.execute("PRAGMA data_version").fetchone()  # another process wrote
                if self._skills is not skills or self._version != version:
                    self._rows = _updated(self._db, skills)
                    self._skills, self._version = skills, version
                return list(self._best(self._db, said, limit))
            except (sqlite3.Error, OSError) as error:
                self._take_over(error)
        if self._skills is not skills:
            rows = [[plain(text) for text in _texts(skill)] for skill in skills]
            self._plain, self._skills = WordIndex([(weight, 0.75) for weight in WEIGHTS], rows), skills
        words = dict.fromkeys(word for term in said for word in plain(term))
        return [Found(skills[number], score) for number, score in self._plain.search(words, limit)]

    def _best(self, db: Connection, said: Sequence[str], limit: int) -> Iterator[Found]:
        asked = "SELECT rowid, bm25(words, ?, ?, ?) AS score FROM words WHERE words MATCH ? ORDER BY score, rowid"
        for row, score in db.execute(asked, (*WEIGHTS, " OR ".join(f'"{term}"' for term in said))):
            if row in self._rows:  # else it is a skill of another host, or what a skill said earlier
                yield Found(self._rows[row], -score)
                limit -= 1
                if not limit:
                    return

    def _take_over(self, error: Exception) -> None:
        """Go on without what failed: a broken file is made again, once; else the index is in memory from now on."""
        self.close()
        file = self._file
        if "no such module" in str(error):
            self._plain = WordIndex((), ())
            self._note(f"the SQLite of this Python has no FTS5, so skills are found by whole words only: {error}")
        elif file is None:
            raise error
        elif _broken(error) and not self._remade and _removed(file):
            self._remade = True
            self._note(f"{file} was broken and has been made again: {error}")
        else:
            self._file = None
            self._note(f"{file} cannot be used: {error}")


def _opened(file: Path | None) -> Connection:
    """The database with its tables; a file of another format is emptied."""
    import sqlite3

    if file is not None:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))  # it holds the user's texts
    db = sqlite3.connect(
        ":memory:" if file is None else file, timeout=WAIT, isolation_level=None, check_same_thread=False
    )
    try:
        if db.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
            db.execute("BEGIN IMMEDIATE")
            with db:
                for table in ("files", "texts", "words"):
                    db.execute(f"DROP TABLE IF EXISTS {table}")
                db.execute(
                    "CREATE TABLE files(folder TEXT PRIMARY KEY, made TEXT, size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, "
                    "digest BLOB, record TEXT, body TEXT)"
                )
                db.execute("CREATE TABLE texts(id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, digest BLOB)")
                columns = "name, description, body, content='', tokenize='porter unicode61'"
                db.execute(f"CREATE VIRTUAL TABLE words USING {FTS}({columns})")
                db.execute(f"PRAGMA user_version = {_FORMAT}")
    except BaseException:
        db.close()
        raise
    return db


def _updated(db: Connection, skills: Sequence[Skill]) -> dict[int, Skill]:
    """Index the texts that are new or changed, in one transaction; the skill of each row."""
    (size,) = db.execute("SELECT count(*) FROM words_docsize").fetchone()
    if size > max(MOST_ROWS, 4 * len(skills)):
        db.execute("BEGIN IMMEDIATE")
        with db:
            db.execute("DELETE FROM texts")
            db.execute("INSERT INTO words(words) VALUES ('delete-all')")
    known = {key: (row, digest) for key, row, digest in db.execute("SELECT key, id, digest FROM texts")}
    rows: dict[int, Skill] = {}
    new = []
    for skill in skills:
        texts = _texts(skill)
        digest = blake2b("\0".join(texts).encode("utf-8", "replace"), digest_size=16).digest()
        key = str(skill.path) if skill.path is not None else f"{skill.source}:{skill.name}"
        row, kept = known.get(key, (0, b""))
        if kept == digest:
            rows[row] = skill
        else:
            new.append((skill, key, digest, texts))
    if not new:
        return rows
    db.execute("BEGIN IMMEDIATE")
    with db:  # commits, or takes everything back
        for skill, key, digest, texts in new:
            db.execute("DELETE FROM texts WHERE key = ?", (key,))
            row = db.execute("INSERT INTO texts(key, digest) VALUES (?, ?)", (key, digest)).lastrowid or 0
            said = [text.encode("utf-8", "replace").decode() for text in texts]
            db.execute("INSERT INTO words(rowid, name, description, body) VALUES (?, ?, ?, ?)", (row, *said))
            rows[row] = skill
    return rows


def _texts(skill: Skill) -> tuple[str, str, str]:
    """What of a skill is looked through: its names, what it says it is for, its instructions."""
    actions = (text for action in skill.actions for text in (action.name, action.description))
    names = " ".join((skill.name, skill.display_name or "", *skill.aliases))
    about = (skill.description, skill.when_to_use or "", *skill.keywords, *skill.tags, *skill.examples, *actions)
    return spaced(names), spaced("\n".join(about)), spaced(skill.body[:BODY_CHARS])


def _broken(error: Exception) -> bool:
    from sqlite3 import DatabaseError

    said = ("no such table", "no such column", "vtable constructor failed")
    return type(error) is DatabaseError or any(words in str(error) for words in said)


def _removed(file: Path) -> bool:
    try:
        file.unlink()
    except OSError:
        return False
    return True


# --- skills as rows, so that a file that did not change is not parsed again ------------------------------------------


class Kept:
    """The skills below one directory as the index has them.

    Args:
        index: where they are kept.
        root: the directory.
        source: the source, which decides what a skill of it may do.

    Attributes:
        stamps: size, modification and change time of the file of each folder.
    """

    def __init__(self, index: SkillIndex, root: str, source: SkillSource) -> None:
        self._index = index
        self._source = source.name
        self._made = f"{source.kind} {source.trusted} {_code()}"
        self._all = index.rows(root)
        self._rows = {row[0]: row for row in self._all if row[1] == self._made}
        self.stamps = {folder: row[2:5] for folder, row in self._rows.items()}
        self._new: list[Row] = []

    def skill(self, found: FoundSkill) -> Skill | None:
        """The skill in a folder whose file is as it was."""
        return _restored(self._rows[found.folder], self._source) if found.unchanged else None

    def same(self, found: FoundSkill, data: bytes) -> Skill | None:
        """The skill in a folder whose file was written again with the same content."""
        row = self._rows.get(found.folder)
        if row is None or found.agents or found.notes or row[5] != _digest(data):
            return None
        return _restored(row, self._source)

    def add(self, found: FoundSkill, skill: Skill, data: bytes) -> None:
        """Keep a skill that was read from ``data``, unless it has to be read each time."""
        if found.agents or found.notes or any(getattr(skill, name) for name in _NEVER):
            return
        try:
            now = os.stat(found.file)  # noqa: PTH116
        except OSError:
            return
        young = time.time_ns() - max(now.st_mtime_ns, now.st_ctime_ns) < _SETTLED
        if young or now.st_size != len(data):
            return
        values = {
            name: v for name, default in DEFAULTS.items() if name not in _OWN and (v := getattr(skill, name)) != default
        }
        needs = {f.name: v for f in fields(Requirements) if (v := getattr(skill.requires, f.name))}
        said = [(p.code, p.message, p.severity) for p in skill.problems]
        record = json.dumps((values, needs, said))
        stamp = now.st_size, now.st_mtime_ns, now.st_ctime_ns
        self._new.append((found.folder, self._made, *stamp, _digest(data), record, skill.body))

    def save(self, found: Iterable[FoundSkill]) -> None:
        """Write what is new, and forget the folders that are no longer ``found``."""
        here = {one.folder for one in found}
        gone = [row[0] for row in self._all if row[0] not in here]
        if self._new or gone:
            self._index.keep(self._new, gone)


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


@cache
def _code() -> str:
    """What stands for this code: after a change of it, everything is read again."""
    digest = blake2b(digest_size=16)
    for package in (Path(__file__).parent, Path(skillkit_markdown.__file__).parent):
        for file in sorted(package.rglob("*.py")):
            about = file.stat()
            digest.update(f"{file.name} {about.st_size} {about.st_mtime_ns}\n".encode())
    return digest.hexdigest()


_decode = json.JSONDecoder().raw_decode


def _restored(row: Row, source: str) -> Skill:
    """The skill that ``row`` was made of."""
    (values, needs, said), _ = _decode(row[6])
    values["path"], values["source"], values["body"] = Path(row[0]), source, row[7]
    if needs:
        given: dict[str, Any] = {k: tuple(v) if type(v) is list else v for k, v in needs.items()}
        values["requires"] = Requirements(**given)
    if said:
        file = f"{row[0]}/{FILE}"
        values["problems"] = tuple([SkillProblem(code, text, severity, file) for code, text, severity in said])
    return skill_of(values)
