"""The bundled skills' own examples: every one of them runs its skill."""

import pytest
import yaml
from skillkit_offline import Verdict, choose

MORE = [
    ("summarise sales.csv", "csv-stats summary"),
    ("how many rows are in orders.csv?", "csv-stats count"),
    ("show the first 5 rows of people.csv sorted by age", "csv-stats rows"),
    ("What is 12% of 250?", "calculate evaluate"),
    ("convert 10 kg to pounds", "calculate evaluate"),
    ("who committed the most since last week", "git-summary summary"),
    ("what changed since yesterday", "git-summary summary"),
    ("are there duplicate files here", "find-duplicates find"),
    ("list the headings of README.md", "markdown-outline outline"),
    ("are there dead links in README.md", "markdown-outline links"),
    ("how many words are in report.md", "text-stats stats"),
    ("how big is this folder", "disk-usage usage"),
    ("show me the structure of package.json", "json-query shape"),
    ("what is the value of version in package.json", "json-query query"),
]
NOTHING = [
    "write me a poem",
    "what is the capital of France",
    "delete everything",
    "delete duplicate files in photos",
    "tell me a joke about csv files",
    "translate README.md to German",
    "send sales.csv to bob",
    "what time is it",
]


@pytest.fixture(scope="module")
def bundled(bundled_skills, make_action):
    """The tools of the bundled skills' actions, and each skill's examples."""
    tools, examples = [], []
    for path in sorted(bundled_skills.glob("*/SKILL.md")):
        front = yaml.safe_load(path.read_text(encoding="utf-8").split("\n---")[0].removeprefix("---\n"))
        facts = front["metadata"]["skillkit"]
        for place, action in enumerate(facts.get("actions", ())):
            tools.append(
                make_action(
                    front["name"],
                    action["name"],
                    action.get("description", ""),
                    about=front["description"],
                    keywords=facts.get("keywords", ()),
                    examples=facts.get("examples", ()),
                    order=place,
                    **{n: {k: v for k, v in f.items() if k != "flag"} for n, f in action.get("args", {}).items()},
                )
            )
        examples += [(front["name"], example) for example in facts.get("examples", ())]
    assert len(examples) > 20, "no bundled skills were read"
    return tuple(tools), examples


def test_every_example_runs_its_own_skill(bundled):
    tools, examples = bundled
    wrong = []
    for skill, example in examples:
        choice = choose(example, tools)
        if choice.verdict is not Verdict.run or choice.candidate.tool.annotations["skill"] != skill:
            wrong.append((skill, example, choice.verdict, choice.candidate and choice.candidate.tool.name))

    assert not wrong


@pytest.mark.parametrize(("request_text", "action"), MORE, ids=[m[0] for m in MORE])
def test_other_wordings_run_the_action_too(request_text, action, bundled):
    choice = choose(request_text, bundled[0])

    assert choice.verdict is Verdict.run, choice
    notes = choice.candidate.tool.annotations
    assert f"{notes['skill']} {notes['action']}" == action


@pytest.mark.parametrize("request_text", NOTHING)
def test_what_the_bundled_skills_cannot_do_runs_nothing(request_text, bundled):
    assert choose(request_text, bundled[0]).verdict is not Verdict.run


def test_without_one_skill_its_examples_do_not_run_another_in_its_place(bundled):
    tools, examples = bundled
    wrong = []
    for skill, example in examples:
        rest = tuple(t for t in tools if t.annotations["skill"] != skill)
        if choose(example, rest).verdict is Verdict.run:
            wrong.append(example)

    print(f"run elsewhere when their skill is missing: {len(wrong)} of {len(examples)}: {wrong}")
    assert len(wrong) <= len(examples) * 0.15
