"""A section of the configuration whose plugin does not run: whoever relies on it is told before anything runs."""

from skillkit_testkit import Terminal

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
    with Terminal([*skillkit_cli.argv, "chat"], cwd=skillkit_home.cwd, columns=400) as chat:
        chat.wait_for("/help shows commands")
        chat.send("what is 15% of 80\r")
        chat.wait_for("15% of 80 = 12")
        chat.send("\x04")
        assert chat.wait() == 0, chat.text
    assert chat.text.count(line) == 1
