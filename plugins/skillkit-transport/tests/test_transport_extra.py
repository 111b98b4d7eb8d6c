"""What needs nothing but the core is imported without the extra ``sdk``, and without what the extra brings."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = "import sys\nfor name in ('aiohttp', 'httpx2', 'jiter', 'openai', 'anthropic'): sys.modules[name] = None\n"


def said(code: str) -> str:
    """What ``code`` prints in a process where nothing of the extra can be imported."""
    done = subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("from skillkit_transport.http import SSEDecoder; print(SSEDecoder().feed(b'data: 1\\n\\n'))", "[('', b'1')]"),
        ("from skillkit_transport.http import Origin; print(Origin('a', 'http://b', '').lost(OSError()).kind)", "connection"),
        ("from skillkit_transport.http import *; print(Watch.__name__, classify_status(429))", "Watch rate_limit"),
        ("from skillkit_transport import SDKTransport; print(SDKTransport.__name__)", "SDKTransport"),
    ],
)  # fmt: skip
def test_http_works_and_the_package_is_imported(code: str, printed: str) -> None:
    assert said(code) == printed
