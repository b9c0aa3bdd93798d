"""Servers of the registry and plans to install them, as JSON."""

from collections.abc import Sequence
from typing import Any

from onetool.domain.servers.registry_entry import RegistryEntry
from onetool.domain.servers.registry_inputs import RegistryInput, UnsupportedEntry
from onetool.domain.servers.registry_packages import find_launch
from onetool.interfaces.server_settings.installation import format_command
from onetool.interfaces.server_settings.registry_review import InstallationReview
from onetool.registry.client import OfflineNote


def entry_json(entry: RegistryEntry) -> dict[str, Any]:
    """Return an entry, and whether it can be installed."""
    problem = f"It was deleted. {entry.status_message}".strip() if entry.status == "deleted" else ""
    try:
        find_launch(entry)
    except UnsupportedEntry as error:
        problem = problem or f"{error}."
    return {
        "name": entry.name,
        "version": entry.version,
        "publisher": entry.publisher,
        "kinds": list(entry.kinds),
        "description": entry.description,
        "repository": entry.repository,
        "status": entry.status,
        "statusMessage": entry.status_message,
        "isInstallable": not problem,
        "problem": problem,
    }


def offline_json(notes: Sequence[OfflineNote]) -> dict[str, Any] | None:
    """Return the age of the oldest stored answer; None if all answers are new."""
    if not notes:
        return None
    oldest = max(notes, key=lambda note: note.age_s)
    return {"problem": oldest.problem, "ageSeconds": oldest.age_s}


def review_json(review: InstallationReview, base_url: str, notes: Sequence[OfflineNote]) -> dict[str, Any]:
    """Return a plan. It contains the settings that are new, not those that the user has written."""
    launch, planned = review.package.launch, review.planned
    return {
        "server": entry_json(review.package.entry),
        "registry": base_url,
        "name": review.server,
        "nameProblem": review.name_problem,
        "kind": launch.kind,
        "package": launch.identifier,
        "packageVersion": launch.version,
        "digests": review.package.digests,
        "digestProblem": review.package.digest_problem,
        "inputs": [
            _input_json(found, review)
            for found in launch.inputs
            if not found.is_secret or found.name in launch.accepts_secrets
        ],
        "problems": [
            {
                "name": problem.wanted.name if problem.wanted else "",
                "isMissing": problem.is_missing,
                "reason": problem.reason,
            }
            for problem in review.problems
        ],
        "isComplete": planned is not None,
        "settings": planned.server if planned else None,
        "command": format_command(planned.server) if planned else "",
        "grants": [
            {"path": grant["path"], "canWrite": bool(grant.get("write"))}
            for grant in review.written.get("paths", ())
        ],
        "isSandboxed": review.written.get("sandbox") is not False,
        "planDigest": review.digest,
        "offline": offline_json(notes),
    }


def _input_json(found: RegistryInput, review: InstallationReview) -> dict[str, Any]:
    return {
        "name": found.name,
        "kind": "secret" if found.is_secret else "path" if found.is_path else "value",
        "isRequired": found.is_required,
        "isRepeated": found.name in review.package.launch.repeated_inputs,
        "isKnown": found.name in review.given.known,
        "default": "" if found.is_secret else found.default,
        "choices": list(found.choices),
        "description": found.description,
    }
