"""``python -m skillkit_core`` is the command line."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # Python puts the current directory there; what lies in a project is no installed plugin

    from .cli import entry

    entry()
