"""The engine ``editor`` by the ids of phase 3: proposals, applied on approval, taken back byte for byte."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from typing import Any

import pytest
from skillkit_engine_editor import edit, revision_of
from skillkit_engine_editor.applying import preview, undo
from skillkit_engine_editor.documents import document_of
from skillkit_engine_editor.slash import editor
from skillkit_engines import TASK, EditorContext, Fragment, RouteRequest, engine_of, gated_for
from skillkit_engines.types import Task

from skillkit_core import AgentError, ApprovalDecision, Approver, UsageError, hookimpl
from skillkit_core.descriptors import Factory

TEXT = "---\ntype: fiction\n---\n# One\n\nMara saw the boat.\r\n\n# Two\n\nEnd."


class Decides(Approver):
    def __init__(self, *words: str) -> None:
        self.words, self.asked = list(words), []

    async def approve(self, request: Any) -> ApprovalDecision:
        self.asked.append(request)
        return ApprovalDecision(self.words.pop(0), "a person said no")


def answer(*operations: Any, message: str = "Done.") -> str:
    return json.dumps({"message": message, "operations": list(operations)})


def replace(old: str, new: str) -> dict[str, str]:
    return {"op": "replace_range", "original_text": old, "text": new}


def chat(agent: Any, text: str) -> tuple[Any, list[Any]]:
    async def main() -> tuple[Any, list[Any]]:
        async with agent:
            response: Any
            try:
                response = await agent.chat(text)
            except AgentError as error:
                response = error
            return response, [note.data for note in agent.session.notes(TASK)]

    return asyncio.run(main())


@pytest.fixture
def file(skillkit_home):
    path = skillkit_home.cwd / "chapter.md"
    path.write_bytes(TEXT.encode())
    return path


@pytest.fixture
def opened(engine_stage, engine_skill, file):
    """An agent with the file open: ``agent, model = opened("the answer", supports_hitl=True)``."""

    def make(*turns: Any, plugins: Any = (), approver: Any = None, **fields: Any) -> Any:
        engine_skill("fiction", requires_editor=True, editor_types=["fiction"], **fields)
        return engine_stage(
            *turns, plugins=plugins, approver=approver or Decides(), options={"editor": document_of(file, "chapter.md")}
        )

    return make


@pytest.mark.smoke
def test_s3_1_the_parts_run_in_order_and_the_file_is_edited(opened, file):
    agent, model = opened(answer(replace("the boat", "the ship")), system_prompt="Keep the voice.")
    nodes: list[str] = []
    agent.events.observe(lambda event: nodes.append(event.node) if event.state == "begin" else None, ["task_node"])
    response, notes = chat(agent, "/fiction a ship, please")
    assert nodes == [
        "load_skill", "load_editor_context", "load_references", "route_execution", "resolve_operations", "format_response"
    ]  # fmt: skip
    assert response.content == "Done." and notes[-1]["status"] == "completed"
    assert file.read_bytes() == TEXT.replace("the boat", "the ship").encode()
    (request,) = model.requests
    assert request.system.endswith("Keep the voice.") and request.tools == ()
    assert request.messages[0].text.startswith('<context source="editor">') and "Mara saw" in request.messages[0].text


def test_s3_2_the_context_of_an_editor_has_type_file_front_matter_cursor_selection_content_and_revision(file):
    context = document_of(file, "chapter.md")
    assert (context.type, context.file, dict(context.front_matter)) == ("fiction", "chapter.md", {"type": "fiction"})
    assert context.content == TEXT and context.revision == revision_of(TEXT)
    assert EditorContext("x", selection=[1, 3], content="abcd").selection == (1, 3)


def test_s3_3_without_an_editor_the_skill_takes_no_request_and_a_direct_task_says_what_is_missing(
    engine_stage, engine_skill
):
    engine_skill("fiction", requires_editor=True, editor_types=["fiction"])
    agent, _ = engine_stage("x")
    host = agent.host
    assert gated_for(host, RouteRequest("edit it")).dropped["fiction"] == "requires_editor"
    assert (
        gated_for(host, RouteRequest("edit it", editor=EditorContext("outline"))).dropped["fiction"] == "editor_types"
    )
    found = host.skills.get("fiction")
    result = asyncio.run(engine_of(host, found).run(Task("t", agent, found, "edit it"), None))
    assert (result.status, result.reason) == ("failed", "no_editor: no document is open in an editor")


@pytest.mark.parametrize(
    ("operation", "code", "near"),
    [
        ({"op": "insert_after_heading", "heading": "Ones", "text": "x"}, "not_found", "One"),
        (replace("Mara saw a boat", "x"), "not_found", "Mara saw the boat."),
        ({"op": "delete_range", "original_text": "a"}, "ambiguous", "line 6"),
        ({"op": "delete_range"}, "empty", ""),
        ({"op": "swap"}, "unknown_operation", ""),
    ],
)
def test_s3_4_what_is_not_clear_is_rejected_with_candidates_and_nothing_is_applied(operation, code, near):
    done = edit(TEXT, [replace("End.", "Fin."), operation])
    assert (done.status, done.document, done.operations) == ("rejected", TEXT, ("ok", code))
    assert near in " ".join(done.candidates[1])


def test_s3_4_a_model_is_told_what_was_not_clear_and_may_answer_again(opened, file):
    agent, model = opened(answer(replace("a", "b")), answer(replace("saw", "heard")))
    response, _ = chat(agent, "/fiction hear it")
    assert "operation 1: ambiguous (line" in model.requests[1].messages[-1].text
    assert response.content == "Done." and b"Mara heard" in file.read_bytes()


def test_s3_4_operations_that_stay_unclear_fail_the_task_and_the_file_is_as_it_was(opened, file):
    agent, model = opened(*[answer(replace("nowhere", "b"))] * 4)
    failed, notes = chat(agent, "/fiction do it")
    assert isinstance(failed, AgentError) and "operation 1: not_found" in str(failed)
    assert len(model.requests) == 4 and notes[-1]["status"] == "failed" and file.read_bytes() == TEXT.encode()


def test_s3_5_a_stale_document_is_a_conflict_and_untouched(opened, file):
    agent, _ = opened(answer(replace("saw", "heard")))
    file.write_text("Somebody else wrote this: saw.")
    failed, notes = chat(agent, "/fiction hear it")
    assert "conflict: chapter.md has changed" in str(failed) and "conflict" in notes[-1]["reason"]
    assert file.read_text() == "Somebody else wrote this: saw."
    assert edit(TEXT, [replace("saw", "heard")], "0" * 64).status == "conflict"


def test_s3_6_a_proposal_is_applied_only_when_a_person_agrees_to_the_difference_that_is_shown(opened, file):
    for word, written in (("deny", TEXT), ("allow", TEXT.replace("saw", "heard"))):
        decides = Decides(word)
        file.write_bytes(TEXT.encode())
        if word == "deny":
            agent, _ = opened(answer(replace("saw", "heard")), approver=decides, supports_hitl=True)
        else:
            from skillkit_core.testing import ScriptedModel

            agent = agent.__class__(agent.config, host=agent.host)
            agent.configure(approver=decides)
            agent.set_adapter(ScriptedModel([answer(replace("saw", "heard"))]))
        response, notes = chat(agent, "/fiction hear it")
        assert file.read_bytes() == written.encode()
        (request,) = decides.asked
        shown = asyncio.run(preview(agent, request.tool_name, {**request.args, "pre_hash": None}))
        assert word == "allow" or ("-Mara saw the boat." in shown and "+Mara heard the boat." in shown)
        assert notes[-1]["status"] == ("completed" if word == "allow" else "failed")
        assert word == "allow" or "Nothing was changed" in response.content


def test_s3_6_overlapping_operations_are_refused_as_a_batch():
    done = edit("abcdef", [replace("abc", "1"), replace("cde", "2")])
    assert (done.status, done.document) == ("overlap", "abcdef")
    assert edit("abcdef", [replace("abc", "1"), replace("def", "2")]).document == "12"


def test_s3_6_apply_and_undo_restore_every_byte(opened, file, skillkit_home):
    agent, _ = opened(answer(replace("Mara", "Ida"), {"op": "delete_range", "original_text": "\n# Two\n"}))
    os.chmod(file, 0o640)
    chat(agent, "/fiction rename her")
    changed = file.read_bytes()
    assert (
        changed == TEXT.replace("Mara", "Ida").replace("\n# Two\n", "").encode()
        and file.stat().st_mode & 0o777 == 0o640
    )
    file.write_bytes(changed + b"more")
    with pytest.raises(UsageError, match="has changed since its last edit"):
        undo(agent.host, file.resolve())
    file.write_bytes(changed)
    assert "taken back; 0 more" in undo(agent.host, file.resolve())
    assert file.read_bytes() == TEXT.encode() and file.stat().st_mode & 0o777 == 0o640
    with pytest.raises(UsageError, match="no edit of"):
        undo(agent.host, file.resolve())


def test_s3_6_random_edits_are_taken_back_byte_for_byte():
    rng = random.Random(3)
    for _ in range(300):
        document = "".join(
            rng.choice(["a", "b", "\n", "\r\n", "# H\n", "é", "船", " "]) for _ in range(rng.randrange(1, 40))
        )
        begin, end = sorted(rng.randrange(len(document) + 1) for _ in range(2))
        done = edit(document, [replace(document[begin:end], rng.choice(["", "x", "\n", "船"]))], revision_of(document))
        assert done.undo == document
        if done.status == "applied":
            back = [replace(done.document, document)] if done.document else []
            assert not back or edit(done.document, back).document.replace("\r\n", "\n") == document.replace(
                "\r\n", "\n"
            )
        else:
            assert done.document == document


def test_s3_7_a_context_loader_runs_once_and_its_failure_costs_only_the_context(opened):
    calls: list[str] = []

    class Loader:
        async def load(self, task: Any) -> str:
            calls.append(task.editor.file)
            if len(calls) > 1:
                raise ValueError("no outline")
            return "The outline."

    class Brings:
        @hookimpl(optionalhook=True)
        def register_context_loaders(self, register):
            register(Factory("outline", lambda host: Loader()))

    one, two = answer(replace("a", "b")), answer(replace("saw", "heard"))
    agent, model = opened(one, two, "It says nothing.", plugins=[("brings", Brings())], context_loader="outline")
    told: list[str] = []
    agent.events.observe(lambda event: told.append(event.error), ["handler_error"])

    async def main() -> None:
        async with agent:
            await agent.chat("/fiction hear it")
            await agent.chat("/fiction what does it say?")

    asyncio.run(main())
    assert calls == ["chapter.md", "chapter.md"] and "The outline." in model.requests[0].messages[1].text
    assert "no outline" in told[0] and "The outline." not in str([m.text for m in model.requests[2].messages][-3:])


def test_s3_8_a_validator_that_is_not_content_leads_to_revisions_and_then_to_the_best_attempt_unvalidated(opened, file):
    seen: list[list[str]] = []

    async def first(values: Any, task: Any) -> Any:
        return {"order": ["first"]}

    async def strict(values: Any, task: Any) -> Any:
        seen.append([*values["order"], "strict"])
        return {"problems": [] if "quietly" in values["text"] else ["it is too loud"]}

    class Brings:
        @hookimpl(optionalhook=True)
        def register_fragments(self, register):
            register(Fragment("first", "First.", first))
            register(Fragment("strict", "Strict.", strict))

    loud = answer(replace("saw", "shouted at"))
    quiet = answer(replace("saw", "quietly saw"))
    agent, model = opened(loud, quiet, plugins=[("brings", Brings())], subgraphs=["first", "strict"])
    _, notes = chat(agent, "/fiction calm down")
    assert (
        notes[-1]["status"] == "completed" and b"quietly saw" in file.read_bytes() and seen == [["first", "strict"]] * 2
    )
    assert "it is too loud" in model.requests[1].messages[-1].text
    file.write_bytes(TEXT.encode())
    from skillkit_core.testing import ScriptedModel

    again = agent.__class__(agent.config, host=agent.host)
    again.configure(options={"editor": document_of(file, "chapter.md")})
    again.set_adapter(ScriptedModel([loud] * 4))
    _, notes = chat(again, "/fiction calm down")
    assert (notes[-1]["status"], notes[-1]["reason"]) == ("partial", "unvalidated: it is too loud")
    assert b"shouted at" in file.read_bytes()


def test_s3_9_an_invented_type_needs_a_skill_and_no_line_of_the_engine(engine_stage, engine_skill):
    engine_skill("opera", requires_editor=True, editor_types=["libretto"])
    agent, _ = engine_stage(
        answer(replace("la", "lo")), options={"editor": {"type": "libretto", "content": "la donna"}}
    )
    response, notes = chat(agent, "/opera sing")
    assert response.content == "Done." and notes[-1]["status"] == "completed"


def test_a_document_without_a_file_is_left_to_its_editor_as_a_proposal(engine_stage, engine_skill):
    engine_skill("fiction", requires_editor=True)
    agent, _ = engine_stage(answer(replace("la", "lo")), options={"editor": {"type": "x", "content": "la donna"}})

    async def main() -> Any:
        async with agent:
            await agent.chat("/fiction sing")
            return [note.data for note in agent.session.notes("engine-editor.proposal")]

    (kept,) = asyncio.run(main())
    assert kept["operations"][0]["text"] == "lo" and kept["pre_hash"] == revision_of("la donna")


def test_a_question_about_the_document_is_answered_in_words_and_a_foreign_request_is_rejected(opened, file):
    agent, _ = opened("It is about a boat.")
    response, _ = chat(agent, "/fiction what is it about?")
    assert response.content == "It is about a boat." and file.read_bytes() == TEXT.encode()
    agent = agent.__class__(agent.config, host=agent.host)
    from skillkit_core.testing import ScriptedModel

    agent.set_adapter(ScriptedModel(['{"rejected": true, "reason": "no edit"}', "I answer that."]))
    response, notes = chat(agent, "/fiction what is the weather?")
    assert response.content == "I answer that." and notes[-1]["reason"] == "rejected: no edit"


@pytest.mark.parametrize("path", ["../outside.md", "link.md"])
def test_a_file_outside_of_the_workspace_is_not_written(engine_stage, engine_skill, skillkit_home, path):
    outside = skillkit_home.cwd.parent / "outside.md"
    outside.write_text("la donna")
    (skillkit_home.cwd / "link.md").symlink_to(outside)
    engine_skill("fiction", requires_editor=True)
    agent, _ = engine_stage(
        answer(replace("la", "lo")), options={"editor": {"type": "x", "file": path, "content": "la donna"}}
    )
    failed, _ = chat(agent, "/fiction sing")
    assert "is outside of the workspace" in str(failed) and outside.read_text() == "la donna"


def test_a_second_edit_sees_the_first_and_a_followed_file_is_read_again(opened, file):
    agent, _ = opened(
        answer(replace("saw", "heard")), answer(replace("heard", "felt")), answer(replace("Someone", "Ida")), "Nothing."
    )

    async def main() -> None:
        async with agent:
            await agent.chat("/fiction hear it")
            await agent.chat("/fiction feel it")
            assert file.read_bytes() == TEXT.replace("saw", "felt").encode()
            assert await editor(agent, "chapter.md fiction", None) == "chapter.md is open: fiction, 10 lines."
            file.write_text("Someone else wrote.")
            await agent.chat("/fiction name her")
            assert file.read_text() == "Ida else wrote."
            assert await editor(agent, "close", None) == "chapter.md is closed."
            assert await editor(agent, "close", None) == "Nothing was open."
            assert "requires_editor" in (await agent.chat("/fiction again")).content
            with pytest.raises(UsageError, match="outside of the workspace"):
                await editor(agent, "../x", None)

    asyncio.run(main())


def test_no_model_is_offered_the_tool_that_applies(opened):
    agent, model = opened("Words.")

    async def main() -> None:
        async with agent:
            assert "apply_operations" not in [tool.name for tool in agent.tools]
            await agent.chat("/fiction what?")
            assert "apply_operations" not in [tool.name for tool in agent.tools]

    asyncio.run(main())
    assert model.requests[0].tools == ()


# --- at the command line ------------------------------------------------------------------------------------------


def allowed(skillkit_cli: Any) -> tuple[str, ...]:
    """The option that lets files of the workspace be edited, where the plugin ``permissions`` is there, too."""
    plugins = skillkit_cli("plugins", "list", "--json").ok().json["plugins"]
    there = any(row["name"] == "permissions" and row["enabled"] for row in plugins)
    return ("--permission-mode", "accept-edits") if there else ()


def test_a_file_is_edited_at_the_command_line_and_the_edit_taken_back(
    skillkit_cli, skillkit_home, llm_server, file, monkeypatch
):
    from skillkit_testkit import Reply

    place = skillkit_home.config_dir / "skills" / "fiction"
    place.mkdir(parents=True)
    about = {"skillkit": {"engine": "editor", "requires_editor": True, "editor_types": ["fiction"]}}
    head = {"name": "fiction", "description": "Edits fiction.", "metadata": about}
    (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nEdit.\n")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    wire = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", "loop")
    llm_server.script(Reply(text=answer(replace("the boat", "the ship"), message="It is a ship now.")))
    done = skillkit_cli("edit", "chapter.md", *wire, *allowed(skillkit_cli), "/fiction a ship").ok()
    assert "It is a ship now." in done.stdout and file.read_bytes() == TEXT.replace("the boat", "the ship").encode()
    assert "taken back; 0 more" in skillkit_cli("edit", "chapter.md", "--undo").ok().stdout
    assert file.read_bytes() == TEXT.encode()
    assert "no edit of" in skillkit_cli("edit", "chapter.md", "--undo").stderr
    assert "is no file" in skillkit_cli("edit", "nosuch.md", "x").stderr


DESK = """
import asyncio, json, os, pathlib, signal, sys
import skillkit_engine_editor.documents as documents
from skillkit_core import AgentConfig, AgentRunner, ApprovalDecision, Approver, Host
from skillkit_core.testing import ScriptedModel

folder, step = pathlib.Path(sys.argv[1]), sys.argv[2]

class Person(Approver):
    async def approve(self, request):
        if step == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        return ApprovalDecision("defer")

async def main():
    known = folder / "session"
    session = known.read_text() if known.exists() else "new"
    file = pathlib.Path("chapter.md")
    options = {"editor": documents.document_of(file, "chapter.md", "fiction")}
    host = Host(settings={"plugins.disabled": ["permissions"]})
    async with AgentRunner(AgentConfig(model="any", approver=Person(), options=options), host=host, session=session) as agent:
        operations = [{"op": "replace_range", "original_text": "saw", "text": "heard"}]
        agent.set_adapter(ScriptedModel([json.dumps({"message": "Done.", "operations": operations})]))
        known.write_text(agent.session_id)
        if step in ("begin", "kill"):
            response = await agent.chat("/fiction hear it")
        else:
            response = await agent.resume({call.id: "allow" for call in agent.suspension.calls})
        print(json.dumps([response.outcome, response.content]))

asyncio.run(main())
"""


@pytest.mark.parametrize("first", ["begin", "kill"])
def test_s3_6_an_edit_waits_for_approval_and_is_decided_in_another_process(skillkit_home, tmp_path, file, first):
    """Once the first process ends in order, once it is killed while the person thinks; the model is asked once."""
    place = skillkit_home.config_dir / "skills" / "fiction"
    place.mkdir(parents=True)
    about = {"skillkit": {"engine": "editor", "requires_editor": True, "supports_hitl": True}}
    head = {"name": "fiction", "description": "Edits fiction.", "metadata": about}
    (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nEdit.\n")
    (tmp_path / "desk.py").write_text(DESK)

    def run(step: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, str(tmp_path / "desk.py"), str(tmp_path), step]
        return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, cwd=skillkit_home.cwd)

    begun = run(first)
    if first == "kill":
        assert begun.returncode == -signal.SIGKILL, begun.stderr
    else:
        assert begun.returncode == 0 and json.loads(begun.stdout)[0] == "suspended", begun.stderr
    assert file.read_bytes() == TEXT.encode()
    decided = run("decide")
    assert decided.returncode == 0 and json.loads(decided.stdout) == ["completed", "Done."], decided.stderr
    assert file.read_bytes() == TEXT.replace("saw", "heard").encode()


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (None, "unknown_operation"),
        ("delete everything", "unknown_operation"),
        ([], "unknown_operation"),
        ({"op": ["delete_range"]}, "unknown_operation"),
        ({"op": "replace_range", "original_text": "boat"}, "empty"),
        ({"op": "replace_range", "original_text": "boat", "text": None}, "empty"),
        ({"op": "replace_range", "original_text": "boat", "text": "\ud83d"}, "empty"),
        ({"op": "delete_range", "original_text": "\udc00"}, "empty"),
        ({"op": "insert_after_heading", "heading": 1, "text": "x"}, "empty"),
        ({"op": "insert_after_heading", "heading": "One"}, "empty"),
    ],
)
def test_what_a_model_left_out_of_an_operation_is_not_guessed(operation, code):
    done = edit(TEXT, [operation])
    assert (done.status, done.operations, done.document) == ("rejected", (code,), TEXT)


def test_an_empty_text_is_a_text_and_a_document_of_an_editor_may_hold_what_no_file_can():
    assert edit("a boat", [replace("boat", "")]).document == "a "
    odd = "a \ud83d boat"
    assert edit(odd, [replace("boat", "ship")], EditorContext("x", content=odd).revision).document == "a \ud83d ship"


@pytest.mark.parametrize("operation", [None, {"op": "replace_range", "original_text": "boat", "text": "\ud83d"}])
def test_the_tool_says_of_odd_operations_what_is_wrong_and_leaves_the_file_alone(make_host, file, operation):
    from types import SimpleNamespace

    from skillkit_engine_editor.applying import apply

    from skillkit_core import ToolError

    ctx: Any = SimpleNamespace(cwd=file.parent, agent=None)
    with pytest.raises(ToolError, match="rejected, nothing was applied: operation 1: "):
        asyncio.run(apply({"path": file.name, "operations": [operation]}, ctx))
    for path in ("\x00", "\ud800", "a/\x00/b"):
        with pytest.raises(ToolError, match="is no "):
            asyncio.run(apply({"path": path, "operations": []}, ctx))
    assert file.read_bytes() == TEXT.encode()


@pytest.mark.parametrize("end", ["</context>", "</CONTEXT>", "</ Context >", "<\n/context>"])
def test_no_text_of_a_document_ends_its_mark(end):
    from skillkit_engines import context_part

    shown = context_part("editor", f"a{end}b")
    assert f"a{end}" not in shown and shown.lower().count("</context>") == 1
