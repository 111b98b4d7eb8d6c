"""The command suite: help, exit codes and output of the commands that a plugin brings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import click
import pytest
from click.testing import CliRunner, Result

from skillkit_core import Host, SkillKitError
from skillkit_core.descriptors import Command, load_object

__all__ = ["CommandConformance"]

NAME = re.compile(r"[a-z][a-z0-9-]*( [a-z][a-z0-9-]*)?\Z")
MOST = 80  # characters of the line in a list of commands


class CommandConformance:
    """Subclass it, name the ``plugin``, and give the words of commands that work.

    Commands run in this process, each with a host that knows only the plugin.

    Attributes:
        plugin: the plugin, a module or an object with ``hookimpl`` methods.
        works: words of the command line, the command's name first, that end with 0.
        listings: words of those that list something, and take ``--json``.
        settings: settings of the host, by dotted key.
    """

    plugin: ClassVar[Any] = None
    works: ClassVar[Sequence[Sequence[str]]] = ()
    listings: ClassVar[Sequence[Sequence[str]]] = ()
    settings: ClassVar[dict[str, Any]] = {}

    @pytest.fixture
    def command_host(self, make_host: Callable[..., Host]) -> Host:
        """A host that knows only the plugin. Override it where a command needs more."""
        if self.plugin is None:
            raise NotImplementedError("give plugin = the plugin")
        return make_host(self.plugin, settings=self.settings)

    @pytest.fixture
    def brought(self, command_host: Host) -> dict[str, Command]:
        """The commands that the plugin registers, by name."""
        found = {entry.name: entry.item for entry in command_host.commands.entries()}
        assert found, "the plugin registers no command"
        return found

    def play(self, host: Host, words: Sequence[str]) -> Result:
        """Run a command as the command line does, with what it prints captured."""
        commands = {entry.name: entry.item for entry in host.commands.entries()}
        name = next((n for n in (" ".join(words[:2]), words[0]) if n in commands), None)
        assert name is not None, f"the plugin has no command {words[0]!r}"
        found = load_object(commands[name].target)
        state = SimpleNamespace(host=host, debug=False, options={})
        return CliRunner().invoke(found, list(words[len(name.split()) :]), obj=state, prog_name=f"skillkit {name}")

    def test_each_command_is_one_line_of_the_help(self, brought: dict[str, Command]) -> None:
        """The name in small letters and dashes, the help a sentence that fits beside it."""
        for name, command in brought.items():
            assert NAME.match(name), f"{name!r}: write small letters, digits and dashes"
            assert command.help.strip() and "\n" not in command.help, f"{name}: say in one line what it does"
            assert len(command.help) <= MOST, f"{name}: the help has {len(command.help)} characters"

    def test_each_command_can_be_imported_and_says_what_it_does(
        self, command_host: Host, brought: dict[str, Command]
    ) -> None:
        """``--help`` of it and of the commands below it."""
        for name, command in brought.items():
            found = load_object(command.target)
            assert isinstance(found, click.Command), f"{name}: {command.target} is no click command"
            for words, one in _below(name.split(), found):
                shown = self.play(command_host, [*words, "--help"])
                assert shown.exit_code == 0, f"{' '.join(words)} --help ended with {shown.exit_code}: {shown.output}"
                assert one.help or one.short_help, f"{' '.join(words)}: the command has no docstring"

    def test_each_option_says_what_it_is_for(self, brought: dict[str, Command]) -> None:
        """Options without a word of help are read in the source."""
        for name, command in brought.items():
            for words, one in _below(name.split(), load_object(command.target)):
                for option in one.params:
                    told = not isinstance(option, click.Option) or option.help or option.hidden
                    assert told, f"{' '.join(words)}: {option.opts[0]} has no help"

    def test_wrong_usage_ends_with_two(self, command_host: Host, brought: dict[str, Command]) -> None:
        """And with a line that says what is wrong."""
        for name in brought:
            done = self.play(command_host, [*name.split(), "--no-such-option"])
            assert done.exit_code == 2 and "no-such-option" in done.output, f"{name}: {done.exit_code} {done.output}"

    def test_what_works_ends_with_zero(self, command_host: Host) -> None:
        """Whatever goes wrong is an error of SkillKit or of click, and no traceback."""
        if not self.works:
            pytest.skip("no command line is known to work: give works = [[name, ...]]")
        for words in self.works:
            done = self.play(command_host, words)
            if isinstance(done.exception, SkillKitError):
                raise AssertionError(f"{' '.join(words)}: {done.exception}")
            if done.exception is not None and not isinstance(done.exception, SystemExit):
                raise done.exception
            assert done.exit_code == 0, f"{' '.join(words)} ended with {done.exit_code}: {done.output}"

    def test_what_is_piped_has_no_colours(self, command_host: Host) -> None:
        """``skillkit_core.cli.output.echo`` and ``style`` take care of that."""
        for words in (*self.works, *self.listings):
            assert "\x1b" not in self.play(command_host, words).output, f"{' '.join(words)} writes escape sequences"

    def test_each_listing_is_one_json_document(self, command_host: Host) -> None:
        """``--json``, for programs."""
        for words in self.listings:
            done = self.play(command_host, [*words, "--json"])
            assert done.exit_code == 0, f"{' '.join(words)} --json ended with {done.exit_code}: {done.output}"
            json.loads(done.stdout)


def _below(words: list[str], command: click.Command) -> Iterator[tuple[list[str], click.Command]]:
    """Yield a command with its words, and all commands below it."""
    yield words, command
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            yield from _below([*words, name], one)
