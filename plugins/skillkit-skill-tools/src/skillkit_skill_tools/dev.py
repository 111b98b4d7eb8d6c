"""``skillkit skills dev``: show each change of a skill, its problems, and its tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .testing import asked, asking, host_options, path_of, run_tests, skill_place

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.skills import Skill

__all__ = ["dev"]


@click.command()
@skill_place
@asking
@click.pass_context
def dev(ctx: click.Context, path: Path, model: str | None, provider: str | None) -> None:
    """Show each change of the skills below PATH, or of the skill NAME, their problems and their tests, until Ctrl-C.

    The tests (evals/tests.yaml) of a skill run whenever one of its files changes; see 'skillkit skills test'.
    """
    import asyncio

    path = path_of(ctx.obj.host, path)
    folder = (path.parent if path.is_file() else path).absolute()
    asyncio.run(_Development(ctx.obj.host, folder, model, provider).work())


class _Development:
    """What is shown of the skills in a folder."""

    def __init__(self, host: Host, folder: Path, model: str | None, provider: str | None) -> None:
        self._host, self._folder = host, folder
        self._config, self._options = asked(model, provider), host_options(host)

    async def work(self) -> None:
        """Show the skills now, and again after each change."""
        from skillkit_core.cli.output import echo, warning

        from .config import WatchConfig
        from .folder_watch import FolderWatch

        config = self._host.config.section("watch") or WatchConfig()
        watch = FolderWatch(lambda: [self._folder], warning, config, whole=True)
        first = True
        async for changed in watch.changes():
            if not first:
                names = ", ".join(str(Path(p).relative_to(self._folder)) for p in changed[:3])
                echo(f"\nchanged: {names}{f' and {len(changed) - 3} more' if len(changed) > 3 else ''}")
            await self._show([] if first else changed)
            await watch.accept()
            echo("Waiting for changes; Ctrl-C ends.")
            first = False

    async def _show(self, changed: list[str]) -> None:
        """Show what is wrong with the skills, and run the tests of those that ``changed`` belongs to; empty: of all."""
        from skillkit_skills import SkillFolderLoader, located, print_problems

        from skillkit_core.cli.output import echo
        from skillkit_core.contracts.skill_loader import SkillSource

        # a loader of its own each time: one that read before would keep the last good version, which is not what is tested
        found = SkillFolderLoader().load(SkillSource("dev", "extra", self._folder, trusted=True))
        if found.problems:
            print_problems(located(found.problems), folder=self._folder)
        for skill in found.skills:
            if not changed or any(Path(p).is_relative_to(skill.path or "") for p in changed):
                await self._one(skill)
        if not found.skills and not found.problems:
            echo(f"There is no folder with a SKILL.md in {self._folder}.")

    async def _one(self, skill: Skill) -> None:
        from skillkit_skill_packages import scan_skill
        from skillkit_skills import located, print_problems

        from skillkit_core.cli.output import echo, error_line, style
        from skillkit_core.errors import SkillKitError

        from .case_runs import SkillTester

        problems = located([*skill.problems, *scan_skill(skill)])
        echo(f"{style(skill.name, bold=True)}: {len(problems) or 'no'} problem{'' if len(problems) == 1 else 's'}")
        print_problems(problems, folder=skill.path)
        if any(p.severity == "error" and p.code != "description-missing" for p in problems):
            echo("tests wait until the errors are mended")
            return
        try:
            outcomes: list[Any] = await run_tests(SkillTester(skill, self._config, **self._options))
        except SkillKitError as error:
            error_line(str(error))
            return
        failed = sum(bool(o.failures) for o in outcomes)
        count = f"{len(outcomes)} test{'' if len(outcomes) == 1 else 's'}, {failed} failed"
        echo(count if outcomes else "no tests (evals/tests.yaml)")
