"""The checks that others wrote of the page, in a real Chromium, where it is: ``web/checks.py`` with the model of ``plugin``."""

import os
import shutil
import subprocess
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path

import pytest

CHROMIUM = ("/usr/lib/chromium/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/chromium-browser")
SAMPLE = "hostile"
ACTS = ("say", "answer", "abort", "act", "shell")
POSTS = ("/api/sessions", "/api/markdown", *(f"/api/s/x/{act}" for act in ACTS))


MISSING = (
    "playwright is not installed"
    if find_spec("playwright") is None
    else "apt-get install chromium-headless-shell"
    if not any(map(os.path.exists, CHROMIUM))
    else ""
)


@pytest.mark.skipif(bool(MISSING) and os.environ.get("CI") != "true", reason=MISSING)
@pytest.mark.parametrize("only", [SAMPLE, pytest.param("", marks=pytest.mark.slow, id="all")])
def test_the_page_passes_the_checks_in_a_browser_that_others_wrote(
    shared_data, skillkit_cli, install_plugin, skillkit_home, only, tmp_path_factory
):
    servers = shared_data / "servers"
    install_plugin("acceptance", servers / "plugin" / "src" / "skillkit_acceptance" / "plugin.py")
    axe = "" if only else axe_core(tmp_path_factory.mktemp("axe"))
    checks = [sys.executable, str(servers / "web" / "checks.py"), "--only", only, *(["--axe", axe] if axe else [])]
    checks += [word for path in POSTS for word in ("--post", path)]
    command = [*skillkit_cli.program, "-P", "acceptance", "web", "--port", "{port}", "--provider", "acceptance"]

    done = subprocess.run(
        [*checks, "--", *command],
        capture_output=True,
        text=True,
        cwd=skillkit_home.cwd,
        env=dict(os.environ),
        timeout=400,
    )

    assert done.returncode == 0 and " 0 failed" in done.stdout, done.stdout + done.stderr
    assert not axe or any(line.startswith("axe_") and line.endswith("ok") for line in done.stdout.splitlines())


def axe_core(folder):
    """Return axe.min.js of the package axe-core, which npm brings; an empty text: the rest of the checks goes on without it."""
    if given := os.environ.get("SKILLKIT_AXE"):
        return given
    fetch = ["npm", "pack", "--silent", "--pack-destination", str(folder), "axe-core@4.14.1"]
    done = subprocess.run(fetch, capture_output=True, text=True, timeout=120) if shutil.which("npm") else None
    if done is None or done.returncode:
        assert os.environ.get("CI") != "true", "npm does not bring axe-core: SKILLKIT_AXE may name its axe.min.js"
        return ""
    with tarfile.open(next(folder.glob("*.tgz"))) as packed:
        packed.extract("package/axe.min.js", folder, filter="data")
    return str(folder / "package" / "axe.min.js")


def test_the_page_is_modules_that_load_nothing_from_elsewhere():
    page = Path(find_spec("skillkit_web").origin).parent / "page"
    for part in page.iterdir():
        text = part.read_text()
        for way in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "http://",
        ):
            assert way not in text.replace("http://www.w3.org/", ""), f"{way} in {part.name}"
        assert "https://" not in text.replace("(https?:|mailto:)", ""), part.name


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING) and os.environ.get("CI") != "true", reason=MISSING)
def test_who_looks_on_is_shown_nothing_that_changes_something(serve):
    from playwright.sync_api import sync_playwright

    with serve("--share") as server, sync_playwright() as playwright:
        shared = server.process.stdout.readline().split()[-1]
        session = server.begin()
        program = next(path for path in CHROMIUM if os.path.exists(path))
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        shown = []
        for url in (server.url, shared):
            tab = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
            tab.goto(url)
            tab.goto(f"{url.partition('/?')[0]}/s/{session}")
            tab.get_by_text("What shall we do?").wait_for()
            tab.wait_for_function("document.getElementById('folders').childElementCount > 0")
            shown.append([tab.get_by_text(text).is_visible() for text in ("Use this model", "Enter sends", "Branches")])
        browser.close()

    assert shown == [[True, True, True], [False, False, True]]
