"""The plugin ``dictionary``: a tool, and the family of dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_engines import ToolPack

    from skillkit_core import Host, Tool


class Hooks:
    """The hook of the family of dictionaries."""

    @hookspec
    def register_dictionaries(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer dictionaries: ``register(Factory("acme", "acme.words:Acme"))``, made as ``create(host)``.

        The object is a :class:`~skillkit_dictionary.Dictionary`; ``dictionary.provider`` names the one that answers.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``register_dictionaries`` and its registry ``dictionaries``."""
    add(Hooks, kinds={"dictionaries": Factory})


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``dictionary``."""
    register(ConfigSection("dictionary", "skillkit_dictionary.config:DictionaryConfig"))


@hookimpl
def register_dictionaries(register: Callable[[Factory], None]) -> None:
    """Offer the dictionary that comes with the plugin."""
    register(Factory("wordnet", "skillkit_dictionary.wordnet:WordNet", "wordnets that lie on this machine (wn)"))


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer the tool."""
    from .tools import dictionary_tools

    for tool in dictionary_tools(host):
        register(tool)


@hookimpl(optionalhook=True)
def register_packs(register: Callable[[ToolPack], None]) -> None:
    """Offer the pack ``dictionary``, where the plugin ``engines`` is there: its tools wait until somebody asks for them."""
    from skillkit_engines import ToolPack

    register(ToolPack("dictionary", "Look words up.", ("define_word_tool",), waits=True))
