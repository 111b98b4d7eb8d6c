"""What is wrong with a session, all of it, before any model is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from skillkit_engines import catalog_of

from skillkit_core.errors import in_words

from .models import CollaborationConfig
from .protocol import SUPERVISOR

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Reason", "fold", "named", "reasons", "roles_of"]


class Reason(NamedTuple):
    """Why a session cannot begin: a word, and the reason for people."""

    code: str
    text: str


def fold(name: str) -> str:
    """Return a name as names of skills are compared."""
    return name.strip().casefold().replace("_", "-")


def named(config: CollaborationConfig) -> dict[str, str]:
    """Return what each participant is called, and what it stands for, in their order; a name that is there twice is lost."""
    left = dict(config.aliases)
    found: dict[str, str] = {}
    for one in config.participants:
        alias = next((alias for alias, name in left.items() if fold(name) == fold(one)), None)
        if alias is not None:
            del left[alias]
        found.setdefault(alias or one, one)
    return found


def roles_of(config: CollaborationConfig) -> dict[str, str]:
    """Return the role of each participant that has one, by what it is called."""
    return _by_called(config, config.roles)


def _by_called(config: CollaborationConfig, given: Mapping[str, str]) -> dict[str, str]:
    """Return values that were given by name or alias, by what the participant is called; an alias counts first."""
    values = {fold(name): value for name, value in given.items()}
    return {
        called: values.get(fold(called), values.get(fold(name), ""))
        for called, name in named(config).items()
        if fold(called) in values or fold(name) in values
    }


def prompt_of(config: CollaborationConfig, called: str) -> str:
    """Return what a participant is told beside its own instructions."""
    return _by_called(config, config.prompts).get(called, "")


def reasons(config: CollaborationConfig, host: Host) -> list[Reason]:
    """Return everything that is wrong with a session, whatever is asked; an empty list: it can begin."""
    return [*_participants(config, host), *_strangers(config), *_plugins(config, host)]


def _participants(config: CollaborationConfig, host: Host) -> Iterator[Reason]:
    names = config.participants
    if len(names) < 2:
        yield Reason("too_few_participants", f"a session needs at least 2 participants, this one has {len(names)}")
    for name, count in Counter(map(fold, names)).items():
        aliases = {fold(alias) for alias, target in config.aliases.items() if fold(target) == name}
        if count > 1 and len(aliases) < count:
            yield Reason(
                "duplicate_participant", f"{name} takes part {count} times, and each time needs an alias of its own"
            )
    called = [fold(name) for name in named(config)]
    if SUPERVISOR in called or len(set(called)) < len(called):
        yield Reason(
            "bad_alias", f"participants need names of their own, and none is {SUPERVISOR}: {', '.join(called)}"
        )
    for name in dict.fromkeys(names):
        if why := _unknown(name, host):
            yield Reason("unknown_participant", why)


def kind_of(name: str) -> tuple[str, str]:
    """Return the kind of a participant, and its name in it: ``agent:reviewer`` is ``("agent", "reviewer")``."""
    kind, found, rest = name.partition(":")
    return (kind.strip(), rest.strip()) if found else ("skill", name.strip())


def _unknown(name: str, host: Host) -> str:
    kind, own = kind_of(name)
    registry = host.registry("participants")
    if kind not in registry.list():
        return f"{name}: nothing here lets a participant of the kind {kind!r} speak (there are {', '.join(registry.list())})"
    try:
        return str(registry.get(kind).problem(own) or "")
    except Exception as error:  # noqa: BLE001 - code of a plugin
        return f"{name}: {in_words(error)}"


def _strangers(config: CollaborationConfig) -> Iterator[Reason]:
    there = {fold(name) for pair in named(config).items() for name in pair}
    for code, given in (
        ("role_for_stranger", config.roles),
        ("prompt_for_stranger", config.prompts),
        ("optional_stranger", config.optional),
    ):
        yield from (Reason(code, f"{name} takes no part") for name in given if fold(name) not in there)
    targets = {fold(name) for name in config.participants}
    for alias, name in config.aliases.items():
        if fold(name) not in targets:
            yield Reason("alias_for_stranger", f"{alias} stands for {name}, which takes no part")


def _plugins(config: CollaborationConfig, host: Host) -> Iterator[Reason]:
    strategies = host.registry("strategies").list()
    if config.supervisor_strategy not in strategies:
        text = f"{config.supervisor_strategy!r} is none of {', '.join(strategies)}"
        yield Reason("unknown_strategy", text)
    packs = catalog_of(host).packs
    yield from (Reason("unknown_pack", f"there is no pack {name!r}") for name in config.tool_packs if name not in packs)
