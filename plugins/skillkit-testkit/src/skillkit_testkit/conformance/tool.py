"""The tool suite: a model can read what a tool is, a guard what it touches, and no call brings the loop down."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest

from skillkit_core import Host, PluginError, Tool
from skillkit_core.descriptors import load_object
from skillkit_core.host.json_schema import unchecked
from skillkit_core.testing import Call

from .running import results_of

__all__ = ["ToolConformance"]

MUTATES = ("none", "files", "world")
NAMES_ARGUMENTS = ("paths", "command", "host")
UNEXPECTED = re.compile(r"[A-Za-z_.]*(Error|Exception|Exit|Interrupt)\b")
ODD = ("", " ", "\x00", "🌨 \u202e", "a" * 10_000, "../../etc/passwd", "'; true; '")


class ToolConformance:
    """Subclass it, and name the ``plugin``; with ``calls`` its tools run, too.

    Attributes:
        plugin: the plugin, a module or an object with ``hookimpl`` methods.
        calls: name of a tool to the arguments of a call that works; the call runs for real, several times.
        settings: settings of the host, by dotted key.
    """

    plugin: ClassVar[Any] = None
    calls: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    settings: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture
    def tool_host(self, make_host: Callable[..., Host]) -> Host:
        """A host that knows only the plugin, in which every tool is allowed. Override it where a tool needs more."""
        if self.plugin is None:
            raise NotImplementedError("give plugin = the plugin")
        return make_host(self.plugin, settings={"tools.allow": sorted(self.calls), **self.settings})

    @pytest.fixture
    def offered(self, tool_host: Host) -> Sequence[Tool]:
        """The tools that the plugin registers; those of a ``ToolSet`` come with an agent."""
        tools = [entry.item for entry in tool_host.tools.entries() if isinstance(entry.item, Tool)]
        assert not [problem for problem in tool_host.problems if problem.severity == "error"], tool_host.problems
        return tools

    def _callable(self, offered: Sequence[Tool]) -> Iterator[tuple[Tool, Mapping[str, Any]]]:
        if not self.calls:
            pytest.skip("no call is known to work: give calls = {tool: arguments}")
        by_name = {tool.name: tool for tool in offered}
        assert set(self.calls) <= set(by_name), f"calls names {sorted(set(self.calls) - set(by_name))}: no such tool"
        for name, args in self.calls.items():
            yield by_name[name], args

    def test_a_model_reads_what_each_tool_does(self, offered: Sequence[Tool]) -> None:
        """A name alone is no description, and a page is none either: it is part of each request."""
        for tool in offered:
            said = tool.description.strip()
            assert said and said.casefold() != tool.name.casefold(), f"{tool.name}: say what the tool does"
            assert len(said) <= 4_000, f"{tool.name}: the description has {len(said)} characters"

    def test_a_model_reads_what_each_argument_is(self, offered: Sequence[Tool]) -> None:
        """Each argument has a type, a list of values, or a description; what is required exists."""
        for tool in offered:
            known = tool.parameters.get("properties", {})
            for name, schema in known.items():
                told = {"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "description"} & set(schema)
                assert told, f"{tool.name}: {name} has neither a type nor a description"
            missing = set(tool.parameters.get("required", ())) - set(known)
            assert not missing, f"{tool.name}: {sorted(missing)} are required, and no properties"

    def test_what_the_schema_says_is_checked(self, offered: Sequence[Tool]) -> None:
        """The core checks the usual keywords of JSON Schema; a tool must not rely on another one."""
        for tool in offered:
            assert not (odd := sorted(unchecked(tool.parameters))), f"{tool.name}: nobody checks {odd}"

    def test_guards_read_what_each_tool_touches(self, offered: Sequence[Tool]) -> None:
        """``mutates`` is one of its three words, and ``paths``, ``command`` and ``host`` name arguments."""
        for tool in offered:
            facts, known = tool.annotations, set(tool.parameters.get("properties", {}))
            assert facts.get("mutates") in MUTATES, f"{tool.name}: annotations['mutates'] is none, files or world"
            for fact in NAMES_ARGUMENTS:
                named = facts.get(fact, ())
                named = {named} if isinstance(named, str) else set(named)
                named = {name for name in named if fact != "host" or "://" not in name}  # an address, always the same
                assert named <= known, f"{tool.name}: {fact} names {sorted(named - known)}, which are no arguments"

    def test_what_runs_can_be_imported(self, offered: Sequence[Tool]) -> None:
        """An import string that leads nowhere would fail in the middle of a run."""
        for tool in offered:
            try:
                found = load_object(tool.execute)
            except (ImportError, PluginError) as error:
                raise AssertionError(f"{tool.name}: {tool.execute!r} cannot be imported: {error}") from error
            assert callable(found), f"{tool.name}: {tool.execute!r} cannot be called"

    def test_a_call_that_works_gives_the_model_a_text(self, tool_host: Host, offered: Sequence[Tool]) -> None:
        """An empty result leaves a model without a hold."""
        for tool, args in self._callable(offered):
            (result,) = results_of(tool_host, [Call(tool.name, args)])
            assert result.outcome == "ok", f"{tool.name}: {result.text}"
            assert result.text.strip(), f"{tool.name}: the model reads nothing"
            result.text.encode()

    def test_calls_of_one_answer_run_side_by_side(self, tool_host: Host, offered: Sequence[Tool]) -> None:
        """A model may call a tool several times at once."""
        for tool, args in self._callable(offered):
            results = results_of(tool_host, [Call(tool.name, args)] * 3)
            assert [r.outcome for r in results] == ["ok"] * 3, f"{tool.name}: {[r.text for r in results]}"

    def test_a_missing_argument_never_reaches_the_tool(self, tool_host: Host, offered: Sequence[Tool]) -> None:
        """What a tool cannot do without is ``required``, so that the model is told before anything runs."""
        for tool, args in self._callable(offered):
            for name in tool.parameters.get("required", ()):
                (result,) = results_of(tool_host, [Call(tool.name, {k: v for k, v in args.items() if k != name})])
                assert result.outcome == "error" and name in result.text, f"{tool.name} without {name}: {result}"

    @pytest.mark.parametrize("odd", ODD, ids=["empty", "blank", "null", "odd", "long", "outside", "quoted"])
    def test_an_odd_text_gives_a_result_or_a_failure_in_words(
        self, tool_host: Host, offered: Sequence[Tool], odd: str
    ) -> None:
        """``ToolError`` is for what a model can mend. Only tools that change nothing are tried."""
        for tool, args in self._callable(offered):
            if tool.annotations.get("mutates") != "none" or tool.annotations.get("network"):
                continue
            for name, value in args.items():
                if isinstance(value, str):
                    (result,) = results_of(tool_host, [Call(tool.name, {**args, name: odd})])
                    unexpected = result.outcome == "error" and UNEXPECTED.match(result.text)
                    assert not unexpected, f"{tool.name}, {name}={odd[:20]!r}: {result.text}; raise ToolError instead"
                    result.text.encode()

    def test_nothing_is_left_of_the_plugin(self, tool_host: Host, offered: Sequence[Tool]) -> None:
        """Plugins come and go while a host runs."""
        for name in list(tool_host.plugins):
            tool_host.remove_plugin(name)
        assert tool_host.tools.list() == []
