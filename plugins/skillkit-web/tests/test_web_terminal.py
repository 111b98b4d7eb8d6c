"""A conversation at a terminal and the page beside it: one session, looked at, decided and gone on with in both."""

import pytest
from skillkit_testkit import Terminal

pytest.importorskip("skillkit_chat")


def test_a_question_of_a_terminal_is_answered_on_the_page_and_the_conversation_goes_on_there(serve, skillkit_cli):
    with (
        serve() as server,
        skillkit_cli.terminal("-P", "obeys", "chat", "--provider", "obeys", kind=Terminal, rows=50) as terminal,
    ):
        terminal.wait_for("/help shows commands and keys")
        terminal.send("pay 5\r")
        terminal.wait_for("Run pay?")
        [row] = server.get("/api/sessions")[1]["sessions"]
        with server.tab(row["id"]) as tab:
            question = tab.question()
            beside = tab.about["here"]
            taken = tab.answer(question["id"], decision="allow")[1]["outcome"]
            tab.event("agent_end", outcome="completed")
            terminal.wait_for("pay: allowed by web")
            terminal.wait_for("done: paid 5")
            tab.say("said on the page")
            terminal.wait_for("› said on the page")
            terminal.wait_for("You said: said on the page")
            tab.say("hang")
            terminal.wait_for("I begin and")
            terminal.send("\x03")  # a run that the page began is interrupted at the terminal
            tab.event("agent_end", outcome="aborted")
        terminal.send("pay 6\r")  # the tab is closed
        terminal.wait_for("Run pay?")
        with server.tab(row["id"]) as tab:
            asked = tab.question()
            terminal.send("n")
            told = tab.until(lambda m: m["type"] == "question_answered")
            late = tab.answer(asked["id"], decision="allow")[1]["outcome"]
        terminal.send("/quit\r")
        terminal.wait_for("Go on with: skillkit chat --session")
        terminal.wait()
        with server.tab(row["id"]) as tab:
            shot = tab.read()
            alone = tab.about["here"]

    assert not beside and question["args"] == {"amount": 5} and taken == "taken"
    assert asked["args"] == {"amount": 6} and told["decision"] == "deny" and told["by"]["kind"] == "terminal"
    assert late == "late" and alone
    said = [e["data"]["message"] for e in shot["entries"] if e["type"] == "message"]
    assert [m["content"][0]["text"] for m in said if m["role"] == "user"] == [
        "pay 5",
        "said on the page",
        "hang",
        "pay 6",
    ]
