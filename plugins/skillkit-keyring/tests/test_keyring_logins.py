"""Logins: browser and device code against a server on loopback, renewal before a token ends and after a 401."""

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from skillkit_keyring import OAuthProvider
from skillkit_oauth import device_login
from skillkit_testkit import Raw

from skillkit_core import AgentRunner, Host, SkillKitError, UsageError
from skillkit_core.testing import VirtualClock, user


def token_of(home):
    return json.loads(json.loads((home.data_dir / "keyring/secrets.json").read_text())["ACME_TOKEN"])


def ends_at(home, seconds):
    """Let the kept token end in so many seconds."""
    path = home.data_dir / "keyring/index.json"
    index = json.loads(path.read_text())
    index["ACME_TOKEN"] |= {"expires_at": time.time() + seconds, "stored_at": index["ACME_TOKEN"]["stored_at"] - 3600}
    path.write_text(json.dumps(index))


def shown_secrets(site, home, *texts):
    """Secrets of the site that stand in texts, or in files other than the one that keeps them."""
    found = [p.read_text(errors="replace") for p in home.path.rglob("*") if p.is_file() and p.name != "secrets.json"]
    return [s for s in site.issued for t in (*found, *texts) if s in t]


def run(cli, *more):
    return cli("run", "--provider", "acme", *more, "hello")


@pytest.mark.smoke
def test_a_login_with_a_browser_is_used_renewed_and_ended(acme, skillkit_cli, skillkit_home):
    done = skillkit_cli("--debug", "auth", "login", "acme").ok()
    assert "Logged in to acme: ACME_TOKEN is in" in done.stdout and f"{acme.base}/authorize?" in done.stderr
    (authorized,) = (asked.query for asked in acme.asked if asked.path == "/authorize")
    assert authorized["scope"] == "models offline" and authorized["audience"] == "api"
    status = skillkit_cli("auth", "status", "acme", "--json").ok()
    row = status.json[0]
    assert row["kind"] == "oauth" and row["renewable"] and row["login"] and not row["expired"]
    assert row["expires_at"].startswith("20") and row["ends_with"] == token_of(skillkit_home)["access_token"][-4:]
    acme.valid.clear()  # the provider refuses the token before its time: 401
    second = run(skillkit_cli, "--json").ok()
    assert "You are in." in second.stdout and acme.grants == ["authorization_code", "refresh_token"]
    ends_at(skillkit_home, 5)
    acme.valid.clear()
    third = Host()
    assert third.secret("ACME_TOKEN") in acme.valid and acme.grants[2:] == ["refresh_token"], (
        "renewed before it was used"
    )
    assert all(third.redact(f"it is {s}") == "it is ***" for s in acme.issued[-2:])
    third.close()
    ends = token_of(skillkit_home)["refresh_token"]
    out = skillkit_cli("auth", "logout", "acme").ok()
    assert "Forgotten: ACME_TOKEN" in out.stdout
    assert acme.revoked == [ends] and json.loads((skillkit_home.data_dir / "keyring/secrets.json").read_text()) == {}
    said = [text for r in (done, second, status, out) for text in (r.stdout, r.stderr)]
    assert not shown_secrets(acme, skillkit_home, *said)


def test_a_login_with_a_code_waits_until_the_person_has_entered_it(acme, skillkit_cli, skillkit_home):
    acme.polls = ["authorization_pending", "authorization_pending"]
    done = skillkit_cli("auth", "login", "acme", "--no-browser").ok()
    assert f"open {acme.base}/activate and enter the code WDJB-MJHT" in done.stderr
    assert len(acme.grants) == 3 and token_of(skillkit_home)["refresh_token"] in acme.renewable
    acme.polls = ["access_denied"]
    denied = skillkit_cli("auth", "login", "acme", "--device", "--no-browser")
    assert denied.exit_code == 1 and "the login was refused (access_denied)" in denied.stderr
    assert "You are in." in run(skillkit_cli).ok().stdout, "a login that fails changes nothing"
    assert not shown_secrets(acme, skillkit_home, done.stdout, done.stderr, denied.stderr)


@pytest.mark.parametrize(
    ("polls", "waits", "why"),
    [
        (["authorization_pending", "slow_down", "authorization_pending"], [0.1, 0.1, 5.1, 5.1], None),
        (["authorization_pending", "expired_token"], [0.1, 0.1], "has expired before anybody entered it; log in again"),
        (["authorization_pending"] * 9999, None, "has expired before anybody entered it; log in again"),
    ],
    ids=["slow down", "expired", "nobody"],
)
def test_a_device_code_is_asked_about_as_rfc_8628_says(site, acme_settings, polls, waits, why):
    site.polls, times = polls, VirtualClock()
    provider = OAuthProvider(name="acme", **acme_settings(scopes=("models", "offline")))
    login = device_login(
        provider,
        None,
        user.ScriptedUser(),
        seconds=1.0 if waits is None else 60.0,
        sleep=times.sleep,
        now=times.monotonic,
    )
    if why is None:
        assert asyncio.run(login)["access_token"] in site.valid
    else:
        with pytest.raises(SkillKitError, match=why):
            asyncio.run(login)
    assert waits is None or times.slept == pytest.approx(waits)


def test_a_refused_login_and_one_that_nobody_finishes_are_said(acme, skillkit_cli, skillkit_home):
    acme.deny = "not today"
    done = skillkit_cli("auth", "login", "acme")
    assert done.exit_code == 1 and "the login was refused: not today" in done.stderr
    late = skillkit_cli("auth", "login", "acme", "--timeout", "0.3", env={"BROWSER": "true %s"})
    assert late.exit_code == 1 and "nobody logged in to acme within 0.3 s" in late.stderr
    assert not (skillkit_home.data_dir / "keyring").exists()


def test_a_browser_that_returns_with_another_state_is_turned_away(acme, skillkit_cli, skillkit_home):
    answers = []

    def forge(back):
        url = f"{back}?code=forged&state=guessed"
        try:
            urllib.request.urlopen(url, timeout=10)
        except urllib.error.HTTPError as error:
            answers.append((error.code, error.read()))

    acme.before_redirect = forge
    skillkit_cli("auth", "login", "acme").ok()
    assert [code for code, _ in answers] == [400] and b"belongs to another login" in answers[0][1]
    assert acme.grants == ["authorization_code"] and token_of(skillkit_home)["access_token"] in acme.valid


def test_a_login_that_cannot_be_renewed_says_what_to_type(acme, skillkit_cli, skillkit_home):
    skillkit_cli("auth", "login", "acme").ok()
    acme.renewable.clear()
    acme.valid.clear()
    refused = run(skillkit_cli)
    assert refused.exit_code and "run skillkit auth login acme" in refused.stderr and "invalid_grant" in refused.stderr
    ends_at(skillkit_home, -5)
    host, told = Host(), []
    host.tell = told.append
    for acme.broken in (None, Raw(b"<html>", 500), Raw(b"<html>"), Raw(b'{"token": 1}')):
        assert host.secret("ACME_TOKEN") is None
    host.close()
    assert len(told) == 4 and all(line.endswith("; run skillkit auth login acme") for line in told), told
    assert "HTTP 500" in told[1] and "did not answer as OAuth says" in told[2] and "no access token" in told[3]
    assert "ended, is renewed when used" in skillkit_cli("auth", "status", "acme").ok().stdout
    acme.broken = None
    skillkit_cli("auth", "login", "acme").ok()
    assert token_of(skillkit_home)["access_token"] in acme.valid


def test_processes_renew_a_token_once(acme, skillkit_cli, skillkit_home):
    """A refresh token counts once: a second request with it would end the login."""
    skillkit_cli("auth", "login", "acme").ok()
    ends_at(skillkit_home, -5)
    code = "from skillkit_core import Host; print(Host().secret('ACME_TOKEN'))"
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=dict(os.environ), stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = {p.communicate(timeout=60)[0].strip() for p in running}
    assert said == {token_of(skillkit_home)["access_token"]} <= acme.valid
    assert acme.grants == ["authorization_code", "refresh_token"]


def test_a_plugin_offers_a_login_and_a_setting_replaces_it(
    acme, acme_settings, skillkit_cli, skillkit_home, install_plugin
):
    module = Path(skillkit_home.path / "offer_plugin.py")
    module.write_text(
        "from skillkit_core import hookimpl\n\n@hookimpl(optionalhook=True)\ndef register_oauth_providers(register):\n"
        "    from skillkit_keyring import OAuthProvider\n"
        f"    register(OAuthProvider(name='other', secret='OTHER_TOKEN', **{acme_settings()!r}))\n"
    )
    install_plugin("offer", module)
    assert "OTHER_TOKEN" in skillkit_cli("auth", "login", "other").ok().stdout
    rows = skillkit_cli("auth", "status", "--json").ok().json
    assert [(r["variable"], r["source"], r["login"]) for r in rows if r["provider"] == "other"] == [
        ("OTHER_TOKEN", "file", True)
    ]
    config = {"keyring": {"oauth": {"other": acme_settings(token_endpoint="http://example.org/token")}}}
    skillkit_home.write_config(json.dumps(config))
    refused = skillkit_cli("auth", "login", "other")
    assert refused.exit_code == 2 and "token_endpoint must be an https:// address" in refused.stderr


def test_a_login_says_what_is_wrong_with_it():
    with pytest.raises(UsageError, match="neither an authorization_endpoint nor a device"):
        OAuthProvider(name="x", client_id="c", token_endpoint="https://x.test/token")


def test_slash_login_asks_whoever_is_there(acme, skillkit_home):
    """What a front end calls for ``/login`` and ``/logout``."""

    async def main():
        host = Host()
        async with AgentRunner(host=host) as agent:
            from skillkit_keyring.slash import complete_provider, slash_login, slash_logout

            assert "acme" in complete_provider(agent, "ac")
            asked = user.ScriptedUser({"key": "tvly-0123456789abcdef"})
            assert "TAVILY_API_KEY is in" in await slash_login(agent, "TAVILY_API_KEY", asked)
            assert await host.find_secret("TAVILY_API_KEY") == "tvly-0123456789abcdef"
            assert host.redact("a tvly-0123456789abcdef b") == "a *** b"
            assert "Logged in to acme" in await slash_login(agent, "acme", user.ScriptedUser())
            assert "Forgotten: ACME_TOKEN" in await slash_logout(agent, "acme", None)
        await host.aclose()

    asyncio.run(main())
