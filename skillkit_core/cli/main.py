"""The root command: global options, the commands of core and plugins, and the form of every error."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import click

from .. import __version__
from ..errors import PluginError, SkillKitError, UnknownName, UsageError
from ..program import as_typed, become, program
from ..settings.config import odd_variables
from .output import columns, echo, error_line, style, warning

if TYPE_CHECKING:
    from ..descriptors import Command
    from ..host.manager import Host
    from ..host.registry import Entry, Registry


CORE_COMMANDS = {
    "config": ("skillkit_core.cli.config:config", "Show, create and trust configuration."),
    "doctor": ("skillkit_core.cli.doctor:doctor", "Check the installation and say what to do."),
    "plugins": ("skillkit_core.cli.plugins:plugins", "List, inspect and check plugins."),
}
UNLISTED = "the commands of plugins are not listed"
EXIT_INTERRUPTED = 130
EXIT_SECONDS = 5.0  # time for the threads of plugins to end after the command
MAX_WIDTH = 100


class CliState:
    """The state of the root command, which is ``ctx.obj`` of every command.

    Attributes:
        debug: show tracebacks and debug logs.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.debug: bool = bool(options.get("debug"))
        self._host: Host | None = None

    @property
    def host(self) -> Host:
        """The host that the global options describe, made when it is first needed."""
        if self._host is None:
            self._host = self.new_host()
            for line in odd_variables(os.environ, (entry.name for entry in self._host.entries)):
                warning(line)
            if any(self.options.get(name) for name in ("distribution", "plugins", "switch", "only_default")):
                # An unknown name is an error, also where the command needs no plugin.
                _ = self._host.decisions
        return self._host

    def new_host(self) -> Host:
        """Return another such host, whose plugins are not loaded yet. The caller closes it."""
        from ..host.manager import Host

        wanted, bound = self.options.get("distribution"), program()
        if wanted not in (None, bound.distribution) and not bound.may_leave:
            runs = f"{bound.name} runs the distribution {bound.distribution!r}"
            raise UsageError(f"{runs} and no other: its policy says so")
        host = Host(wanted, selection=_selection(self.options))
        host.tell = warning
        return host

    def renew(self) -> None:
        """Let the host be made again when it is needed next, because what it is made of has changed."""
        self.close()
        self._host = None

    @cached_property
    def listing(self) -> Registry[Command]:
        """The commands of plugins, to list them: what runs one takes ``host.commands``."""
        from ..host.command_index import list_commands

        return list_commands(self.host)

    def close(self) -> None:
        """Shut the host down, if there is one."""
        if self._host is not None:
            self._host.close()


def _selection(options: dict[str, Any]) -> Any:
    from ..host.plan import Selection

    only = options.get("plugins")
    enable: dict[str, str] = {}
    disable: dict[str, str] = {}
    for item in options.get("switch") or ():
        off = item.startswith("no:")
        name = item.removeprefix("no:")
        if not name:
            raise UsageError(f"-P {item} names no plugin", hint="write -P NAME or -P no:NAME")
        (disable if off else enable)[name] = f"-P {item}"
        # The last switch of a plugin counts.
        (enable if off else disable).pop(name, None)
    names = tuple(n.strip() for n in only.split(",") if n.strip()) if only is not None else None
    return Selection(names, "--plugins", enable, disable, bool(options.get("only_default")))


def _state(ctx: click.Context) -> CliState:
    """Return the state of a context, made when click looks for the command, before it calls the root."""
    top = ctx.find_root()
    if not isinstance(top.obj, CliState):
        top.obj = CliState(dict(top.params))
    return cast(CliState, top.obj)


class Later(click.Command):
    """A command in the group of another plugin or of the core; the callback imports it when it is called."""

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Return the context of the command itself."""
        return cast(click.Context, cast(Any, self.callback)().make_context(*args, **options))


class Joined(dict[str, click.Command]):
    """The commands of a group, and those of plugins that join it: plugins are asked when a name is not the group's own."""

    def __init__(self, own: Mapping[str, click.Command], join: Callable[[], dict[str, click.Command]]) -> None:
        super().__init__(own)
        self._join = join

    def get(self, name: str, default: Any = None) -> Any:
        """Return the command called ``name``."""
        return self[name] if name in self else self._join().get(name, default)

    def __iter__(self) -> Iterator[str]:
        try:
            return iter([*self.keys(), *self._join()])
        except SkillKitError as error:  # help is shown all the same
            error_line(f"{error} ({UNLISTED})")
            return iter(self.keys())


class RootGroup(click.Group):
    """The root command, which imports a command when it is called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options, and show the help once all of them are known: they choose the plugins."""
        rest = super().parse_args(ctx, args)
        if ctx.params.pop("show_help") and not ctx.resilient_parsing:
            echo(ctx.get_help())
            ctx.exit()
        return rest

    def _offered(self, ctx: click.Context, group: str = "", own: Any = CORE_COMMANDS) -> dict[str, Entry[Command]]:
        """Return the plugins' commands of a ``group`` by name, and by address where the name is that of its ``own`` command."""
        state, n = _state(ctx), len(group)
        commands = state.host.commands if group and group[:-1] not in CORE_COMMANDS else state.listing
        found = [e for e in commands.entries() if e.name.startswith(group) and " " not in e.name[n:]]
        return {(e.address if e.name[n:] in own else commands.name_of(e))[n:]: e for e in found}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands of core and plugins, sorted."""
        shown = (name for name, entry_ in self._offered(ctx).items() if not entry_.item.hidden)
        return sorted({*CORE_COMMANDS, *shown})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the click command called ``name``."""
        from ..descriptors import load_object

        if name in CORE_COMMANDS:
            found = cast(click.Command, load_object(CORE_COMMANDS[name][0]))
        else:
            commands = _state(ctx).host.commands
            if name not in commands:
                return None
            entry_ = commands.entry(name)
            try:
                found = cast(click.Command, load_object(entry_.item.target))
            except (ImportError, PluginError) as error:
                raise SkillKitError(
                    f"command {name!r} cannot be loaded: {error}",
                    where=f"plugin {entry_.source!r}",
                    hint=_state(ctx).host.load().reinstall_hint(entry_.source),
                ) from error
        if isinstance(found, click.Group):
            found = copy(found)
            found.commands = Joined(found.commands, partial(self._joining, ctx, name, found.commands))
            found.resolve_command = partial(self._resolve, found.resolve_command, name)  # type: ignore[method-assign]
        return found

    def _joining(self, ctx: click.Context, group: str, own: Any) -> dict[str, click.Command]:
        """Return what plugins bring to a ``group``, by name."""
        offered = self._offered(ctx, f"{group} ", own)
        load = partial(self.get_command, ctx)
        return {
            word: Later(word, callback=partial(load, e.address), short_help=e.item.help, hidden=e.item.hidden)
            for word, e in offered.items()
        }

    def _resolve(self, resolve: Callable[..., Any], group: str, ctx: click.Context, args: list[str]) -> Any:
        """Resolve a command of a ``group`` as the group does, and say where one comes from that is missing."""
        try:
            return resolve(ctx, args)
        except click.UsageError:
            if hint := _state(ctx).host.plan.whence("commands", f"{group} {args[0]}"):
                raise UnknownName("command", args[0], hint=hint) from None
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does, but name close matches of an unknown one."""
        name = args[0]
        if name.startswith("-") or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        more = "others come with plugins, see 'skillkit plugins list'"
        hint = _state(ctx).host.plan.whence("commands", name)
        raise UnknownName("command", name, self.list_commands(ctx), hint=hint, elsewhere=more)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description and a command to begin with."""
        super().format_help_text(ctx, formatter)
        try:
            first = 'skillkit run "what is 15% of 80"' if "run" in self._offered(ctx) else "skillkit plugins list"
        except SkillKitError:  # format_commands prints the error
            first = "skillkit doctor"
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(as_typed(f"Try: {first}"))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one line per command, without importing the modules of plugins."""
        helps = {name: text for name, (_, text) in CORE_COMMANDS.items()}
        try:
            helps |= {name: e.item.help for name, e in self._offered(ctx).items() if not e.item.hidden}
        except SkillKitError as error:
            error_line(f"{error} ({UNLISTED})")
        rows = [(style(name, fg="cyan"), helps[name]) for name in sorted(helps)]
        with formatter.section(style("Commands", bold=True)):
            formatter.write_dl(rows)


def _version(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        echo(program().title or f"skillkit {__version__}")
        ctx.exit()


@click.group(
    cls=RootGroup,
    add_help_option=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MAX_WIDTH},
    invoke_without_command=True,
)
@click.option("--plugins", metavar="A,B", help="Run exactly these plugins.")
@click.option("-P", "switch", multiple=True, metavar="[no:]NAME", help="Enable a plugin, or disable it with no:.")
@click.option("--only-default-plugins", "only_default", is_flag=True, help="Only what the distribution lists.")
@click.option("--distribution", metavar="NAME|FILE", help="Run this distribution.")
@click.option("--debug", is_flag=True, envvar="SKILLKIT_DEBUG", help="Show tracebacks and debug logs.")
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version and exit."
)
@click.option("-h", "--help", "show_help", is_flag=True, help="Show this message and exit.")
@click.pass_context
def root(ctx: click.Context, /, **options: Any) -> None:
    """SkillKit runs skills and agents; every capability is a plugin."""
    ctx.call_on_close(_state(ctx).close)
    if options["debug"]:
        import logging

        logging.basicConfig(level=logging.DEBUG, format="%(levelname)s %(name)s: %(message)s")
    if ctx.invoked_subcommand is None:
        at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        name = next((e.name for e in ctx.obj.listing.entries() if e.item.opens), None) if at_terminal else None
        command = cast(RootGroup, ctx.command).get_command(ctx, name) if name else None
        if name and command is not None:
            with command.make_context(name, [], parent=ctx) as opened:
                command.invoke(opened)
        else:
            echo(ctx.get_help())


def run(argv: Sequence[str], bind: Callable[[], None] = lambda: None) -> int:
    """Run the command line and return its exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted.

    ``bind`` is called first, and binds the process to a distribution.
    """
    debug = "--debug" in argv or bool(os.environ.get("SKILLKIT_DEBUG"))
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the caller closed it, and writing is no error
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - lives as long as the process
    try:
        bind()
        become(program()._replace(command_line=True))
        code = _invoke(list(argv))
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        echo("", err=True)
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        return _click_error(error)
    except SkillKitError as error:
        if debug:
            raise
        error_line(str(error))
        return error.exit_code
    except BrokenPipeError:
        _silence_stdout()
        return 0
    except OSError as error:
        if debug:
            raise
        place = f"{error.filename}: " if error.filename else ""
        error_line(f"{place}{error.strerror or error}")
        _silence_stdout()
        return 1
    except Exception as error:
        if debug:
            raise
        text = " ".join(str(error).split())
        error_line(f"internal error: {type(error).__name__}: {text}; run with --debug for the traceback and report it")
        return 1
    except BaseException as error:
        if debug or type(error).__name__ != "CancelledError":  # asyncio is not imported for its name
            raise
        error_line("a plugin cancelled the tasks of this command; find it with -P no:NAME")
        return 1


def _invoke(argv: list[str]) -> Any:
    """Call the root command. Click's own ``main`` serves only shell completion, because it reports a broken pipe as an error."""
    if f"_{program().name.replace('-', '_').upper()}_COMPLETE" in os.environ:
        return root.main(args=argv, prog_name=program().name)
    with root.make_context(program().name, argv, terminal_width=min(MAX_WIDTH, columns())) as ctx:
        return root.invoke(ctx)


def _click_error(error: click.ClickException) -> int:
    """Print click's error in one line and return the exit code. A group without a command shows its help."""
    ctx = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError" and ctx is not None:  # as click before 8.2
        echo(ctx.get_help())
        return 0
    text = " ".join(error.format_message().split()).rstrip(".")
    ctx = ctx or _parsing(error)
    path = ctx.command_path if ctx is not None else program().name
    error_line(f"{text} (see '{path} --help')")
    return 2


def _parsing(error: BaseException) -> click.Context | None:
    """Return the context of the command whose words were parsed. Click leaves it out of some errors of its parser."""
    found, trace = None, error.__traceback__
    while trace is not None:
        ctx = trace.tb_frame.f_locals.get("ctx")
        found = ctx if isinstance(ctx, click.Context) else found
        trace = trace.tb_next
    return found


def _silence_stdout() -> None:
    """Send stdout to the null device: nobody reads it or it cannot be written, and Python would complain at exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)


def _leave_in_time(code: int) -> None:
    """End the process after a while, also when a plugin's thread does not end."""
    threading = sys.modules.get("threading")
    if threading is None:
        return
    main = threading.main_thread()
    left = [thread.name for thread in threading.enumerate() if thread is not main and not thread.daemon]
    if not left:
        return

    def leave() -> None:
        error_line(f"left without waiting for what does not end: {', '.join(left)}")
        sys.stderr.flush()
        os._exit(code)

    timer = threading.Timer(EXIT_SECONDS, leave)
    timer.daemon = True
    timer.start()


def entry(bind: Callable[[], None] = lambda: None) -> None:
    """Run the console script, and end the process. ``bind`` binds it to a distribution."""
    gc.set_threshold(100_000, 10, 10)  # a short command ends before a search for cycles finds any
    code = run(sys.argv[1:], bind)
    _leave_in_time(code)
    # Looking through every object for cycles at exit would take a tenth of a short command.
    gc.freeze()
    sys.exit(code)
