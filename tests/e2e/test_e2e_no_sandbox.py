"""The configuration asks for a sandbox and there is none: the plugin does not run, or no backend holds the policy."""

from skillkit_testkit import Call, Reply

CONFIG = "model: null\nsandbox:\n  commands: project\nplugins:\n  disabled: [sandbox]\n"


def warned(home):
    file = home.write_config(CONFIG)
    return (
        f"Warning: plugin 'sandbox', config: {file}:2: sandbox: the section does not count, because the plugin is disabled "
        f"by {file}:5: plugins.disabled; enable the plugin, or remove the section"
    )


def test_run_and_the_doctor_say_once_that_no_sandbox_holds_commands(skillkit_cli, skillkit_home):
    line = warned(skillkit_home)
    ran = skillkit_cli("run", "what is 15% of 80").ok()
    assert (ran.stdout, ran.stderr) == ("15% of 80 = 12\n", f"{line}\n")
    told = skillkit_cli("doctor").ok()
    assert told.stderr == f"{line}\n" and "sandbox" not in told.stdout
    (problem,) = skillkit_cli("doctor", "--json").ok().json["problems"]
    assert (problem["plugin"], problem["severity"]) == ("sandbox", "warning") and problem["message"] in line


def test_a_conversation_says_it_once(skillkit_cli, skillkit_home):
    line = warned(skillkit_home)
    with skillkit_cli.terminal("chat", columns=400) as chat:
        chat.wait_for("/help shows commands")
        chat.send("what is 15% of 80\r")
        chat.wait_for("15% of 80 = 12")
        chat.send("\x04")
        assert chat.wait() == 0, chat.text
    assert chat.text.count(line) == 1


HELD_BY_NOBODY = """
sandbox: {commands: project, backend: landlock}
tools: {allow: [bash]}
permissions: {mode: bypass}
"""


def test_a_run_says_that_its_only_call_failed_because_no_sandbox_holds_it(skillkit_cli, skillkit_home, llm_server):
    skillkit_home.write_config(HELD_BY_NOBODY)
    llm_server.script(Reply(tool_calls=[Call("bash", {"command": "touch ran"})]), Reply(text="I could not."))
    asked = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any")
    done = skillkit_cli("run", *asked, "go", env={"OPENAI_API_KEY": "key-of-the-tests"}).ok()
    assert done.stdout == "I could not.\n" and not (skillkit_home.cwd / "ran").exists()
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Warning: ")]
    start = "Warning: the only tool call of this run failed, and exit code 0 tells of the run alone; last bash: "
    assert line.startswith(f"{start}no sandbox holds this policy here: landlock")
