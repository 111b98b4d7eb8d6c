"""A provider of models with an authorization server, and keyrings to test with."""

import json
import os
import sys
from functools import partial

import pytest
from skillkit_testkit import Fail, OAuthServer, Reply

# what a keyring library's backend is, in a file that a test can look at
BACKEND = """
import json, os, pathlib
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

FILE = pathlib.Path(os.environ["TEST_KEYRING_FILE"])
FILE.with_name("keyring-was-imported").touch()

class Keyring(KeyringBackend):
    priority = 9
    def _all(self):
        if FILE.with_name("locked").exists():
            raise KeyringLocked("locked, and the secret was hunter2")
        return json.loads(FILE.read_text()) if FILE.exists() else {}
    def get_password(self, service, username):
        return self._all().get(f"{service} {username}")
    def set_password(self, service, username, password):
        FILE.write_text(json.dumps({**self._all(), f"{service} {username}": password}))
    def delete_password(self, service, username):
        found = self._all()
        if found.pop(f"{service} {username}", None) is None:
            raise PasswordDeleteError(username)
        FILE.write_text(json.dumps(found))
"""
BROWSER = """
import sys, urllib.request
print("browser", urllib.request.urlopen(sys.argv[1], timeout=20).read())
"""


@pytest.fixture
def site():
    """An authorization server for the client ``skillkit-test``."""
    with OAuthServer("skillkit-test") as server:
        yield server
    server.check()


def settings_of(site, **others):
    """The login of a site as settings."""
    fields = {"client_id": "skillkit-test", "scopes": ["models", "offline"], "parameters": {"audience": "api"}}
    return {**fields, **site.endpoints, **others}


@pytest.fixture
def acme(site, llm_server, skillkit_home, monkeypatch):
    """A provider whose models answer whoever brings a token that counts, and whose logins are those of ``site``."""
    server = {"base_url": llm_server.openai_url, "api_key_env": "ACME_TOKEN", "default_model": "scripted-model"}
    config = {"openai": {"servers": {"acme": server}}, "keyring": {"oauth": {"acme": settings_of(site)}}}
    skillkit_home.write_config(json.dumps(config))

    def answer(request):
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        return Reply(text="You are in.") if token in site.valid else Fail(401, message=f"no: {token}")

    llm_server.always(answer)
    browser = skillkit_home.path / "browser.py"
    browser.write_text(BROWSER)
    monkeypatch.setattr("webbrowser._tryorder", None)  # BROWSER counts anew
    monkeypatch.setenv("BROWSER", f"{sys.executable} {browser} %s")
    return site


@pytest.fixture
def acme_settings(site):
    """The login of ``site`` as settings, with others beside or instead."""
    return partial(settings_of, site)


@pytest.fixture
def vault(skillkit_home, monkeypatch):
    """A keyring that works; ``locked`` beside its file locks it."""
    folder = skillkit_home.path / "backend"
    folder.mkdir()
    (folder / "test_vault_backend.py").write_text(BACKEND)
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    )
    monkeypatch.setenv("TEST_KEYRING_FILE", str(folder / "secrets"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "test_vault_backend.Keyring")
    return folder / "secrets"
