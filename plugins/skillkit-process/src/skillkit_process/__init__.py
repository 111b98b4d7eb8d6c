"""Trees of processes: started, read, waited for, and ended with everything that they started.

Nothing is imported before it is used: the keeper of each sandboxed command imports this package, too.
"""

TYPE_CHECKING = False  # typing costs more than a keeper
if TYPE_CHECKING:
    from typing import Any

    from .child import Child as Child, End as End, Ended as Ended, run as run
    from .lines import LineReader as LineReader, Lines as Lines, LineTooLong as LineTooLong
    from .output import Capture as Capture, Mask as Mask, Tail as Tail
    from .pipes import Pipe as Pipe, Sink as Sink
    from .start import HARMLESS as HARMLESS, environment as environment
    from .table import Process as Process, children as children, process as process, processes as processes
    from .tree import Tree as Tree

_MODULE_OF = {
    "Capture": "output",
    "Child": "child",
    "End": "child",
    "Ended": "child",
    "HARMLESS": "start",
    "LineReader": "lines",
    "LineTooLong": "lines",
    "Lines": "lines",
    "Mask": "output",
    "Pipe": "pipes",
    "Process": "table",
    "Sink": "pipes",
    "Tail": "output",
    "Tree": "tree",
    "children": "table",
    "environment": "start",
    "process": "table",
    "processes": "table",
    "run": "child",
}

__all__ = [
    "HARMLESS",
    "Capture",
    "Child",
    "End",
    "Ended",
    "LineReader",
    "LineTooLong",
    "Lines",
    "Mask",
    "Pipe",
    "Process",
    "Sink",
    "Tail",
    "Tree",
    "children",
    "environment",
    "process",
    "processes",
    "run",
]


def __getattr__(name: str) -> "Any":
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value
