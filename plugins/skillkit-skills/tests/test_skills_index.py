"""The index: skills are found by full text, unchanged files are not read again, and no skill is lost when its file fails."""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
import subprocess
import sys
import tarfile
import time
import zlib
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
import skillkit_skills.index
import skillkit_skills.loader
from skillkit_skills import SkillFolderLoader, SkillIndex, index_of, read

from skillkit_core.contracts.skill_loader import SkillSource
from skillkit_core.skills import Skill

SKILLS = (
    Skill(name="pdf-tables", description="Extract tables from PDF files.", body="Use it for invoices, too."),
    Skill(name="mailer", description="Send an email.", body="It reads the address book. 数据分析 is possible."),
    Skill(name="weather", description="Forecasts.", body="Ask for rain or wind in a city."),
)


def found(index, request, skills=SKILLS, **options):
    return [one.skill.name for one in index.search(request, skills, **options)]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "cache" / "index.sqlite"


@pytest.mark.parametrize(
    ("request_text", "name"),
    [
        ("pull the table out of a pdf", "pdf-tables"),
        ("which invoice is unpaid", "pdf-tables"),
        ("will it be raining in Oslo?", "weather"),
        ("分析 数据", "mailer"),
        ("数据分析", "mailer"),
        ("emailing somebody", "mailer"),
    ],
)
def test_a_skill_is_found_by_its_name_description_and_body(file, request_text, name):
    assert found(SkillIndex(file), request_text)[0] == name


@pytest.mark.parametrize(
    "text", ["", "the and for", '"', "') OR 1=1 --", "name:x NOT y*", "\ud800 pdf", "AND", "{a b}"]
)
def test_any_text_is_a_request(file, text):
    assert found(SkillIndex(file), text) in ([], ["pdf-tables"])


def test_ties_are_in_the_order_of_priority_and_name(file):
    skills = tuple(
        Skill(name=n, description="Fold paper.", body="x", priority=p) for n, p in (("b", 50), ("a", 50), ("z", 90))
    )
    assert found(SkillIndex(file), "paper", skills) == ["z", "a", "b"]


def test_only_the_given_skills_are_found_and_only_changes_are_indexed(file):
    index = SkillIndex(file)
    assert found(index, "email") == ["mailer"]
    assert found(index, "email", SKILLS[:1]) == []
    changed = (*SKILLS[:2], Skill(name="weather", description="Forecasts, sent by email.", body=""))
    assert sorted(found(index, "email", changed)) == ["mailer", "weather"]
    assert found(index, "rain", changed) == []
    index.close()
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT count(*) FROM words_docsize").fetchone() == (4,), "two skills stayed as they were"
    assert found(SkillIndex(file), "email") == ["mailer"], "another process has the same skills"


def test_a_change_by_another_process_is_noticed(file):
    index, other = SkillIndex(file), SkillIndex(file)
    assert found(index, "email") == ["mailer"]
    changed = tuple(Skill(name=s.name, description=s.description, body="Now other words.") for s in SKILLS)
    assert len(found(other, "words", changed)) == 3
    assert found(index, "email") == ["mailer"] and found(index, "invoices") == ["pdf-tables"]


def test_an_index_of_very_many_old_texts_starts_anew(file, monkeypatch):
    monkeypatch.setattr(skillkit_skills.index, "MOST_ROWS", 20)
    index = SkillIndex(file)
    for n in range(30):
        index.search("email", tuple(Skill(name=s.name, description=f"{s.description} {n}") for s in SKILLS))
    index.close()
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT count(*) FROM words_docsize").fetchone()[0] <= 24
    assert found(SkillIndex(file), "email") == ["mailer"]


def test_the_file_is_readable_by_its_owner_alone(file):
    SkillIndex(file).search("email", SKILLS)
    assert file.stat().st_mode & 0o077 == 0 and file.parent.stat().st_mode & 0o077 == 0


# --- what takes over -----------------------------------------------------------------------------------------------------


def broken(file):
    file.parent.mkdir()
    file.write_bytes(b"no database at all, but long enough to be one" * 100)


def half(file):
    index = SkillIndex(file)
    index.search("email", SKILLS)
    index.close()
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])


def another_table(file):
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE texts(x)")
        db.execute(f"PRAGMA user_version = {skillkit_skills.index._FORMAT}")


@pytest.mark.parametrize("damage", [broken, half, another_table])
def test_a_broken_file_is_said_and_made_again(file, damage):
    damage(file)
    said = []
    assert found(SkillIndex(file, said.append), "email") == ["mailer"]
    assert len(said) == 1 and str(file) in said[0] and "made again" in said[0]
    assert found(SkillIndex(file, said.append), "email") == ["mailer"] and len(said) == 1


def test_a_locked_file_is_said_and_memory_takes_over(file, monkeypatch):
    monkeypatch.setattr(skillkit_skills.index, "WAIT", 0.05)
    SkillIndex(file).search("email", SKILLS)
    said = []
    with closing(sqlite3.connect(file)) as db:
        db.execute("BEGIN EXCLUSIVE")
        assert found(SkillIndex(file, said.append), "email") == ["mailer"]
    assert len(said) == 1 and "locked" in said[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_nobody_may_write_is_said(file):
    file.parent.mkdir(mode=0o500)
    said = []
    assert found(SkillIndex(file, said.append), "email") == ["mailer"]
    assert len(said) == 1 and str(file) in said[0]


def test_a_place_that_is_no_folder_is_said(file):
    file.parent.write_text("")
    said = []
    assert found(SkillIndex(file, said.append), "email") == ["mailer"]
    assert len(said) == 1 and str(file) in said[0]


def test_an_sqlite_without_fts5_is_said_and_words_are_compared(file, monkeypatch):
    monkeypatch.setattr(skillkit_skills.index, "FTS", "fts5_that_is_missing")
    said = []
    index = SkillIndex(file, said.append)
    assert found(index, "which invoices") == ["pdf-tables"] and found(index, "数据分析") == ["mailer"]
    assert len(said) == 1 and "no FTS5" in said[0]


# --- files that did not change -------------------------------------------------------------------------------------------

MANY = skillkit_skills.loader.MANY


def put(root: Path, count: int = MANY + 5) -> None:
    for n in range(count):
        folder = root / f"s{n:03}"
        folder.mkdir(parents=True)
        gate = "{openclaw: {requires: {bins: [sh]}}}"
        text = f"---\nname: s{n:03}\ndescription: Number {n}\nlicense: 1.10\nmetadata: {gate}\n---\n"
        (folder / "SKILL.md").write_text(f"{text}Body {n}.\n")


@pytest.fixture(autouse=True)
def later(monkeypatch):
    """The index is asked a while after the files were written: their time stamps lie far enough back to be trusted."""
    clock = SimpleNamespace(time_ns=lambda: time.time_ns() + 3_000_000_000)
    monkeypatch.setattr(skillkit_skills.index, "time", clock)


@pytest.fixture
def loaded(host, tmp_path):
    """Loads the folder ``many`` as a host of a new process does."""
    source = SkillSource("user", "user", tmp_path / "many", trusted=True)

    def load():
        result = SkillFolderLoader(host).load(source)
        return {skill.name: skill for skill in result.skills}, result

    return load


def parsed(monkeypatch):
    names = []
    original = skillkit_skills.loader.read
    monkeypatch.setattr(
        skillkit_skills.loader, "read", lambda data, name, *how: names.append(name) or original(data, name, *how)
    )
    return names


def test_an_unchanged_file_is_not_parsed_again_and_gives_the_same_skill(loaded, tmp_path, monkeypatch):
    root = tmp_path / "many"
    put(root)
    _, cold = loaded()
    names = parsed(monkeypatch)
    _, warm = loaded()
    assert names == [] and warm == cold and len(cold.skills) == MANY + 5
    assert SkillFolderLoader().load(SkillSource("user", "user", root, trusted=True)) == warm
    same, edited, removed = (root / name / "SKILL.md" for name in ("s001", "s002", "s003"))
    same.write_bytes(same.read_bytes())
    edited.write_text(edited.read_text().replace("Number 2", "Changed"))
    removed.unlink()
    (root / "s004" / "agents").mkdir()
    (root / "s004" / "agents" / "skillkit.yaml").write_text("display_name: Four")
    (root / "s005").rename(root / "new")
    names.clear()
    skills, _ = loaded()
    assert sorted(names) == ["new", "s002", "s004"]
    assert (skills["s002"].description, skills["s004"].display_name) == ("Changed", "Four")
    assert "s003" not in skills and skills["s005"].path == root / "new" and len(skills) == MANY + 4


def test_a_file_with_the_size_and_time_of_another_is_read(loaded, tmp_path):
    root = tmp_path / "many"
    put(root)
    loaded()
    file = root / "s001" / "SKILL.md"
    before = file.stat()
    file.write_text(file.read_text().replace("Number 1", "Number !"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert loaded()[0]["s001"].description == "Number !"


def test_what_a_source_may_do_counts_not_what_another_was_allowed(host, tmp_path):
    root = tmp_path / "many"
    put(root)
    text = "---\nname: hooked\ndescription: d\nhooks: {Stop: [{hooks: [{type: command, command: x}]}]}\n---\nBody\n"
    (root / "s000" / "SKILL.md").write_text(text)
    for trusted in (True, False, True):
        result = SkillFolderLoader(host).load(SkillSource("user", "user", root, trusted=trusted))
        assert bool(next(s for s in result.skills if s.name == "hooked").hooks) is trusted


def test_a_link_in_place_of_a_known_file_is_looked_at(loaded, tmp_path):
    root = tmp_path / "many"
    put(root)
    loaded()
    outside = tmp_path / "outside.md"
    (root / "s001" / "SKILL.md").rename(outside)
    (root / "s001" / "SKILL.md").symlink_to(outside)
    skills, result = loaded()
    assert "s001" not in skills and "symlink-escape" in {p.code for p in result.problems}


def test_a_broken_index_costs_time_and_no_skill(host, loaded, tmp_path):
    put(tmp_path / "many")
    loaded()
    index_of(host).close()
    (host.cache_dir / "skills" / "index.sqlite").write_bytes(b"x" * 5000)
    assert len(loaded()[0]) == MANY + 5
    assert any("made again" in note for note in host.notes)


def test_few_skills_are_read_without_sqlite(tmp_path):
    put(tmp_path / "few", 3)
    code = (
        "import sys; from pathlib import Path; from types import SimpleNamespace; from skillkit_core import SkillSource; "
        f"from skillkit_skills import SkillFolderLoader; "
        f"host = SimpleNamespace(withheld=None, cache_dir=Path({str(tmp_path / 'cache')!r})); "
        f"SkillFolderLoader(host).load(SkillSource('a', 'user', Path({str(tmp_path / 'few')!r}))); "
        "print('sqlite3' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("key", ["metadata", "hooks"])
def test_a_file_that_nests_too_deeply_is_one_problem_and_no_more(tmp_path, key):
    put(tmp_path / "some", 2)
    deep = f"---\nname: deep\ndescription: d\n{key}: {'{a: ' * 700}1{'}' * 700}\n---\nBody\n"
    (tmp_path / "some" / "s000" / "SKILL.md").write_text(deep)
    result = SkillFolderLoader().load(SkillSource("user", "user", tmp_path / "some", trusted=True))
    assert [s.name for s in result.skills] == ["s001"] and [p.code for p in result.problems] == ["yaml-unparseable"]


def test_a_file_costs_the_same_for_each_of_its_keys(tmp_path):
    def steps(keys):
        folder = tmp_path / str(keys) / "s"
        folder.mkdir(parents=True)
        lines = "".join(f"k{n}: v\n" for n in range(keys))
        (folder / "SKILL.md").write_text(f"---\nname: s\ndescription: d\n{lines}---\nBody\n")
        counted = itertools.count()

        def trace(frame, event, arg):
            next(counted)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            (skill,) = SkillFolderLoader().load(SkillSource("user", "user", folder.parent)).skills
        finally:
            sys.settrace(before)
        assert len(skill.problems) == keys
        return next(counted)

    _, few, more, most = (steps(keys) for keys in (1, 100, 1_000, 2_000))  # the first one imports
    assert (most - more) / 1_000 < 1.1 * (more - few) / 900, "lines of code that run for each further key"


# --- how well ------------------------------------------------------------------------------------------------------------


def test_recall_on_requests_that_authors_wrote(shared, file):
    lines = (shared.parent / "discovery" / "requests.jsonl").read_text(encoding="utf-8").split("\n")
    requests = [json.loads(line) for line in lines if line]
    own: dict[str, set[str]] = {}
    for request in requests:
        for place in {request["from"], *request["relevant"]}:
            own.setdefault(place, set()).add(request["request"])
    skills = []
    with tarfile.open(shared / "openclaw_skillmd.tar.xz") as archive:
        for member in filter(tarfile.TarInfo.isfile, archive):
            place = member.name.partition("/skills/")[2].removesuffix("/SKILL.md")
            skill = read(archive.extractfile(member).read(), place.rpartition("/")[2])
            body = skill.body
            for text in own.get(place, ()):
                body = body.replace(text, " ")
            named = (skill.fields.name, skill.fields.description or "") if skill.fields else ("", "")
            skills.append(Skill(name=named[0], description=named[1], body=body, path=Path("/c", place)))
    skills, index, hits = tuple(skills), SkillIndex(file), dict.fromkeys((20, 50), 0)
    held_out = dict.fromkeys((20, 50), 0)
    for request in requests:
        places = [str(one.skill.path)[3:] for one in index.search(request["request"], skills, 50)]
        for depth in hits:
            hit = any(place in request["relevant"] for place in places[:depth])
            hits[depth] += hit
            held_out[depth] += hit and zlib.crc32(request["from"].encode()) % 2
    half = sum(zlib.crc32(r["from"].encode()) % 2 for r in requests)
    print({d: (round(hits[d] / len(requests), 3), round(held_out[d] / half, 3)) for d in hits})
    for one, count in ((hits, len(requests)), (held_out, half)):
        assert one[20] / count >= 0.73 and one[50] / count >= 0.81
