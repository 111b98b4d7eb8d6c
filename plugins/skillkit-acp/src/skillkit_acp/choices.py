"""What a person may choose in a session: how much is asked (modes), the model, how hard it thinks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from acp import schema as s
from skillkit_commands import Indicators, SlashCommands

from skillkit_core import SkillKitError, UnknownName, UsageError
from skillkit_core.contracts.adapter import ModelSettings, ThinkingLevel

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["choose", "commands_of", "mode_now", "modes_of", "options_of", "set_mode"]

_PLAN, _USUAL = "plan", "ask"
_ABOUT = {
    "ask": "Ask before what no rule allows",
    "accept-edits": "Change files in the workspace without asking",
    "read-only": "Change nothing",
    "bypass": "Ask about nothing",
    "plan": "Change nothing but the plan, until it is carried out",
}
_EDITORS = ("new", "resume")  # commands for which editors have conversations
_MOST = 300  # models that are listed
_DEFAULT = "default"


def commands_of(agent: AgentRunner) -> list[s.AvailableCommand]:
    """Return the slash commands that a person may type."""
    return [
        s.AvailableCommand(
            name=command.name,
            description=command.help or command.name,
            input=s.AvailableCommandInput(s.UnstructuredCommandInput(hint=command.arguments))
            if command.arguments
            else None,
        )
        for command in SlashCommands(agent).all()
        if command.name not in _EDITORS
    ]


# --- modes --------------------------------------------------------------------------------------------------------


def _modes(agent: AgentRunner) -> list[str]:
    commands = SlashCommands(agent)
    names = {command.name for command in commands.all()}
    modes = [found.label for found in commands.complete("/mode ")] if "mode" in names else []
    return [*modes, _PLAN] if _PLAN in names else modes


def mode_now(agent: AgentRunner) -> str:
    """Return the mode of a session: that of permissions, or ``plan``."""
    said = Indicators(agent).read()
    return _PLAN if said["activity"] == "PLAN" else said["mode"] or _USUAL


def modes_of(agent: AgentRunner) -> s.SessionModeState | None:
    """Return the modes and the one that counts; ``None`` where no plugin brings any."""
    modes = _modes(agent)
    if not modes:
        return None
    now = mode_now(agent)
    known = [
        s.SessionMode(id=name, name=_title(name), description=_ABOUT.get(name)) for name in dict.fromkeys([*modes, now])
    ]
    return s.SessionModeState(current_mode_id=now, available_modes=known)


async def set_mode(agent: AgentRunner, mode: str) -> None:
    """Let another mode count.

    Raises:
        UnknownName: there is no such mode. UsageError: it cannot be changed now.
    """
    known = _modes(agent)
    if mode not in known:
        raise UnknownName("mode", mode, known)
    planning = mode_now(agent) == _PLAN
    if planning != (mode == _PLAN):
        if agent.running:
            raise UsageError("planning begins and ends between runs", hint="cancel the run, or wait for its end")
        await _command(agent, "/plan" if mode == _PLAN else "/plan off")
    if mode != _PLAN:
        await _command(agent, f"/mode {mode}")


async def _command(agent: AgentRunner, line: str) -> None:
    commands = SlashCommands(agent)
    invocation = commands.match(line)
    assert invocation is not None
    await commands.run(invocation)


def _title(name: str) -> str:
    return name.replace("-", " ").capitalize()


# --- options ------------------------------------------------------------------------------------------------------


async def options_of(agent: AgentRunner) -> list[s.SessionConfigOptionSelect | s.SessionConfigOptionBoolean]:
    """Return the options of a session: mode, model, and thinking where the model can."""
    options: list[s.SessionConfigOptionSelect | s.SessionConfigOptionBoolean] = []
    if (modes := modes_of(agent)) is not None:
        values = [(mode.id, mode.name) for mode in modes.available_modes]
        options.append(_select("mode", "Mode", "mode", modes.current_mode_id, values))
    try:
        target = agent.target or await agent.find_target()
    except SkillKitError:
        return options  # said when it is asked
    model = target.model
    now = f"{model.provider}/{model.id}"
    names = dict.fromkeys([now, *await _models(agent.host)])
    options.append(_select("model", "Model", "model", now, [(name, name) for name in names]))
    if "reasoning" in model.capabilities:
        level = (agent.config.settings or ModelSettings()).thinking or _DEFAULT
        levels = [(name, _title(name)) for name in (_DEFAULT, *get_args(ThinkingLevel))]
        options.append(_select("thinking", "Thinking", "thought_level", level, levels))
    return options


def _select(
    name: str, title: str, category: Any, now: str, values: list[tuple[str, str]]
) -> s.SessionConfigOptionSelect:
    options = [s.SessionConfigSelectOption(value=value, name=shown) for value, shown in values]
    return s.SessionConfigOptionSelect(
        id=name, name=title, category=category, type="select", current_value=now, options=options
    )


async def _models(host: Host) -> list[str]:
    """Return the models of the providers that can be asked."""
    found = ((name, host.adapters.provider(name)) for name in host.adapters.list())
    usable = {name for name, item in found if item is not None and await host.adapters.find_usable(item)}
    return [name for name in host.models.list() if name.partition("/")[0] in usable][:_MOST]


async def choose(agent: AgentRunner, option: str, value: str | bool) -> None:
    """Choose a value of an option.

    Raises:
        UnknownName: there is no such option, mode or model. UsageError: the value does not fit.
    """
    if option == "mode":
        await set_mode(agent, str(value))
    elif option == "model":
        model = agent.host.models.get(str(value))
        if model is None:
            raise UnknownName("model", str(value), agent.host.models.list())
        agent.set_model(model.id, model.provider)
    elif option == "thinking":
        known = (_DEFAULT, *get_args(ThinkingLevel))
        if value not in known:
            raise UnknownName("thinking level", str(value), known)
        level: Any = None if value == _DEFAULT else value
        agent.configure(settings=replace(agent.config.settings or ModelSettings(), thinking=level))
    else:
        raise UnknownName("option", option, ["mode", "model", "thinking"])
