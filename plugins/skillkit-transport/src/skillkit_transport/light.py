"""The import of an SDK without the thousands of modules of its types, of which a transport needs next to none.

The SDKs of OpenAI and Anthropic import in ``__init__`` what anybody might want, most of it pydantic models: one to two seconds.
Here their package and the packages of their types exist before their ``__init__`` has run. A name is looked up where it is
defined, and the ``__init__`` runs, as Python would have run it, once a name is asked for that is not found so.
"""

from __future__ import annotations

import importlib
import re
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

__all__ = ["import_light"]

_PLACES = ("_client", "_base_client", "_types", "_exceptions")  # where what a transport uses is defined
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
_WHOLE = "__whole__"
_SAID = ("__all__", "__title__", "__version__")


class _Light(ModuleType):
    """A package whose ``__init__`` has not run."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in _SAID:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name not in _SAID:
            if find_spec(f"{self.__name__}.{name}") is not None:
                return importlib.import_module(f"{self.__name__}.{name}")
            for place in (_CAPITAL.sub("_", name).lower(),) if "." in self.__name__ else _PLACES:
                if find_spec(f"{self.__name__}.{place}") is not None:
                    found = vars(importlib.import_module(f"{self.__name__}.{place}"))
                    if name in found:
                        self.__dict__[name] = found[name]
                        return found[name]
        _run(self)
        return ModuleType.__getattribute__(self, name) if type(self) is _Light else getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("__") and not isinstance(value, ModuleType):  # Python sets packages and modules
            _run(self)  # it would set its own value later
        ModuleType.__setattr__(self, name, value)

    def __dir__(self) -> list[str]:
        _run(self)
        return sorted(self.__dict__) if type(self) is _Light else dir(self)


def _run(package: ModuleType) -> None:
    """Run the ``__init__`` of a package, once; a thread waits for another one that is at it, as with each import."""
    __import__(f"{package.__name__}.{_WHOLE}")


class _Whole:
    """Finds and loads a module that is no file: its import runs the ``__init__`` of its package."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name.rpartition(".")[2] == _WHOLE else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        package = sys.modules[module.__name__.rpartition(".")[0]]
        assert package.__spec__ is not None and package.__spec__.loader is not None
        package.__spec__.loader.exec_module(package)
        package.__class__ = ModuleType


class _Loader:
    """Makes packages and leaves their ``__init__`` for later."""

    def __init__(self, spec: ModuleSpec) -> None:
        self._spec = spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        made = module_from_spec(self._spec)
        made.__class__ = _Light
        return made

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__, module.__loader__ = self._spec, self._spec.loader


class _Finder:
    """Finds the package of an SDK and those of its types."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self._package and not f"{name}.".startswith(f"{self._package}.types."):
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.submodule_search_locations is None or spec.loader is None:
            return None
        light = ModuleSpec(name, _Loader(spec), origin=spec.origin, is_package=True)  # type: ignore[arg-type]
        light.submodule_search_locations = spec.submodule_search_locations
        return light


def import_light(package: str) -> Any:
    """Return the SDK called ``package``, imported as far as its client needs it; as Python imports it where that fails."""
    finder: Any = _Finder(package)
    sys.meta_path.insert(0, finder)
    if not any(isinstance(one, _Whole) for one in sys.meta_path):
        sys.meta_path.append(_Whole())
    try:
        sdk = importlib.import_module(package)  # waits for a thread that imports it already
        importlib.import_module(f"{package}._client")
        return sdk
    except (ImportError, AttributeError):  # another SDK than is known here
        for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
            del sys.modules[name]
    finally:
        sys.meta_path.remove(finder)
    return importlib.import_module(package)
