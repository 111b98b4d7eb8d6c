"""The command line: the root command, the commands of the core, and one way to print."""

__all__ = ["entry"]


def entry() -> None:
    """Run the console script, and import the rest only here, so that an interrupt at any time is no traceback."""
    try:
        from ..host.methods import remember_methods

        remember_methods("collections", "eval")
        from .main import entry as main

        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
