"""The browser's return: what counts as the answer of a login, and what is turned away."""

import asyncio
import socket

import pytest
from skillkit_oauth import Answer, Redirect

from skillkit_core import SkillKitError

pytestmark = pytest.mark.smoke


async def ask(redirect, target, *, host=None, method="GET", more=""):
    """Return the status of an answer and the page, as a browser gets them."""
    reader, writer = await asyncio.open_connection("127.0.0.1", redirect.port)
    host = f"127.0.0.1:{redirect.port}" if host is None else host
    writer.write(f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode())
    head, _, page = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    return int(head.split()[1]), page


async def test_the_answer_that_brings_the_state_counts_and_listening_ends():
    async with Redirect(path="/back") as redirect:
        redirect.expect("s1")
        asked = asyncio.create_task(ask(redirect, "/back?code=c%201&state=s1&iss=https://acme.test"))
        assert await redirect.answer(60) == Answer("c 1", "s1", "https://acme.test")
        assert (await asked)[0] == 200 and "You are logged in" in (await asked)[1]
    with pytest.raises(OSError):
        await ask(redirect, "/back?code=c&state=s1")


@pytest.mark.parametrize(
    ("target", "options", "status"),
    [
        ("/callback?code=c&state=other", {}, 400),
        ("/callback?code=c", {}, 400),
        ("/callback?state=s1", {}, 400),
        ("/elsewhere?code=c&state=s1", {}, 404),
        ("/callback?code=c&state=s1", {"method": "POST"}, 404),
        ("/callback?code=c&state=s1", {"host": "evil.test"}, 421),
        ("/callback?code=c&state=s1", {"host": "localhost"}, 421),
        ("/callback?code=c&state=s1", {"more": "Host: evil.test\r\n"}, 421),
    ],
    ids=["another state", "no state", "no code", "another path", "a form", "a foreign host", "no port", "two hosts"],
)
async def test_what_is_not_the_answer_is_turned_away_and_the_answer_still_counts(target, options, status):
    async with Redirect() as redirect:
        redirect.expect("s1")
        assert (await ask(redirect, target, **options))[0] == status
        assert (await ask(redirect, "/callback?code=right&state=s1"))[0] == 200
        assert (await redirect.answer(60)).code == "right"


async def test_nothing_counts_before_a_state_is_expected():
    async with Redirect() as redirect:
        assert (await ask(redirect, "/callback?code=c&state="))[0] == 400
        redirect.expect("s1")
        await ask(redirect, "/callback?code=c&state=s1")
        assert (await redirect.answer(60)).code == "c"


async def test_a_second_answer_changes_nothing():
    async with Redirect() as redirect:
        redirect.expect("s1")
        await ask(redirect, "/callback?code=first&state=s1")
        status, page = await ask(redirect, "/callback?code=second&state=s1")
        assert status == 400 and "The login is over" in page
        assert (await redirect.answer(60)).code == "first"


async def test_a_refusal_is_said_with_the_providers_words():
    async with Redirect() as redirect:
        redirect.expect("s1")
        status, page = await ask(redirect, "/callback?error=access_denied&error_description=not+today&state=s1")
        assert status == 200 and "The login was refused" in page
        with pytest.raises(SkillKitError, match=r"^the login was refused: not today$"):
            await redirect.answer(60)


async def test_an_answer_after_the_time_limit_is_turned_away():
    async with Redirect() as redirect:
        redirect.expect("s1")
        with pytest.raises(TimeoutError):
            await redirect.answer(0)
        status, page = await ask(redirect, "/callback?code=late&state=s1")
        assert status == 400 and "The login is over" in page


async def test_a_taken_port_is_said_or_another_one_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SkillKitError, match=f"port {port} of 127.0.0.1 cannot be used: "):
            async with Redirect(port):
                pass
        async with Redirect(port, any_port=True) as redirect:
            assert redirect.port != port and redirect.url == f"http://127.0.0.1:{redirect.port}/callback"


async def test_a_stranger_who_says_nothing_does_not_hold_up_the_end():
    async with Redirect() as redirect:
        redirect.expect("s1")
        _, silent = await asyncio.open_connection("127.0.0.1", redirect.port)
        await ask(redirect, "/callback?code=c&state=s1")
        assert (await redirect.answer(60)).code == "c"
    silent.close()
