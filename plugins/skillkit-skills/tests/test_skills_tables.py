"""The behaviour tables, each row of each: substitution, eligibility, gates, allowed tools, catalogue, digest, actions."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from skillkit_skill_packages.digest import files_digest
from skillkit_skills.actions import OUTPUT_CAP, build_argv, interpret
from skillkit_skills.arguments import ArgumentError, coerce
from skillkit_skills.catalogue import render_catalogue
from skillkit_skills.content import split_args, substitute
from skillkit_skills.eligibility import Surroundings, look_up, reasons
from skillkit_skills.gates import Request, gate
from skillkit_skills.preapproval import pre_approved
from skillkit_skills.skill_md.action_definition import ActionError, read_actions, read_args
from skillkit_skills.skill_md.reader import tokens

from skillkit_core.contracts.runtime import ExecutionResult
from skillkit_core.skills import Requirements, Skill, SkillAction


def test_substitution(table):
    for case in table("substitution"):
        got = substitute(
            case["body"],
            case["args"],
            declared=case.get("declared", ()),
            variables=case.get("variables"),
            mode=case.get("mode", "skillkit"),
        )
        assert got == case["expect"], case["id"]


def test_split_args(table):
    for case in table("split_args"):
        assert split_args(case["args"]) == case["expect"], case["id"]


def test_eligibility(table):
    for case in table("eligibility"):
        needs, here = case["requires"], case["context"]
        names = {"bins": "bins", "anyBins": "any_bins", "env": "env", "config": "config", "os": "os"}
        skill = Skill(
            name="demo",
            requires=Requirements(**{names[k]: tuple(v) for k, v in needs.items()}),
            always=case["always"],
            primary_env=case["primary_env"],
            skill_key=case["skill_key"],
        )
        entry = {"enabled": True, "env": {}, "api_key": None, **case["entry"]}
        found = reasons(
            skill,
            Surroundings(
                platform=here["platform"],
                has_bin=here["bins"].__contains__,
                env=here["env"].get,
                config=lambda path, data=here["config"]: look_up(data, path),
                allow_bundled=frozenset(case["allow_bundled"] or ()),
            ),
            SimpleNamespace(**entry),
            kind=case["source"],
        )
        assert list(found) == case["reasons"], case["id"]
        assert (not found) == case["eligible"], case["id"]


def test_gates(table):
    for case in table("gates"):
        context = dict(case["context"])
        editor = context.pop("editor", None)
        request = Request(editor=editor["type"] if editor else None, **context)
        found = gate(Skill(name="demo", **case["skill"]), request)
        assert found == case["reason"], case["id"]
        assert (found is None) == case["eligible"], case["id"]


def test_allowed_tools(table):
    for case in table("allowed_tools"):
        if "tokens" in case:
            assert tokens(case["allowed_tools"]) == case["tokens"], case["id"]
            continue
        args = {k: v for k, v in case["call"].items() if k != "tool"}
        found = pre_approved(case["patterns"], case["call"]["tool"], args, skill_dir="/s/demo")
        assert found == case["pre_approved"], case["id"]


def test_catalogue(table):
    for case in table("catalogue"):
        skills = [Skill(**s) for s in case["skills"]]
        found = render_catalogue(skills, case.get("budget_chars"), case.get("usage"))
        text = found.text
        if "expect_text" in case:
            assert text == case["expect_text"], case["id"]
        for wanted in case.get("must_contain", ()):
            assert wanted in text, case["id"]
        for unwanted in case.get("must_not_contain", ()):
            assert unwanted not in text, case["id"]
        for part, count in case.get("count_of", {}).items():
            assert text.count(part) == count, case["id"]
        if "order" in case:
            places = [text.index(f"<name>{name}</name>") for name in case["order"]]
            assert places == sorted(places), case["id"]
        if "max_description_chars" in case:
            shown = text.partition("<description>")[2].partition("</description>")[0]
            assert 0 < len(shown) <= case["max_description_chars"], case["id"]
        if "truncated" in case:
            assert found.truncated == case["truncated"], case["id"]
            assert ("<note>" in text) == case["note_present"], case["id"]
        if "budget_chars" in case:
            assert all(f"<name>{s.name}</name>" in text for s in skills), case["id"]
            bare = render_catalogue([Skill(name=s.name, description=".") for s in skills], 0).text
            assert len(text) <= max(case["budget_chars"], len(bare)), case["id"]


def test_digest(table):
    for case in table("digest"):
        files = {path: text.encode() for path, text in case["files"].items()}
        assert files_digest(files) == case["digest"], case["id"]
        wrapped = {f"top/{path}": data for path, data in reversed(files.items())} | {
            "__MACOSX/x": b"",
            "top/.DS_Store": b"",
        }
        assert files_digest(wrapped) == case["digest"], case["id"]


# --- actions ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def skill_dir(tmp_path):
    scripts = tmp_path / "demo" / "scripts"
    scripts.mkdir(parents=True)
    for name in ("f.py", "f.sh", "f.exe"):
        (scripts / name).write_text("")
    outside = tmp_path / "outside.py"
    outside.write_text("")
    (scripts / "link.py").symlink_to(outside)
    return tmp_path / "demo"


def one_action(raw, skill_dir) -> SkillAction:
    if "$legacy" in raw:
        found = [a for a, _ in read_actions(raw["$legacy"], skill_dir)]
    else:
        found = [a for a, _ in read_actions([raw], skill_dir)]
    assert len(found) == 1
    if isinstance(found[0], ActionError):
        raise found[0]
    return found[0]


def test_actions_become_an_argv(table, skill_dir):
    cases = [c for c in table("actions") if c["id"].startswith("a-")]
    assert cases
    words = {"{python}": sys.executable, "{sh}": shutil.which("sh"), "{node}": shutil.which("node")}
    for case in cases:
        action = one_action(case["action"], skill_dir)
        values = coerce(action.args, case["args"], skill_dir)
        want = [words.get(w, w.replace("{dir}", str(skill_dir))) for w in case["argv"]]
        assert build_argv(Skill(name="demo", path=skill_dir), action, values) == want, case["id"]


def test_actions_that_break_a_rule_are_refused(table, skill_dir):
    cases = [c for c in table("actions") if c["id"].startswith("b-")]
    assert cases
    for case in cases:
        with pytest.raises(ActionError) as refused:
            one_action(case["action"], skill_dir)
        assert refused.value.code == case["error"], case["id"]
        assert "\n" not in str(refused.value)


def test_arguments_are_checked(table, tmp_path):
    cases = [c for c in table("actions") if c["id"].startswith("c-")]
    assert cases
    for case in cases:
        declared = read_args(case["schema"], "demo", [])
        args = {
            k: v.replace("{workspace}", str(tmp_path)) if isinstance(v, str) else v for k, v in case["args"].items()
        }
        try:
            coerce(declared, args, tmp_path)
            found = None
        except ArgumentError as e:
            found = e.code
            assert "\n" not in str(e)
        assert found == case["error"], case["id"]


async def run(host, skill_dir: Path, case: dict):
    """Run a real process that does what the row says, through the runtime, and interpret its end."""
    code = ["import os, sys, subprocess, time"]
    if "sleep" in case:
        child = "import time; time.sleep(60)"
        code += [f"p = subprocess.Popen([sys.executable, '-c', {child!r}])", "open('child', 'w').write(str(p.pid))"]
        code += [f"time.sleep({case['sleep'] * 10})"]
    code += [f"sys.stdout.write('x' * {case['stdout_bytes']})"] if "stdout_bytes" in case else []
    code += [f"sys.stdout.write({case.get('stdout', '')!r}); sys.stderr.write({case.get('stderr', '')!r})"]
    code += ["sys.stdout.flush()", f"os.kill(os.getpid(), {case['signal']})"] if "signal" in case else []
    code += [f"sys.exit({case.get('exit', 0)})"]
    (skill_dir / "scripts" / "f.py").write_text("\n".join(code))
    action = SkillAction("x", script="scripts/f.py", output=case["output"], timeout=case.get("timeout", 60))
    from skillkit_skills.actions import run_action

    return await run_action(host, Skill(name="demo", path=skill_dir), action, {})


def test_results_say_how_a_process_ended(table, host, skill_dir):
    import asyncio

    cases = [c for c in table("actions") if c["id"].startswith("r-")]
    assert cases
    for case in cases:
        got = asyncio.run(run(host, skill_dir, case))
        want = case["expect"]
        for key in ("ok", "error", "text", "file", "stderr"):
            if key in want:
                assert getattr(got, key) == want[key], (case["id"], key)
        if "truncated_to_bytes" in want:
            assert got.text is not None
            assert got.truncated and len(got.text.encode()) == want["truncated_to_bytes"] == OUTPUT_CAP
        if "max_seconds" in want:
            assert got.ms < case["sleep"] * 10 * 1000, "it waited for the program"
        if want.get("process_tree_killed"):
            pid = int((host.cwd / "child").read_text())
            assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]


def test_a_runtimes_own_note_about_cut_output_is_no_json():
    action = SkillAction("x", script="a.py", output="json")
    got = interpret(action, ExecutionResult(stdout="[1", truncated=True), Path(os.sep))
    assert (got.ok, got.error) == (False, "output-too-large")


def test_scan(table):
    from skillkit_skill_packages.text_scan import findings

    for case in table("scan"):
        assert sorted(findings(case["text"])) == sorted(case["findings"]), case["id"]


def test_the_audit_of_hostile_skills_names_what_they_do(shared):
    from skillkit_skill_packages import scan_skill
    from skillkit_skills.loader import SkillFolderLoader

    from skillkit_core.contracts.skill_loader import SkillSource

    wanted = {
        "sec-curl-pipe": {"scan-remote-exec", "scan-password-protected-archive"},
        "sec-hidden-unicode": {"scan-hidden-unicode"},
        "sec-injection-body": {"scan-prompt-injection", "scan-credential-access"},
    }
    for name, codes in wanted.items():
        found = SkillFolderLoader().load(SkillSource("x", "user", shared / "skills_quirky" / name))
        assert {p.code for p in scan_skill(found.skills[0])} == codes, name
