"""Requests in people's words: none is answered beside the point, and most of those that a bundled skill serves are answered."""

import asyncio
import os
import re
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import yaml

from skillkit_core import AgentConfig, AgentRunner, Host

REQUESTS = yaml.load(
    (Path(__file__).parent / "support" / "requests.yaml").read_text(encoding="utf-8"),
    Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),  # a tenth of the time, in every process that collects
)
FILES = {
    "emp.csv": """\
name,dept,salary,age,city,hired
Ann,IT,5200,34,Oslo,2019-03-01
Bob,IT,4800,45,Rome,2015-06-15
Cy,Sales,3900,28,Oslo,2021-01-10
Di,Sales,4100,39,,2018-11-05
Ed,HR,3600,51,Bern,2012-02-20
Flo,IT,6100,30,Rome,2020-09-01
Gus,HR,,26,Oslo,2023-04-01
Hal,Sales,4500,41,Bern,2016-07-30
""",
    "orders.csv": """\
id,customer,amount,status,date
1,Acme,250,open,2026-01-05
2,Beta,90.5,closed,2026-01-07
3,Acme,1200,open,2026-02-11
4,Core,75,cancelled,2026-02-15
5,Beta,640,open,2026-03-02
6,Acme,310,closed,2026-03-09
""",
    "config.json": '{"database": {"host": "db.local", "port": 5432}, "debug": false, '
    '"servers": [{"host": "a.example", "port": 80}, {"host": "b.example", "port": 81}]}',
    "package.json": '{"name": "demo", "version": "1.4.2", "dependencies": {"left-pad": "1.0.0"}}',
    "users.json": '[{"name": "Ada", "age": 36, "active": true}, {"name": "Bo", "age": 22, "active": false}]',
    "README.md": "# Demo\n\n## Install\n\n### From source\n\nSee [this](gone.md).\n\n## Use\n\nRead [it](docs/guide.md).\n",
    "docs/guide.md": "# Guide\n\n## Start\n\nHere.\n\n## Finish\n\nThere.\n",
    "essay.txt": "The whale swam. The whale sang!\nNobody saw the ship.\n\nA ship came.\n",
    "photos/a.jpg": "same picture",
    "photos/b.jpg": "same picture",
    "photos/c.jpg": "an other one",
    "photos/sub/d.jpg": "same picture",
    "downloads/big.iso": "i" * 30_000,
    "downloads/mid.bin": "b" * 12_000,
    "downloads/small.txt": "t" * 100,
    "downloads/small2.txt": "t" * 100,
}
# Who committed what how many hours ago.
COMMITS = [
    ("Ann", 40 * 24, "Start the project", "README.md", "# Demo\n"),
    ("Bob", 10 * 24, "Add the guide", "docs/guide.md", FILES["docs/guide.md"]),
    ("Ann", 60, "Fix a typo", "README.md", "# Demo!\n"),
    ("Bob", 1, "Speed up the parser", "parser.py", "fast = True\n"),
]


def _commit(folder, author, hours, subject, name, content):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(content)
    when = (datetime.now().astimezone() - timedelta(hours=hours)).isoformat()
    who = {f"GIT_{role}_{part}": f"{author}{end}" for role in ("AUTHOR", "COMMITTER") for part, end in _PARTS}
    env = {**os.environ, **who, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    for words in (["add", "-A"], ["-c", "commit.gpgsign=false", "commit", "-qm", subject]):
        subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True)


_PARTS = (("NAME", ""), ("EMAIL", "@example.org"))


@pytest.fixture
def files(skillkit_home):
    """Tables, texts, JSON, copies, and a repository whose history is as old as COMMITS says."""
    folder = skillkit_home.cwd
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
    for commit in COMMITS:
        _commit(folder, *commit)
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


async def _asked(folder, request):
    async with AgentRunner(AgentConfig(provider="offline", model="offline", cwd=folder), host=HOST) as agent:
        response = await agent.chat(request)
    return response.content, response.stop_reason != "refusal"


async def _all(folder, served, unserved):
    global HOST
    HOST = Host(cwd=folder)
    gate = asyncio.Semaphore(4)

    async def one(request):
        async with gate:
            return await _asked(folder, request)

    asked = [*(r["ask"] for r in served), *unserved]
    return dict(zip(asked, await asyncio.gather(*map(one, asked)), strict=True))


def _wrong(request, answer):
    missing = [part for part in request["answer"] if not re.search(part, answer)]
    return [*missing, *(f"not {part}" for part in request.get("not", ()) if re.search(part, answer))]


def _names(ask, text):
    """Whether the refusal names a word of the request, or what is missing in it."""
    words = {word.casefold() for word in re.findall(r"[^\W_]+", text.partition("\n")[0])}
    return not words.isdisjoint(word.casefold() for word in re.findall(r"[^\W_]+", ask))


@pytest.mark.parametrize("step", [20, pytest.param(1, marks=pytest.mark.slow)], ids=["every twentieth", "all"])
def test_no_request_is_answered_beside_the_point_and_most_are_answered(files, step):
    requests, unserved = REQUESTS["served"][::step], REQUESTS["unserved"][::step]
    answers = asyncio.run(_all(files, requests, unserved))
    answered, declined, wrong = [], [], []
    for request in requests:
        text, ok = answers[request["ask"]]
        faults = _wrong(request, text) if ok else ()
        (wrong if faults else answered if ok else declined).append((request["ask"], faults, text))
    wrong += [(ask, ["declines"], answers[ask][0]) for ask in unserved if answers[ask][1]]
    refused = len(unserved) - sum(answers[ask][1] for ask in unserved)
    served = len(requests)
    print(f"{len(answers)} requests: {len(answered)} answered, {len(declined) + refused} declined, {len(wrong)} wrong")
    print(f"of {served} that a bundled skill serves, {len(answered)} answered ({len(answered) / served:.0%})")
    for ask, faults, text in wrong:
        print(f"wrong: {ask}: {', '.join(faults)}\n    {text[:300]!r}")
    for ask, _, text in declined:
        print(f"declined: {ask}\n    {text.splitlines()[0][:200]}")
    assert not wrong
    spoken = {ask: answers[ask][0] for ask in [*unserved, *(ask for ask, _, _ in declined)]}
    assert not [ask for ask, text in spoken.items() if not _names(ask, text)]
    assert len(answers) >= 150 / step
    assert len(answered) >= 0.7 * served


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "plain-requests.md"


def _rows(heading):
    section = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return [tuple(row) for row in rows[2:]]


@pytest.mark.skipif(not PAGE.is_file(), reason="the page is in the checkout, and these tests run outside of it")
@pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.slow)], ids=["every tenth", "all"])
def test_the_page_of_plain_requests_is_true(files, step):
    from skillkit_offline import choose

    async def tools():
        config = AgentConfig(provider="offline", model="offline", cwd=files)
        async with AgentRunner(config, host=Host(cwd=files)) as agent:
            await agent.chat("hello")  # which adapter answers decides which tools there are
            return agent.tools

    known = asyncio.run(tools())
    for request, actions in _rows("What is understood")[::step]:
        choice = choose(request, known, files)
        called = [c.candidate.tool.annotations for c in choice.all if choice.verdict == "run"]
        assert ", ".join(f"{a['skill']} {a['action']}" for a in called) == actions, request
    declined = _rows("What is declined")[::step]
    answers = asyncio.run(_all(files, [], [request for request, _ in declined]))
    for request, word in declined:
        text, ok = answers[request]
        assert not ok and re.search(rf"[\"'].*\b{re.escape(word)}\b.*[\"']", text.splitlines()[0]), (request, text)
