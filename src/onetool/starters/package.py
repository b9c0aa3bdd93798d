"""package: newest versions of Python and JavaScript packages."""

import re
from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import quote

from onetool.sdk import Fetched, batch_execute, fetch_url, get_config, tool

pack = "package"

INDEXES = {"pypi": "https://pypi.org", "npm": "https://registry.npmjs.org"}
NAMES = {
    "pypi": re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"),
    "npm": re.compile(r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[A-Za-z0-9~_-][A-Za-z0-9._~-]*"),
}
LONGEST_NAME, MOST_NAMES, AT_ONCE = 214, 100, 4
MOST_BYTES = 64 * 2**20
HOMES = ("homepage", "home", "repository", "source", "source code")
OK, MISSING = 200, 404

Index = Literal["pypi", "npm"]


@tool(timeout=60, parallel=True, tags=["pypi", "npm", "packages"])
def versions(names: list[str], index: Index = "pypi") -> list[dict[str, str]]:
    """Tell the newest version of packages, when it was released, and where their homepages are.

    Args:
        names: Names of packages, such as `requests` or `@types/node`; 100 at most.
        index: `pypi` for Python, `npm` for JavaScript.

    Returns:
        name, version, released (a date) and homepage of each, in order; name and error where that fails.

    Example:
        package.versions(names=["httpx", "pydantic"])
    """
    if len(names) > MOST_NAMES:
        raise ValueError(f"{len(names)} names are too many at once; give {MOST_NAMES} at most.")
    return _of_each(names, lambda name: {"name": name, **_newest(name, index)})


@tool(timeout=60, parallel=True, tags=["pypi", "requirements"])
def outdated(requirements_text: str) -> list[dict[str, str]]:
    """Find the requirements that keep a newer version out.

    Args:
        requirements_text: Lines as in requirements.txt; options, URLs and comments are passed over.

    Returns:
        name, required, newest and released of each that excludes its newest version; else name and error.

    Example:
        package.outdated(requirements_text=fs.read_file(path="requirements.txt"))
    """
    required = _requirements(requirements_text)
    if len(required) > MOST_NAMES:
        raise ValueError(f"{len(required)} requirements are too many at once; give {MOST_NAMES} at most.")

    def compare(name: str) -> dict[str, str]:
        newest = _newest(name, "pypi")
        shown = {"name": name, "required": str(required[name]), "newest": newest["version"]}
        is_open = required[name].contains(newest["version"], prereleases=True)
        return {} if is_open else {**shown, "released": newest["released"]}

    return [one for one in _of_each(list(required), compare) if one]


def _of_each(names: list[str], ask: Callable[[str], dict[str, str]]) -> list[dict[str, str]]:
    """What is answered for each name, several at a time; one that fails says why in its own place."""
    found: dict[str, dict[str, str]] = {}

    def one(name: str) -> None:
        try:
            found[name] = ask(name)
        except (OSError, ValueError, LookupError) as error:
            found[name] = {"name": name, "error": str(error)}

    batch_execute(dict.fromkeys(names), one, max_workers=AT_ONCE)
    return [found[name] for name in names if name in found]


def _requirements(text: str) -> dict[str, Any]:
    """The version specifiers of a requirements file by name; those that allow everything are left out."""
    from packaging.requirements import InvalidRequirement, Requirement

    found = {}
    for line in text.replace("\\\n", " ").splitlines():
        written = re.split(r"(?:^|\s)(?:#|--?[a-z])", line, maxsplit=1)[0].strip()
        try:
            requirement = Requirement(written) if written else None
        except InvalidRequirement:
            raise ValueError(
                f"{written[:100]!r} is not a requirement; write it as name==1.0 or name>=1.0,<2."
            ) from None
        if requirement is not None and requirement.specifier:
            found[requirement.name] = requirement.specifier
    return found


def _newest(name: str, index: Index) -> dict[str, str]:
    if len(name) > LONGEST_NAME or not NAMES[index].fullmatch(name):
        raise ValueError(f"{name[:100]!r} is not a name of a package on {index}.")
    return _on_pypi(name) if index == "pypi" else _on_npm(name)


def _on_pypi(name: str) -> dict[str, str]:
    answer = _map(_fetch(f"/pypi/{quote(name)}/json", name, "pypi").json())
    info, files = _map(answer.get("info")), answer.get("urls") or [{}]
    links = {str(label).lower(): link for label, link in _map(info.get("project_urls")).items()}
    homepage = info.get("home_page") or next(filter(None, map(links.get, HOMES)), info.get("project_url", ""))
    released = str(_map(files[0]).get("upload_time_iso_8601") or "")[:10]
    return {"version": str(info.get("version", "")), "released": released, "homepage": str(homepage)}


def _on_npm(name: str) -> dict[str, str]:
    path = quote(name, safe="@")
    answer = _map(_fetch(f"/{path}/latest", name, "npm").json())
    version = str(answer.get("version", ""))
    # All that is known of a package can be 20 MB, for one date in it: looked up, not parsed.
    dates = re.compile(rf'"{re.escape(version)}"\s*:\s*"(\d{{4}}-\d\d-\d\d)T'.encode())
    found = dates.search(_fetch(f"/{path}", name, "npm").content)
    homepage = str(answer.get("homepage") or "")
    return {"version": version, "released": found[1].decode() if found else "", "homepage": homepage}


def _fetch(path: str, name: str, index: Index) -> Fetched:
    base = str(get_config(f"packs.package.{index}_url", INDEXES[index])).rstrip("/")
    answer = fetch_url(f"{base}{path}", max_bytes=MOST_BYTES, headers={"Accept": "application/json"})
    if answer.status == MISSING:
        raise LookupError(f"There is no package {name!r} on {index}.")
    if answer.status != OK:
        raise ConnectionError(f"{index} answered with status {answer.status} for {name!r}; try later.")
    return answer


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
