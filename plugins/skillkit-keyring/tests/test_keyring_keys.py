"""Keys that are kept: where, how safely, and what a run gets of them."""

import json
import os
import stat
import subprocess
import sys

import pytest
from skillkit_testkit import Terminal

KEY = "sk-test-0123456789abcdef"


def files(home):
    return [p for p in home.path.rglob("*") if p.is_file()]


@pytest.mark.smoke
def test_a_key_goes_into_a_private_file_where_there_is_no_keyring_with_one_warning(acme, skillkit_cli, skillkit_home):
    acme.valid.add(KEY)
    done = skillkit_cli("auth", "login", "acme", "--api-key-stdin", input=f"{KEY}\n").ok()
    folder = skillkit_home.data_dir / "keyring"
    assert f"ACME_TOKEN is in {folder / 'secrets.json'}, which only you can read" in done.stdout
    assert "keeps no secret safely; the credential is kept in a file that is not encrypted" in done.stderr
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {p.name: stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == dict.fromkeys(
        ("index.json", "secrets.json", "store.lock"), 0o600
    )
    assert [p for p in files(skillkit_home) if KEY in p.read_text(errors="replace")] == [folder / "secrets.json"]
    again = skillkit_cli("auth", "login", "TAVILY_API_KEY", input="tvly-0123456789").ok()
    assert not again.stderr and "TAVILY_API_KEY" in again.stdout
    run = skillkit_cli("run", "--no-session", "--provider", "acme", "hello").ok()
    assert "You are in." in run.stdout and "keyring" not in run.stderr and "file" not in run.stderr
    rows = {row["provider"]: row for row in skillkit_cli("auth", "status", "--json").ok().json}
    kept = rows["acme"]
    assert (kept["source"], kept["where"], kept["ends_with"]) == ("file", str(folder / "secrets.json"), "cdef")
    assert rows["TAVILY_API_KEY"]["ends_with"] is None, "four of fifteen characters are too many"
    assert rows["openai"]["source"] is None
    assert "1 file" not in (text := skillkit_cli("auth", "status").ok().stdout) and "…cdef" in text and KEY not in text
    hidden = skillkit_cli("auth", "status", "acme", env={"ACME_TOKEN": "sk-other-9876543210zyxw"}).ok()
    assert "environment" in hidden.stdout and "…zyxw" in hidden.stdout and "hides what is kept" in hidden.stderr
    assert "Forgotten: ACME_TOKEN of acme." in skillkit_cli("auth", "logout", "acme").ok().stdout
    assert not [p for p in files(skillkit_home) if KEY in p.read_text(errors="replace")]


def test_a_key_that_is_typed_is_not_shown(acme, skillkit_home):
    script = "import sys; from skillkit_core.cli.main import entry; sys.exit(entry())"
    with Terminal([sys.executable, "-c", script, "auth", "login", "acme", "--key"], columns=200) as terminal:
        terminal.wait_for("API key of acme (ACME_TOKEN)")
        terminal.send(f"{KEY}\n")
        assert terminal.wait() == 0, terminal.text
        assert KEY not in terminal.text and "ACME_TOKEN is in" in terminal.text
    assert json.loads((skillkit_home.data_dir / "keyring/secrets.json").read_text()) == {"ACME_TOKEN": KEY}


@pytest.mark.parametrize(
    ("key", "why"), [("", "the key is empty"), ("two words", "this is no key"), ("a\x1bb", "this is no key")]
)
def test_what_is_no_key_is_not_kept(acme, skillkit_cli, skillkit_home, key, why):
    done = skillkit_cli("auth", "login", "acme", "--api-key-stdin", input=key)
    assert done.exit_code == 2 and why in done.stderr and not (skillkit_home.data_dir / "keyring").exists()


def test_a_keyring_keeps_the_key_and_the_index_no_secret(acme, vault, skillkit_cli, skillkit_home):
    acme.valid.add(KEY)
    done = skillkit_cli("auth", "login", "acme", "--api-key-stdin", input=KEY).ok()
    assert "is in the keyring (test_vault_backend.Keyring)" in done.stdout and not done.stderr
    assert json.loads(vault.read_text()) == {"skillkit ACME_TOKEN": KEY}
    assert [p for p in files(skillkit_home) if KEY in p.read_text(errors="replace")] == [vault]
    assert "You are in." in skillkit_cli("run", "--no-session", "--provider", "acme", "hello").ok().stdout
    row = skillkit_cli("auth", "status", "acme", "--json").ok().json[0]
    assert (row["source"], row["where"], row["ends_with"]) == ("keyring", "test_vault_backend.Keyring", "cdef")
    skillkit_cli("auth", "logout", "acme").ok()
    assert json.loads(vault.read_text()) == {}


def test_a_locked_keyring_is_said_and_the_file_takes_its_place(acme, vault, skillkit_cli, skillkit_home):
    skillkit_cli("auth", "login", "acme", "--api-key-stdin", input=KEY).ok()
    vault.with_name("locked").touch()
    run = skillkit_cli("run", "--no-session", "--provider", "acme", "hello")
    assert run.exit_code and "cannot be read (KeyringLocked)" in run.stderr and "hunter2" not in run.stderr
    assert run.stderr.count("KeyringLocked") == 1 and "skillkit auth login acme" in run.stderr
    done = skillkit_cli("auth", "login", "acme", "--api-key-stdin", input=KEY).ok()
    assert "cannot be read (KeyringLocked)" in done.stderr or "cannot be written (KeyringLocked)" in done.stderr
    assert "kept in a file that is not encrypted" in done.stderr
    only = {"SKILLKIT_KEYRING__STORE": "keyring"}
    refused = skillkit_cli("auth", "login", "acme", "--api-key-stdin", input=KEY, env=only)
    assert refused.exit_code and "KeyringLocked" in refused.stderr


def test_a_keyring_is_imported_only_for_what_it_keeps(acme, vault, skillkit_cli):
    mark = vault.with_name("keyring-was-imported")
    skillkit_cli("auth", "login", "TAVILY_API_KEY", input=KEY).ok()
    mark.unlink()
    skillkit_cli("run", "--no-session", "what is 15% of 80").ok()
    assert not mark.exists()
    skillkit_cli("auth", "login", "acme", "--api-key-stdin", input=KEY).ok()
    acme.valid.add("sk-from-the-environment")
    mark.unlink()
    skillkit_cli("run", "--no-session", "--provider", "acme", "hi", env={"ACME_TOKEN": "sk-from-the-environment"}).ok()
    assert not mark.exists(), "the environment comes first"


@pytest.mark.parametrize("name", ["keyrings.alt.file.PlaintextKeyring", "keyring.backends.null.Keyring"])
def test_backends_that_keep_nothing_safely_never_count(acme, skillkit_cli, skillkit_home, monkeypatch, name):
    if name.startswith("keyrings"):
        package = skillkit_home.path / "alt/keyrings/alt"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        text = "from keyring.backends.null import Keyring\nclass PlaintextKeyring(Keyring):\n    priority = 9\n"
        (package / "file.py").write_text(text)
        monkeypatch.setenv("PYTHONPATH", str(skillkit_home.path / "alt"))
    done = skillkit_cli(
        "auth", "login", "acme", "--api-key-stdin", input=KEY, env={"PYTHON_KEYRING_BACKEND": name}
    ).ok()
    assert f"{name}, keeps no secret safely" in done.stderr and "secrets.json" in done.stdout


def test_what_others_could_read_or_replace_is_refused(acme, skillkit_cli, skillkit_home):
    skillkit_cli("auth", "login", "acme", "--api-key-stdin", input=KEY).ok()
    folder = skillkit_home.data_dir / "keyring"
    (folder / "secrets.json").chmod(0o644)
    run = skillkit_cli("run", "--no-session", "--provider", "acme", "hello")
    assert run.exit_code and "others can read it; chmod 600" in run.stderr
    (folder / "secrets.json").chmod(0o600)
    (folder / "secrets.json").rename(elsewhere := skillkit_home.path / "elsewhere.json")
    (folder / "secrets.json").symlink_to(elsewhere)
    assert "it is a link" in skillkit_cli("auth", "status", "acme").ok().stderr
    folder.rename(other := skillkit_home.path / "other")
    folder.symlink_to(other)
    assert "is a link" in skillkit_cli("auth", "login", "acme", "--api-key-stdin", input=KEY).stderr


def test_processes_that_log_in_together_lose_nothing(acme, skillkit_home):
    """Three processes write the same two files."""
    code = (
        "import os; from skillkit_core import Host; from skillkit_keyring.store import Row, store_of\n"
        "host = Host(); [store_of(host).keep(f'KEY_{os.getpid()}_{n}', Row(provider='x', kind='key'), 'v') for n in range(5)]"
    )
    running = [subprocess.Popen([sys.executable, "-c", code], env=dict(os.environ)) for _ in range(3)]
    assert [p.wait(60) for p in running] == [0] * 3
    folder = skillkit_home.data_dir / "keyring"
    names = {f"KEY_{p.pid}_{n}" for p in running for n in range(5)}
    assert set(json.loads((folder / "index.json").read_text())) == names
    assert set(json.loads((folder / "secrets.json").read_text())) == names
    assert sorted(p.name for p in folder.iterdir()) == ["index.json", "secrets.json", "store.lock"]
