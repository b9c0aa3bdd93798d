"""package: latest versions of Python and JavaScript packages."""

import re
from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import quote

from onetool.sdk import FetchedPage, batch_execute, fetch_url, get_config, tool

pack = "package"

INDEXES = {"pypi": "https://pypi.org", "npm": "https://registry.npmjs.org"}
NAMES = {
    "pypi": re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"),
    "npm": re.compile(r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[A-Za-z0-9~_-][A-Za-z0-9._~-]*"),
}
MAX_NAME_LENGTH, MAX_NAMES, MAX_WORKERS = 214, 100, 4
MAX_BYTES = 64 * 2**20
HOMEPAGE_LABELS = ("homepage", "home", "repository", "source", "source code")
OK, NOT_FOUND = 200, 404

Index = Literal["pypi", "npm"]


@tool(timeout=60, parallel=True, tags=["pypi", "npm", "packages"])
def versions(names: list[str], index: Index = "pypi") -> list[dict[str, str]]:
    """Return the latest version, release date and homepage of packages.

    Args:
        names: Package names, such as `requests` or `@types/node`; at most 100.
        index: `pypi` for Python, `npm` for JavaScript.

    Returns:
        name, version, released (a date) and homepage of each, in order; name and error if the lookup fails.

    Example:
        package.versions(names=["httpx", "pydantic"])
    """
    if len(names) > MAX_NAMES:
        raise ValueError(f"Too many names: {len(names)}. Pass at most {MAX_NAMES}.")
    return _for_each(names, lambda name: {"name": name, **_latest(name, index)})


@tool(timeout=60, parallel=True, tags=["pypi", "requirements"])
def outdated(requirements_text: str) -> list[dict[str, str]]:
    """Find the requirements that exclude the latest version.

    Args:
        requirements_text: The content of a requirements.txt; options, URLs and comments are ignored.

    Returns:
        name, required, newest and released of each outdated requirement; name and error if the lookup fails.

    Example:
        package.outdated(requirements_text=fs.read_file(path="requirements.txt"))
    """
    required = _requirements(requirements_text)
    if len(required) > MAX_NAMES:
        raise ValueError(f"Too many requirements: {len(required)}. Pass at most {MAX_NAMES}.")

    def compare(name: str) -> dict[str, str]:
        latest = _latest(name, "pypi")
        entry = {"name": name, "required": str(required[name]), "newest": latest["version"]}
        is_allowed = required[name].contains(latest["version"], prereleases=True)
        return {} if is_allowed else {**entry, "released": latest["released"]}

    return [entry for entry in _for_each(list(required), compare) if entry]


def _for_each(names: list[str], look_up: Callable[[str], dict[str, str]]) -> list[dict[str, str]]:
    """Look up all names concurrently. If a lookup fails, its entry contains the error."""
    entries: dict[str, dict[str, str]] = {}

    def process(name: str) -> None:
        try:
            entries[name] = look_up(name)
        except (OSError, ValueError, LookupError) as error:
            entries[name] = {"name": name, "error": str(error)}

    batch_execute(dict.fromkeys(names), process, max_workers=MAX_WORKERS)
    return [entries[name] for name in names if name in entries]


def _requirements(text: str) -> dict[str, Any]:
    """Return version specifiers by name. Requirements without a specifier are omitted."""
    from packaging.requirements import InvalidRequirement, Requirement

    specifiers = {}
    for line in text.replace("\\\n", " ").splitlines():
        entry = re.split(r"(?:^|\s)(?:#|--?[a-z])", line, maxsplit=1)[0].strip()
        try:
            requirement = Requirement(entry) if entry else None
        except InvalidRequirement:
            raise ValueError(
                f"{entry[:100]!r} is not a valid requirement. Use name==1.0 or name>=1.0,<2."
            ) from None
        if requirement is not None and requirement.specifier:
            specifiers[requirement.name] = requirement.specifier
    return specifiers


def _latest(name: str, index: Index) -> dict[str, str]:
    if len(name) > MAX_NAME_LENGTH or not NAMES[index].fullmatch(name):
        raise ValueError(f"{name[:100]!r} is not a valid package name on {index}.")
    return _from_pypi(name) if index == "pypi" else _from_npm(name)


def _from_pypi(name: str) -> dict[str, str]:
    response = _as_dict(_fetch(f"/pypi/{quote(name)}/json", name, "pypi").json())
    info, files = _as_dict(response.get("info")), response.get("urls") or [{}]
    links = {str(label).lower(): link for label, link in _as_dict(info.get("project_urls")).items()}
    homepage = info.get("home_page") or next(
        filter(None, map(links.get, HOMEPAGE_LABELS)), info.get("project_url", "")
    )
    released = str(_as_dict(files[0]).get("upload_time_iso_8601") or "")[:10]
    return {"version": str(info.get("version", "")), "released": released, "homepage": str(homepage)}


def _from_npm(name: str) -> dict[str, str]:
    path = quote(name, safe="@")
    response = _as_dict(_fetch(f"/{path}/latest", name, "npm").json())
    version = str(response.get("version", ""))
    # The full document of a package can be 20 MB: search it for the date instead of parsing it.
    date_pattern = re.compile(rf'"{re.escape(version)}"\s*:\s*"(\d{{4}}-\d\d-\d\d)T'.encode())
    date = date_pattern.search(_fetch(f"/{path}", name, "npm").content)
    homepage = str(response.get("homepage") or "")
    return {"version": version, "released": date[1].decode() if date else "", "homepage": homepage}


def _fetch(path: str, name: str, index: Index) -> FetchedPage:
    base = str(get_config(f"packs.package.{index}_url", INDEXES[index])).rstrip("/")
    response = fetch_url(f"{base}{path}", max_bytes=MAX_BYTES, headers={"Accept": "application/json"})
    if response.status == NOT_FOUND:
        raise LookupError(f"Package {name!r} not found on {index}.")
    if response.status != OK:
        raise ConnectionError(f"{index} returned status {response.status} for {name!r}. Try again later.")
    return response


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
