"""What skills cost and how well they are found: recall, latency, tokens of a request, CPU time of reading; goals beside figures.

The corpora lie beside the clone or where ``SKILLKIT_SHARED`` says; no network is used::

    python tests/benchmarks/skills.py [recall] [tokens] [speed]

Recall is measured on requests that skills' authors wrote; a request's own text is removed from the bodies first. The weights and
the words that are not looked for were chosen on one half of the requests (by the skill that a request comes from); both
halves are printed. Latency is the wall clock's, CPU time the best of several rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from skillkit_skills import SkillFolderLoader, SkillIndex, index_of, read
from skillkit_skills.index import Kept
from skillkit_skills.scanner import scan

from skillkit_core import AgentConfig, AgentRunner, Host, SkillSource
from skillkit_core.estimates import estimate_tokens
from skillkit_core.frozen import thaw
from skillkit_core.messages import CustomMessage
from skillkit_core.skills import Skill
from skillkit_core.testing import ScriptedModel

SHARED = Path(os.environ.get("SKILLKIT_SHARED") or Path(__file__).resolve().parents[3] / "shared")
DEPTHS = (1, 5, 10, 20, 50)
GOALS = {20: 0.73, 50: 0.81}
MANY = 2_315


def lines(path: Path) -> list[dict]:
    """The rows of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def corpus() -> dict[str, bytes]:
    """The files of the public skills, by place."""
    found = {}
    with tarfile.open(SHARED / "skills" / "openclaw_skillmd.tar.xz") as archive:
        for member in archive:
            if member.isfile():
                found[member.name.partition("/skills/")[2].removesuffix("/SKILL.md")] = archive.extractfile(
                    member
                ).read()
    return found


def put(files: dict[str, bytes], root: Path, count: int) -> None:
    """``count`` folders of skills: the public ones, and copies under other names where they are too few."""
    places = list(files)
    for number in range(count):
        place = places[number % len(places)]
        folder = root / f"s{number:04}-{place.rpartition('/')[2]}"[:120]
        folder.mkdir(parents=True)
        data = files[place]
        if number >= len(places):
            data = data.replace(b"name:", b"name: again-" + str(number).encode() + b"-", 1)
        (folder / "SKILL.md").write_bytes(data)


# --- found ---------------------------------------------------------------------------------------------------------------


def discovery(files: dict[str, bytes]) -> tuple[list[dict], tuple[Skill, ...]]:
    """The requests, and the skills without the requests' own text."""
    requests = lines(SHARED / "discovery" / "requests.jsonl")
    own: dict[str, set[str]] = {}
    for request in requests:
        for place in {request["from"], *request["relevant"]}:
            own.setdefault(place, set()).add(request["request"])
    skills = []
    for place, data in files.items():
        skill = read(data, place.rpartition("/")[2])
        body = skill.body
        for text in own.get(place, ()):
            body = body.replace(text, " ")
        name, about = (skill.fields.name, skill.fields.description or "") if skill.fields else (place, "")
        skills.append(Skill(name=name, description=about, body=body, path=Path("/corpus", place)))
    return requests, tuple(skills)


def recall(files: dict[str, bytes], folder: Path) -> None:
    """Recall at several depths for both halves of the requests, and what a search takes among 2,315 skills."""
    requests, skills = discovery(files)
    index = SkillIndex(folder / "recall.sqlite", print)
    halves = {0: "chosen on", 1: "held out"}
    hits = {half: dict.fromkeys(DEPTHS, 0) for half in halves}
    count = dict.fromkeys(halves, 0)
    for request in requests:
        half = zlib.crc32(request["from"].encode()) % 2
        count[half] += 1
        found = [str(f.skill.path)[len("/corpus/") :] for f in index.search(request["request"], skills, max(DEPTHS))]
        for depth in DEPTHS:
            hits[half][depth] += any(place in request["relevant"] for place in found[:depth])
    print(f"\nrecall: {len(requests)} requests, {len(skills)} skills")
    print(f"{'':12}" + "".join(f"{f'at {d}':>8}" for d in DEPTHS))
    for half, name in halves.items():
        print(f"{name:12}" + "".join(f"{hits[half][d] / count[half]:8.3f}" for d in DEPTHS) + f"   ({count[half]})")
    both = {d: sum(hits[half][d] for half in halves) / len(requests) for d in DEPTHS}
    print(f"{'all':12}" + "".join(f"{both[d]:8.3f}" for d in DEPTHS))
    print(f"{'goal':12}" + "".join(f"{GOALS.get(d, ''):>8}" for d in DEPTHS))

    more = (*skills, *(replace(s, path=Path(f"{s.path}-2")) for s in skills[: MANY - len(skills)]))
    index = SkillIndex(folder / "latency.sqlite", print)
    first = cpu(lambda: index.search("anything", more), 1)
    print(f"\nsearch among {len(more)} skills, goal: p95 < 10 ms")
    for name, clock in (("wall clock", time.perf_counter), ("CPU", time.process_time)):
        took = []
        for request in requests:
            begun = clock()
            index.search(request["request"], more, 50)
            took.append((clock() - begun) * 1e3)
        took.sort()
        print(f"{name:12}median {took[len(took) // 2]:.1f} ms, p95 {took[int(len(took) * 0.95)]:.1f} ms")
    index.close()
    index = SkillIndex(folder / "latency.sqlite", print)
    again = cpu(lambda: index.search("anything", more), 1)
    print(f"first search builds the index: {first:.2f} s; the first of a later process: {again * 1e3:.0f} ms")


# --- tokens --------------------------------------------------------------------------------------------------------------


async def tokens(files: dict[str, bytes], folder: Path) -> None:
    """The tokens of all that skills add to a conversation's first request, four characters to a token."""
    print(f"\n{'skills':>8}{'tokens':>8}{'goal':>8}   of which system, tools, message; message of the next request")
    for count in (10, 100, 1_000, 1_990):
        root = folder / f"tokens{count}"
        put(files, root, count)
        host = Host(cwd=folder, settings={"skills.dirs": [str(root)]})
        model = ScriptedModel(["Fine.", "Fine."])
        async with AgentRunner(AgentConfig(model="scripted", provider=None), host=host) as agent:
            agent.set_adapter(model)
            await agent.chat("Extract the tables of a PDF file into a spreadsheet")
            await agent.chat("And now send it by email")
            named = [estimate_tokens(m.text) for m in agent.session.messages if isinstance(m, CustomMessage)]
        first, second = model.requests[0], model.requests[-1]
        ours = [t for t in first.tools if t.name in ("activate_skill", "find_skills") or t.annotations.get("skill")]
        tools = sum(estimate_tokens(f"{t.name}{t.description}{json.dumps(thaw(t.parameters))}") for t in ours)
        system = estimate_tokens(first.system)
        whole = system + tools + sum(named[:1])
        same = "same prefix" if second.system == first.system else "PREFIX CHANGED"
        print(
            f"{count:8}{whole:8}{'< 4000':>8}   {system}, {tools}, {sum(named[:1])}; then {sum(named[1:])} more, {same}"
        )


# --- speed ---------------------------------------------------------------------------------------------------------------


def cpu(work: Callable[[], object], rounds: int = 7) -> float:
    """CPU seconds of the best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return best


def listed(folder: Path, root: Path) -> float:
    """CPU seconds of ``skillkit skills list`` in a process of its own, the best of some."""
    import resource

    config = folder / "home" / "config" / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"skills:\n  dirs: [{root}]\n")
    start = "import sys; from skillkit_core.cli.main import entry; sys.exit(entry())"
    best = float("inf")
    for _ in range(6):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", start, "skills", "list"], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def speed(files: dict[str, bytes], folder: Path) -> None:
    """What a file costs, cold and from the index, what a listing costs, and a file of very many keys."""
    root = folder / "speed"
    put(files, root, 1_990)
    found = scan(str(root)).skills
    data = [(Path(one.file).read_bytes(), Path(one.folder).name) for one in found]
    source = SkillSource("bench", "extra", root)
    count = len(found)

    def us(seconds: float) -> str:
        return f"{seconds / count * 1e6:.0f}"

    print(f"\nCPU microseconds a file, {count} files")
    print(f"{'read() alone':28}{us(cpu(lambda: [read(*one) for one in data])):>8}")
    print(f"{'cold, with the walk':28}{us(cpu(lambda: SkillFolderLoader().load(source))):>8}   goal 120")
    host = Host(cwd=folder)
    time.sleep(2.1)  # a younger file is not kept
    print(f"{'cold, and kept in the index':28}{us(cpu(lambda: SkillFolderLoader(host).load(source), 1)):>8}")
    print(f"{'from the index':28}{us(cpu(lambda: SkillFolderLoader(host).load(source))):>8}   goal 15")
    kept = Kept(index_of(host), str(root), source)
    walk, rows = cpu(lambda: scan(str(root), kept.stamps)), cpu(lambda: Kept(index_of(host), str(root), source))
    print(f"{'  of which walk, rows':28}{us(walk):>8}{us(rows):>5}\n")
    few = folder / "few"
    put(files, few, 10)
    ten, many = listed(folder, few), listed(folder, root)
    print(f"skills list: 10 skills {ten:.3f} s, {count} skills {many:.3f} s: {many / ten:.1f} times (goal: 2)")
    for keys in (15_000, 60_000):
        big = folder / f"keys{keys}" / "big"
        big.mkdir(parents=True)
        text = "---\nname: big\ndescription: Many keys.\n" + "".join(f"k{n}: v\n" for n in range(keys)) + "---\nBody.\n"
        (big / "SKILL.md").write_text(text)
        took = cpu(lambda big=big: SkillFolderLoader().load(SkillSource("big", "extra", big.parent)), 2)
        print(f"a file of {keys} keys, {len(text) >> 10} KiB: {took:.2f} s (goal: linear)")


def main(argv: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", choices=["recall", "tokens", "speed", []], default=[])
    asked = parser.parse_args(argv).what or ["recall", "tokens", "speed"]
    files = corpus()
    with tempfile.TemporaryDirectory() as name:
        os.environ["SKILLKIT_HOME"] = str(Path(name, "home"))
        folder = Path(name)
        if "recall" in asked:
            recall(files, folder)
        if "tokens" in asked:
            asyncio.run(tokens(files, folder))
        if "speed" in asked:
            speed(files, folder)


if __name__ == "__main__":
    main()
