"""Trees of processes: started, read, waited for, and ended with everything that they started.

Nothing is imported before it is used: the keeper of each sandboxed command imports this package, too.
"""

TYPE_CHECKING = False  # typing costs more than a keeper
if TYPE_CHECKING:
    from typing import Any

    from .child import Child as Child, End as End, Ended as Ended, run as run
    from .confinement import confine as confine
    from .keeper import (
        adopt_orphans as adopt_orphans,
        end_children as end_children,
        end_with_parent as end_with_parent,
        wait_for as wait_for,
    )
    from .lines import LineReader as LineReader, Lines as Lines, LineTooLong as LineTooLong
    from .output import Capture as Capture, Mask as Mask, Tail as Tail
    from .pipes import Pipe as Pipe, Sink as Sink
    from .protected import PROTECTED as PROTECTED
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
    "PROTECTED": "protected",
    "Pipe": "pipes",
    "Process": "table",
    "Sink": "pipes",
    "Tail": "output",
    "Tree": "tree",
    "adopt_orphans": "keeper",
    "children": "table",
    "confine": "confinement",
    "end_children": "keeper",
    "end_with_parent": "keeper",
    "environment": "start",
    "process": "table",
    "processes": "table",
    "run": "child",
    "wait_for": "keeper",
}

__all__ = [
    "HARMLESS",
    "PROTECTED",
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
    "adopt_orphans",
    "children",
    "confine",
    "end_children",
    "end_with_parent",
    "environment",
    "process",
    "processes",
    "run",
    "wait_for",
]


def __getattr__(name: str) -> "Any":
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(__import__(f"{__name__}.{module}", fromlist=[name]), name)  # importlib costs more than a keeper
    globals()[name] = value
    return value
