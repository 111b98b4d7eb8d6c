"""``skillkit doctor`` names the provider that ``skillkit run`` asks."""

import pytest

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
