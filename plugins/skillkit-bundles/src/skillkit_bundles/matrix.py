"""The matrix: every feature of each format, and what it is here. ``docs/generate_bundles.py`` writes the page.

A test holds the rows to what the readers know: a field, an event or a kind without a row fails it.
"""

from __future__ import annotations

from typing import NamedTuple

from .formats.hook_files import CLAUDE_EVENTS, CODEX_EVENTS, COPILOT_EVENTS

__all__ = ["MATRIX", "Row", "page"]


class Row(NamedTuple):
    """One feature.

    Attributes:
        feature: as the format calls it.
        here: what it is here; what has no effect says what is reported instead.
        works: whether it has an effect.
    """

    feature: str
    here: str
    works: bool = True


_HOOKS = "handed to the plugin that runs hooks (`skillkit-shell-hooks`), once a person has consented to its text"
_SAID = "no effect; named by file in `bundles show`"

MATRIX: dict[str, tuple[Row, ...]] = {
    "Agent Plugins 1.0.0": (
        Row("`plugin.json`: `$schema`, `name`", "required; another version or name does not load"),
        Row(
            "`version`, `description`, `author`, `homepage`, `repository`, `license`, `keywords`",
            "shown; a wrong type does not load",
        ),
        Row("`extensions`", _SAID, works=False),
        Row("unknown fields", "no effect; reported", works=False),
        Row("`skills/NAME/SKILL.md`", "skill `bundle:NAME`; one that does not conform is skipped and reported"),
        Row("`mcp.json`", "MCP servers `bundle:SERVER`; each wrong one is skipped and reported"),
        Row("`${PLUGIN_ROOT}`, `${PLUGIN_DATA}` in args, env, cwd", "filled in; nothing else is"),
        Row("`com.vendor/`", "not read", works=False),
    ),
    "Claude Code: manifest": (
        Row("`name`", "the prefix of everything in it; from the marketplace or the folder where there is no manifest"),
        Row("`version`, `description`", "shown; what is installed is pinned by a digest, not by the version"),
        Row(
            "`displayName`, `homepage`, `license`, `repository`, `keywords`, `author`, `$schema`", "checked, not shown"
        ),
        Row("`defaultEnabled`", "installed and switched off where it is false"),
        Row("`skills`", "adds to `skills/`"),
        Row("`commands`, `agents`", "replace their folders; a folder that is not read is reported"),
        Row(
            "`hooks`, `mcpServers`", "add to `hooks/hooks.json` and `.mcp.json`; a file that is named twice counts once"
        ),
        Row(
            "`userConfig`",
            "`skillkit bundles set`; answers that are `sensitive` come from the environment and are not kept",
        ),
        Row(
            "`dependencies`",
            "each that is missing is offered from the same marketplace, and asked about; version ranges are not checked",
        ),
        Row(
            "`lspServers`, `workflows`, `outputStyles`, `channels`, `experimental`, `themes`, `monitors`",
            _SAID,
            works=False,
        ),
        Row("`metadata`", "never read", works=False),
        Row("unknown fields", "no effect; reported", works=False),
        Row("a known field of a wrong type, a path that leaves the plugin", "the plugin does not load"),
    ),
    "Claude Code: components": (
        Row(
            "skills",
            "skills under `bundle:name`, in lists, `/`, `activate_skill`; the bare name works while nothing else has it",
        ),
        Row("commands", "slash commands `/bundle:name`, subfolders are parts of the name"),
        Row(
            "agents",
            "agents of `spawn_agent` under `bundle:name`; `hooks`, `mcpServers`, `permissionMode` are ignored and reported",
        ),
        Row(
            "MCP servers",
            "servers `bundle:SERVER` of `skillkit mcp`; tools are `mcp__plugin_BUNDLE_SERVER__TOOL`, and always asked about",
        ),
        Row("`.mcpb` and `.dxt` packages of servers", _SAID, works=False),
        Row("hooks", _HOOKS),
        Row("`bin/`", "at the end of `PATH` of commands, so that nothing of the system is hidden"),
        Row("`settings.json`", "no effect; `permissions` and every other key are reported", works=False),
        Row("lsp, monitors, output styles, themes, workflows", _SAID, works=False),
        Row("`CLAUDE.md`", "never read, as there; reported", works=False),
        Row("components beside the manifest", "not found, as there; reported", works=False),
        Row("`package-lock.json`, `bun.lock`", "nothing is installed by itself; reported", works=False),
        Row("links", "followed inside the bundle; those that lead out are left out and reported"),
    ),
    "Claude Code: commands": (
        Row("`description`, `argument-hint`", "shown in `/` and help"),
        Row(
            "`$ARGUMENTS`, `$ARGUMENTS[N]`, `$N` from 0, named arguments",
            "put in once; what is put in is not looked through again",
        ),
        Row(
            "`` !`command` ``, a block of ```` ```! ````",
            "a call of the tool `bash`, under every guard; one that may not run, or fails, aborts the command",
        ),
        Row("`@path`", "the file, read by the tool `read` under every guard, if it lies in the project"),
        Row("`allowed-tools`", "spares questions until the run of the command ends; deny and ask rules win"),
        Row("`disallowed-tools`", "refused until the run of the command ends"),
        Row("`model`", "the model of that run, if it is known here (`bundles.model_aliases`)"),
        Row("`disable-model-invocation`, `user-invocable`", "who may call it"),
        Row("`effort`, `context`, `agent`, `hooks`, `paths`, `shell`", "no effect on a command; reported", works=False),
    ),
    "Claude Code: variables": (
        Row(
            "`${CLAUDE_PLUGIN_ROOT}`, `${CLAUDE_PLUGIN_DATA}`, `${CLAUDE_PROJECT_DIR}`",
            "in texts of skills, commands and agents, in servers, and for hooks",
        ),
        Row("`${CLAUDE_SESSION_ID}`", "in texts of commands"),
        Row("`${user_config.KEY}`", "in servers and arguments of hooks; in a shell command it is refused and reported"),
    ),
    "Claude Code: marketplaces": (
        Row("a path, also under `metadata.pluginRoot`", "from the marketplace's root; one that leaves it is refused"),
        Row("`github`, `url`, `git-subdir`", "fetched with git, nothing is checked out; `sha` before `ref`"),
        Row("`npm`", "`npm pack`, without scripts; `registry` of a marketplace is refused"),
        Row("`archive`", "over https, only with `sha256`"),
        Row("`command`", "never run; shown with its text", works=False),
        Row("unknown sources", "the entry is refused with its kind, the others stay", works=False),
        Row(
            "`strict: false`",
            "the entry is the definition; a manifest with components is a conflict, and does not load",
        ),
        Row("`renames`", "followed; loops and dead ends are reported"),
        Row("`allowCrossMarketplaceDependenciesOn`, `relevance`", "no effect", works=False),
    ),
    "Codex": (
        Row(
            "manifest in `.codex-plugin/`, `.claude-plugin/`, `.cursor-plugin/`, or the root with `$schema`",
            "in this order, the root first",
        ),
        Row("`skills`", "skills at any depth"),
        Row("`commands/`", "those with a description and no template; of the others is said why not"),
        Row("hooks", f"{_HOOKS}; the manifest's replace `hooks/hooks.json`"),
        Row("`.mcp.json`", "MCP servers"),
        Row("`.app.json`, `apps`", _SAID, works=False),
        Row("`agents/`", "not read, as there; reported: `--as claude` reads them", works=False),
        Row("`interface`, `policy`", "no effect", works=False),
    ),
    "Copilot": (
        Row("manifest in `.plugin/`, the root, `.github/plugin/`, `.claude-plugin/`", "in this order"),
        Row("`agents/NAME.agent.md`, `skills/`", "agents and skills"),
        Row("`commands`", "only if the manifest lists them; else reported"),
        Row("`hooks.json`, `hooks/hooks.json`", f"{_HOOKS}; the flat camelCase form is brought into Claude Code's"),
        Row("`powershell`", "no effect; reported", works=False),
        Row("`.mcp.json`, `.github/mcp.json`", "MCP servers; of one name the last counts"),
        Row("`lsp.json`, `extensions`", _SAID, works=False),
    ),
    "Handlers of hooks": (
        Row("`command`, `http`, `mcp_tool`, `prompt`, `agent`", _HOOKS),
        Row(
            "an unknown type, a handler without what it needs, a list without inner `hooks`",
            "never runs; reported",
            works=False,
        ),
        Row("`prompt` and `agent` on `SessionStart` and `Setup`", "never run, as there; reported", works=False),
        Row("`async`, `asyncRewake`", "shown as async hooks; handed on", works=True),
        Row("a script that is missing, a matcher that is no regular expression", "reported when the bundle is read"),
    ),
}


def page() -> str:
    """Return the page of the matrix."""
    lines = [
        "# What bundles of other hosts become",
        "",
        "<!-- Written by docs/generate_bundles.py from skillkit_bundles.matrix. Do not edit it here. -->",
        "",
        "Every feature of each format, what it is in SkillKit, and what has no effect. Nothing is dropped in silence: what has",
        "no effect is named, with its file, by `skillkit bundles add` and `skillkit bundles show`.",
        "[How to use bundles](../how-to/use-bundles.md) is the walk-through.",
    ]
    for title, rows in MATRIX.items():
        lines += ["", f"## {title}", "", "| feature | works | here |", "| --- | --- | --- |"]
        lines += [f"| {row.feature} | {'yes' if row.works else 'no'} | {row.here} |" for row in rows]
    own = {event: [name for name, one in COPILOT_EVENTS.items() if one == event] for event in CLAUDE_EVENTS}
    lines += [
        "", "## Events of hooks", "",
        "The events that the readers know, and who has them. An unknown event is reported, and its hooks never run. Which",
        "of these events happen here is in the README of the package that runs hooks.", "",
        "| event | Codex | Copilot's own spelling |", "| --- | --- | --- |",
    ]  # fmt: skip
    for event in sorted(CLAUDE_EVENTS):
        spelled = ", ".join(f"`{name}`" for name in own[event])
        lines.append(f"| `{event}` | {'yes' if event in CODEX_EVENTS else ''} | {spelled} |")
    return "\n".join(lines) + "\n"
