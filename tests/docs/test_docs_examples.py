"""Every example of the documentation runs as it is printed.

The blocks of a page share a directory and an empty home; its Python blocks share a namespace. ``<!-- no-run: reason -->`` on
the line before a block leaves it out, ``<!-- file: path -->`` writes it to a file, ``<!-- output -->`` compares it with what
the block before printed (``...`` stands for anything in a line, alone for any lines). ``<!-- uses: page -->`` writes the files
of another page first.

The README, the tutorials, and pages that a change touches, or whose package it touches, are always run. Of the others a plain
run takes a sample, ``-m "slow or not slow"`` all: that commands do what the pages say is proved by the tests of their packages.
"""

import contextlib
import importlib.util
import io
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
import traceback
import types
from pathlib import Path

import pytest
import yaml
from markdown_blocks import ROOT, Block, blocks, pages, used

from skillkit_core import Host, SkillSource
from skillkit_core.host.discovery import scan
from skillkit_core.host.distribution import read_distribution

SECONDS = 180
RUN_ELSEWHERE = 2  # the README's first blocks bring up an environment of their own: .ci/readme_commands.py runs them


def runnable(page: Path) -> list[Block]:
    found = [block for block in blocks(page) if block.no_run is None]
    return found[RUN_ELSEWHERE:] if page == ROOT / "README.md" else found


def touched() -> tuple[list[Path], list[Path]]:
    """The pages with blocks to run: those that are always run, and the others."""
    spec = importlib.util.spec_from_file_location("changes", ROOT / ".ci" / "changes.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    paths = module.changed_paths(None)
    always: list[Path] = []
    others: list[Path] = []
    for page in filter(runnable, pages()):
        name = str(page.relative_to(ROOT))
        package = f"{page.parent.relative_to(ROOT)}/" if name.startswith(("plugins/", "skills/")) else name
        kept = name == "README.md" or name.startswith("docs/tutorial/") or paths is None
        (always if kept or any(p.startswith(package) and "/tests/" not in p for p in paths) else others).append(page)
    return always, others


ALWAYS, OTHERS = touched()


def left_out() -> list[Block]:
    return [block for page in pages() for block in blocks(page) if block.no_run is not None]


class Page:
    """Runs the blocks of one page."""

    def __init__(self, folder: Path, config: Path, program: Path) -> None:
        self.folder = folder
        self.config = config
        self.program = program
        self.module = types.ModuleType("skillkit_docs_page")
        self.printed: str | None = None

    def run(self, block: Block) -> None:
        if block.file:
            self.write(block)
        elif block.output:
            self.compare(block)
        elif block.language in ("sh", "python"):
            self.printed = self.shell(block) if block.language == "sh" else self.python(block)
        elif block.language in ("yaml", "toml", "json"):
            getattr(self, block.language)(block)

    def write(self, block: Block) -> None:
        path = self.folder / str(block.file)
        assert path.resolve().is_relative_to(self.folder), f"{block.file} is outside the page's directory"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        if path.suffix == ".py":
            compile(block.text, block.where, "exec")
        if path.suffix == ".toml":
            tomllib.loads(block.text)
        if path.name == "distribution.yaml":
            read_distribution(path, scan())

    def shell(self, block: Block) -> str:
        folders = dict.fromkeys([self.program.parent, Path(sys.executable).parent])
        path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
        started = subprocess.Popen(
            ["bash", "-eu", "-o", "pipefail", "-c", block.text],
            cwd=self.folder, env={**os.environ, "PATH": path, "PYTHONFAULTHANDLER": "1"}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            out, err = started.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            running = subprocess.run(["ps", "-eo", "pid,ppid,stat,etimes,args"], capture_output=True, text=True).stdout
            os.killpg(started.pid, signal.SIGABRT)  # whatever hangs prints where
            out, err = started.communicate(timeout=SECONDS)
            pytest.fail(f"did not end within {SECONDS} s\n{out}{err}\n--- what ran\n{running}")
        assert started.returncode == 0, f"ended with {started.returncode}\n{out}{err}"
        return out

    def python(self, block: Block) -> str:
        out = io.StringIO()
        line = "\n" * block.line  # tracebacks name the page's own lines
        with contextlib.redirect_stdout(out):
            exec(compile(line + block.text, str(block.page), "exec"), vars(self.module))
        return out.getvalue()

    def compare(self, block: Block) -> None:
        assert self.printed is not None, "there is no block before that printed something"
        pattern = "\n".join(map(self.pattern, block.text.splitlines()))
        printed = "\n".join(line.rstrip() for line in self.printed.splitlines())
        assert re.fullmatch(pattern, printed, re.S), f"the block before printed\n{printed}"

    @staticmethod
    def pattern(line: str) -> str:
        if line == "...":
            return ".*"
        return "[^\n]*".join(re.escape(part) for part in line.rstrip().split("..."))

    def yaml(self, block: Block) -> None:
        data = yaml.safe_load(block.text)
        if block.check == "none":
            return
        assert isinstance(data, dict), "YAML examples are distributions, configuration or the head of a SKILL.md"
        if "schema_version" in data:
            path = self.folder / "example-distribution.yaml"
            path.write_text(block.text)
            read_distribution(path, scan())
        elif "description" in data:
            self.skill(data["name"], block.text)
        else:
            self.config.parent.mkdir(parents=True, exist_ok=True)
            self.config.write_text(block.text)
            host = Host(cwd=self.folder)
            host.check_config()
            host.close()
            self.config.unlink()

    def skill(self, name: str, head: str) -> None:
        from skillkit_skills import SkillFolderLoader

        folder = self.folder / "example-skills" / name
        (folder / "scripts").mkdir(parents=True, exist_ok=True)
        for script in re.findall(r"script: *(scripts/[\w.-]+)", head):
            (folder / script).write_text("")
        (folder / "SKILL.md").write_text(f"---\n{head}---\nBody.\n")
        found = SkillFolderLoader().load(SkillSource("docs", "user", folder.parent))
        wrong = [*found.problems, *(p for s in found.skills for p in s.problems)]
        assert name in [s.name for s in found.skills] and not wrong, wrong

    def toml(self, block: Block) -> None:
        tomllib.loads(block.text)

    def json(self, block: Block) -> None:
        try:
            json.loads(block.text)
        except ValueError:
            for line in block.text.splitlines():
                json.loads(line)


@pytest.fixture
def run(skillkit_home, skillkit_cli, monkeypatch):
    program = Path(skillkit_cli.program[0])
    page = Page(skillkit_home.cwd.resolve(), skillkit_home.config_dir / "config.yaml", program)
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(page.folder))
    monkeypatch.setitem(sys.modules, page.module.__name__, page.module)
    yield page.run
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(page.folder)):
            del sys.modules[name]


@pytest.mark.always
@pytest.mark.parametrize("page", [pytest.param(p, id=str(p.relative_to(ROOT))) for p in ALWAYS])
def test_the_examples_of_the_page_run(page, run):
    examples(page, run)


@pytest.mark.sample(15)
@pytest.mark.parametrize("page", [pytest.param(p, id=str(p.relative_to(ROOT))) for p in OTHERS])
def test_the_examples_of_a_page_that_is_as_it_was_run(page, run):
    examples(page, run)


def examples(page, run):
    for name, text in used(page).items():
        path = Path.cwd() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for block in runnable(page):
        try:
            run(block)
        except pytest.skip.Exception:
            raise
        except BaseException as error:
            said = str(error) if isinstance(error, AssertionError) else traceback.format_exc()
            pytest.fail(f"{block.where}: {said}\n--- the block\n{block.text}", pytrace=False)


@pytest.mark.parametrize("block", [pytest.param(b, id=b.where) for b in left_out()])
def test_a_block_that_is_not_run_says_why(block):
    assert len(str(block.no_run).split()) >= 2, f"{block.where}: say why it cannot run"
    pytest.skip(f"{block.where}: {block.no_run}")


def test_the_readme_begins_with_the_main_job_and_the_tests():
    first, second = blocks(ROOT / "README.md")[:RUN_ELSEWHERE]
    assert first.language == second.language == "sh"
    assert first.no_run is None and "skillkit run" in first.text
    assert second.no_run is None and "pytest" in second.text


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return {
        re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", text, re.M)
    }


@pytest.mark.parametrize("page", [pytest.param(p, id=str(p.relative_to(ROOT))) for p in pages()])
def test_the_links_of_the_page_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`", "", text)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.relative_to(ROOT)}: the link {target!r} leads nowhere"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{page.relative_to(ROOT)}: {file.name} has no heading #{anchor}"
