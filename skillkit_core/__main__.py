"""``python -m skillkit_core`` is the command line."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current directory, whose modules are no installed plugins

    from .cli import entry

    entry()
