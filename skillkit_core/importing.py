"""Import strings: ``"package.module:attribute"`` names an object without importing it."""

from __future__ import annotations

from typing import Any

from .errors import PluginError

__all__ = ["load_object"]


def load_object(target: Any) -> Any:
    """The object that an import string ``"package.module:attribute"`` names; anything else comes back as it is.

    Raises:
        PluginError: the string is malformed, or the module has no such attribute.
    """
    if not isinstance(target, str):
        return target
    from importlib import import_module

    module, sep, attribute = target.partition(":")
    if not sep or not module or not attribute:
        raise PluginError(f"{target!r} is not an import string", hint="write 'package.module:attribute'")
    found: Any = import_module(module)
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise PluginError(f"module {module!r} has no attribute {attribute!r}") from None
    return found
