"""Logins: the test kit's authorization server, a browser that follows its redirect, and tokens that are renewed."""

import asyncio
import json
import stat
import urllib.request

import pytest
from skillkit_mcp.login import login, logout
from skillkit_mcp.servers import configured_servers
from skillkit_mcp.tokens import tokens_file
from skillkit_testkit import MCPServer

from skillkit_core import ToolError
from skillkit_core.testing import user


@pytest.fixture
def site(oauth_server):
    """A server that wants a token of ``oauth_server``, and says which one it got."""
    with MCPServer(oauth=oauth_server) as server:
        server.tool(lambda call: f"you are {call.headers['authorization']}", "whoami")
        yield server
    server.check()


class Browser(user.ScriptedUser):
    """Opens the address that it is shown, as a person's browser does."""

    async def notify(self, text, level="info"):
        await super().notify(text, level)
        if "http" in text:
            url = text[text.index("http") :]
            await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=10).read())


async def test_a_login_keeps_tokens_that_runs_use_and_nobody_reads(connect, site, oauth_server):
    client = connect({"site": {"url": site.url}})
    assert await client.tools() == {}
    said = [str(problem) for problem in client.host.problems]
    assert any("HTTP 401" in text and "skillkit mcp login site" in text for text in said)
    browser = Browser()
    await login(client.host, configured_servers(client.host)[0], browser)
    assert browser.notices[0][1].startswith(f"Log in to site: {oauth_server.base}/authorize?")
    path = tokens_file(client.host)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and oauth_server.grants == ["authorization_code"]
    await client.host.aclose()

    later = connect({"site": {"url": site.url}})
    assert (await later.call("mcp__site__whoami")).text == "you are Bearer ***"
    assert oauth_server.grants == ["authorization_code"]
    assert logout(later.host, configured_servers(later.host)[0])
    assert json.loads(path.read_text()) == {}
    await later.host.aclose()


async def test_a_token_that_is_over_is_renewed_without_a_person(connect, site, oauth_server):
    oauth_server.expires_in = 1
    first = connect({"site": {"url": site.url}})
    await login(first.host, configured_servers(first.host)[0], Browser())
    await first.host.aclose()
    oauth_server.valid.clear()
    later = connect({"site": {"url": site.url}})
    assert "you are" in (await later.call("mcp__site__whoami")).text
    assert oauth_server.grants[0] == "authorization_code" and "refresh_token" in oauth_server.grants
    await later.host.aclose()
    oauth_server.valid.clear()
    oauth_server.renewable.clear()
    ended = connect({"site": {"url": site.url}})
    assert await ended.tools() == {}
    assert any("the login has ended" in str(problem) for problem in ended.host.problems), ended.host.problems
    await ended.host.aclose()


async def test_a_login_that_is_refused_says_so_and_keeps_nothing(connect, site, oauth_server):
    oauth_server.deny = "not today"
    client = connect({"site": {"url": site.url}})
    with pytest.raises(ToolError, match="the login was refused: not today"):
        await login(client.host, configured_servers(client.host)[0], Browser())
    assert "access" not in tokens_file(client.host).read_text()
    await client.host.aclose()


async def test_tokens_that_others_can_read_are_not_used(connect, site, oauth_server):
    first = connect({"site": {"url": site.url}})
    await login(first.host, configured_servers(first.host)[0], Browser())
    await first.host.aclose()
    tokens_file(first.host).chmod(0o644)
    later = connect({"site": {"url": site.url}})
    assert await later.tools() == {}
    assert any("others can read it; chmod 600" in str(problem) for problem in later.host.problems)
    await later.host.aclose()
