"""``python -m skillkit_distributions lock|verify|export [DISTRIBUTION]``, where a lock keeps every plugin from running."""

import sys

import click

from .locks import export, lock, verify


def main() -> int:
    """Run a command as the command line of SkillKit does, without a plugin that would have to be loaded."""
    from skillkit_core.cli.output import error_line
    from skillkit_core.errors import SkillKitError

    group = click.Group(commands={"lock": lock, "verify": verify, "export": export}, help=__doc__)
    try:
        code = group.main(prog_name="python -m skillkit_distributions", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except SkillKitError as error:
        error_line(str(error))
        return error.exit_code
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(main())
