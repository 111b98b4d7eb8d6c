"""The upgrade of packages, and what it changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import brings
from .environment import Environment, Step
from .installing import check_nothing_is_lost, origin
from .removing import package_of
from .running import run
from .staged import check_policy

if TYPE_CHECKING:
    from skillkit_core import Host


class Upgrade:
    """Packages that are to be upgraded.

    Raises:
        UnknownName: there is no such package or plugin.
        UsageError: a policy wants the versions that are there.

    Attributes:
        place: the environment.
        packages: what is to be upgraded.
        steps: the commands.
    """

    def __init__(self, host: Host, place: Environment, names: Sequence[str], distribution: str | None) -> None:
        self.place, self._host, self._distribution = place, host, distribution
        self._before = {entry.distribution: entry.version for entry in host.entries}
        wanted = [package_of(host, name) for name in names] or [p for p in self._before if p != place.own]
        for package in wanted:
            check_policy(host, package, ())
        self.packages = [origin(package) for package in dict.fromkeys(wanted)]
        self.steps = place.upgrade(self.packages, False) if names else self._all()

    def _all(self) -> list[Step]:
        return self.place.upgrade([*self.packages, origin("skillkit-core")], True)

    def carry_out(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Upgrade, and return each package with its versions before and after, and the problems of plugins that moved.

        Raises:
            SkillKitError: the package manager failed.
        """
        run(self.steps)
        after = brings.ask([], self._distribution, self._host.cwd)["versions"]
        check_nothing_is_lost({*self._before}, after)
        names = sorted({*self._before, *after})
        rows = [{"package": n, "before": self._before.get(n), "after": after.get(n)} for n in names]
        moved = [row["package"] for row in rows if row["before"] != row["after"]]
        found = brings.ask(moved, self._distribution, self._host.cwd)["plugins"] if moved else []
        return rows, [problem for plugin in found for problem in plugin["problems"]]
