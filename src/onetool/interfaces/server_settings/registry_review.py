"""What a person reviews before a server of the registry is installed or updated, without questions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from onetool.settings.paths import Paths

from .installation import PlanChanged, PlannedInstallation, ServerPackage, plan_installation
from .registry_access import InstallationRefused
from .registry_update import updated_entry
from .registry_values import GivenValues, InputProblem, ValueCollector


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationReview:
    """A package, the problems of its inputs and, if there are none, what would be written."""

    server: str
    package: ServerPackage
    given: GivenValues
    problems: tuple[InputProblem, ...] = ()
    name_problem: str = ""
    planned: PlannedInstallation | None = None
    written: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The settings of the server after the change."""

    @property
    def digest(self) -> str:
        """The hash of what would be written; empty while something is missing."""
        return self.planned.digest(self.server, self.written) if self.planned else ""

    def approved(self, digest: str) -> PlannedInstallation:
        """Return the plan that the user reviewed.

        Raises:
            PlanChanged: It is incomplete, or another one.
        """
        if self.planned is None or digest != self.digest:
            raise PlanChanged("What would be written is not what was reviewed. Review it again.")
        return self.planned


def review_installation(
    server: str, package: ServerPackage, given: GivenValues, secrets: frozenset[str], name_problem: str
) -> InstallationReview:
    """Review a new server. It blocks.

    secrets: the names of existing secrets.
    """
    return _review(
        server,
        package,
        given,
        secrets,
        name_problem=name_problem,
        find_written=lambda planned: planned.server,
    )


def review_update(
    server: str, package: ServerPackage, given: GivenValues, secrets: frozenset[str], paths: Paths
) -> InstallationReview:
    """Review another version of a server in the user's settings. It blocks.

    Raises:
        SettingsError: The server is not in the user's settings.
    """
    return _review(
        server,
        package,
        given,
        secrets,
        find_written=lambda planned: updated_entry(paths, server, planned),
    )


def _review(
    server: str,
    package: ServerPackage,
    given: GivenValues,
    secrets: frozenset[str],
    *,
    find_written: Callable[[PlannedInstallation], Mapping[str, Any]],
    name_problem: str = "",
) -> InstallationReview:
    problems: list[InputProblem] = []
    planned, written = None, dict[str, Any]()
    collector = ValueCollector(server=server, taken=secrets, on_problem=problems.append, allow_relative=False)
    collector.collect(package.launch, given)
    if not problems and not name_problem:
        try:
            planned = plan_installation(package, collector)
            written = dict(find_written(planned))
        except InstallationRefused as error:
            problems.append(InputProblem(wanted=None, reason=str(error)))
    return InstallationReview(
        server=server,
        package=package,
        given=given,
        problems=tuple(problems),
        name_problem=name_problem,
        planned=planned,
        written=written,
    )
