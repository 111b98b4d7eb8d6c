"""Whole logins against an authorization server on loopback: browser, device code, renewal, end."""

import asyncio
import urllib.request

import pytest
from skillkit_oauth import OAuthProvider, Refused, Unreachable, browser_login, device_login, refreshed, revoke
from skillkit_testkit import OAuthServer, Raw

from skillkit_core import SkillKitError, UsageError
from skillkit_core.testing import VirtualClock, user

pytestmark = pytest.mark.smoke


@pytest.fixture
def site():
    with OAuthServer("skillkit-test") as server:
        yield server
    server.check()


@pytest.fixture
def provider(site):
    return OAuthProvider(name="acme", client_id="skillkit-test", scopes=("models",), **site.endpoints)


class Browser(user.ScriptedUser):
    """Opens the address that it is shown, as a person's browser does."""

    async def notify(self, text, level="info"):
        await super().notify(text, level)
        url = text[text.index("http") :]
        await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=10).read())


async def test_a_login_with_a_browser_gives_a_token_that_is_renewed_and_ended(site, provider):
    browser = Browser()
    token = await browser_login(provider, None, browser)
    assert browser.notices[0][1].startswith(f"Log in to acme in a browser on this machine: {site.base}/authorize?")
    assert token["access_token"] in site.valid and token["expires_at"] > 0
    again = await asyncio.to_thread(refreshed, token, None)
    assert again["access_token"] in site.valid - {token["access_token"]} and again["client"] == token["client"]
    with pytest.raises(Refused, match="does not accept it any more") as refused:
        await asyncio.to_thread(refreshed, token, None)
    assert refused.value.code == "invalid_grant", "a refresh token counts once"
    assert await asyncio.to_thread(revoke, again, None) == "" and site.revoked == [again["refresh_token"]]


async def test_a_person_who_says_no_and_one_who_does_not_come_are_said(site, provider):
    site.deny = "not today"
    with pytest.raises(SkillKitError, match="the login was refused: not today"):
        await browser_login(provider, None, Browser())
    with pytest.raises(SkillKitError, match="nobody logged in to acme within 0 s"):
        await browser_login(provider, None, user.ScriptedUser(), seconds=0)
    assert site.grants == []


async def test_a_login_with_a_code_waits_as_long_as_the_provider_says(site, provider):
    site.polls, clock, person = ["authorization_pending", "slow_down"], VirtualClock(), user.ScriptedUser()
    token = await device_login(provider, None, person, sleep=clock.sleep, now=clock.monotonic)
    assert token["access_token"] in site.valid and clock.slept == pytest.approx([0.1, 0.1, 5.1])
    assert person.notices[0][1].endswith("/activate and enter the code WDJB-MJHT")
    site.polls = ["access_denied"]
    with pytest.raises(Refused, match="the login was refused"):
        await device_login(provider, None, person, sleep=clock.sleep, now=clock.monotonic)


@pytest.mark.parametrize(
    ("broken", "why"),
    [(Raw(b"<html>", 500), "HTTP 500"), (Raw(b"<html>"), "not answer as OAuth says"), (Raw(b"{}"), "no access token")],
    ids=["an error", "a page", "no token"],
)
async def test_a_provider_that_does_not_answer_as_oauth_says_is_unreachable(site, provider, broken, why):
    token = await browser_login(provider, None, Browser())
    site.broken = broken
    with pytest.raises(Unreachable, match=why):
        await asyncio.to_thread(refreshed, token, None)


def test_a_token_that_nothing_renews_and_an_endpoint_in_the_clear_are_refused():
    with pytest.raises(SkillKitError, match="nothing renews it"):
        refreshed({"access_token": "a"}, None)
    with pytest.raises(UsageError, match="must be an https:// address"):
        refreshed({"refresh_token": "a", "client": {"id": "c", "token_endpoint": "http://example.org/token"}}, None)
    with pytest.raises(UsageError, match="neither an authorization_endpoint nor a device"):
        OAuthProvider(name="x", client_id="c", token_endpoint="https://x.test/token")
