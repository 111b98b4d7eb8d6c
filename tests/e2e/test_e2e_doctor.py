"""``skillkit doctor`` names the provider that ``skillkit run`` asks."""

import pytest

from skillkit_core import ConfigError, Host
from skillkit_core.settings.config import Config, Layer, section_model
from skillkit_core.settings.documents import read_document

ASKED = [
    ({}, "offline"),
    ({"SKILLKIT_MODEL": "claude-sonnet-4-5", "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "anthropic"),
    ({"SKILLKIT_MODEL": "gpt-5", "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "openai"),
    ({"SKILLKIT_PROVIDER": "openai", "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "openai"),
    ({"SKILLKIT_BASE_URL": "http://127.0.0.1:9/v1"}, "openai"),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("env", "provider"), ASKED)
def test_the_provider_of_a_bare_run_is_named(skillkit_cli, env, provider):
    assert f"a bare run asks '{provider}'" in skillkit_cli("doctor", env=env).stdout


def test_a_model_without_a_key_is_a_problem(skillkit_cli):
    done = skillkit_cli("doctor", env={"SKILLKIT_MODEL": "claude-sonnet-4-5"})
    assert done.exit_code == 1 and "✗ provider" in done.stdout and "needs an API key" in done.stdout


@pytest.mark.parametrize("command", [("run", "what is 15% of 80"), ("config", "show"), ("doctor",)], ids=lambda c: c[0])
def test_a_mistake_in_the_configuration_is_one_line_with_its_place_and_what_to_do(skillkit_cli, skillkit_home, command):
    file = skillkit_home.write_config("mcp:\n  servers:\n    files:\n      comand: x\n")

    done = skillkit_cli(*command)

    told = [line for line in (done.stdout + done.stderr).splitlines() if "comand" in line]
    assert done.exit_code == (1 if command == ("doctor",) else 2) and len(told) == 1, done
    place = f"{file}:4: mcp.servers.files.comand: "
    assert told[0].endswith(f"{place}unknown setting 'comand'; did you mean 'command'?")


def test_each_section_of_each_plugin_tells_a_mistake_with_its_place(skillkit_home):
    host = Host(cwd=skillkit_home.cwd)
    host.collect_all()
    sections = {entry.name: entry.item for entry in host.registry("config").entries()}
    file = skillkit_home.cwd / "settings.yaml"

    def told(name, text):
        file.write_text(text)
        document = read_document(file)
        with pytest.raises(ConfigError) as error:
            Config([Layer("user", document.data, document.where)], lambda: sections).section(name)
        return str(error.value)

    assert len(sections) > 20
    for name, section in sections.items():
        setting = max(section_model(section).model_fields, key=len)
        near = f"{setting[:-2]}{setting[-1]}{setting[-2]}x"
        misspelt = told(name, f"# comment\n{name}:\n  {near}: 1\n")
        assert misspelt.startswith(f"{file}:3: {name}.{near}: unknown setting '{near}'; did you mean "), misspelt
        for wrong, kind in (("[1]", "a list"), ("5", "5"), ("text", "'text'")):
            assert told(name, f"{name}: {wrong}\n") == f"{file}:1: {name}: must be a mapping of settings, not {kind}"
    host.close()
