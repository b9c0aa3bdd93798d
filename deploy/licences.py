"""Print what an installed OneTool consists of, and under which licences: `just sbom`."""

from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement

ROOT = "onetool"
UNKNOWN = "unknown"


def installed(root: str = ROOT) -> dict[str, Distribution]:
    """Every distribution that the core install brings, by name; no extras of ours."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(root)]
    while waiting:
        wanted = waiting.pop()
        known = distribution(wanted.name)
        name = known.name.lower().replace("_", "-")
        if name in found and not wanted.extras:
            continue
        found[name] = known
        waiting += _needs(known, wanted.extras)
    return dict(sorted(found.items()))


def licence(known: Distribution) -> str:
    """The licence as the distribution states it, in one line."""
    said = known.metadata
    if short := said.get("License-Expression"):
        return short
    classifiers = said.get_all("Classifier") or []
    named = [
        one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License :: OSI Approved :: ")
    ]
    return ", ".join(named) or (said.get("License") or UNKNOWN).partition("\n")[0]


def _needs(known: Distribution, extras: set[str]) -> list[Requirement]:
    asked = [Requirement(text) for text in known.requires or []]
    around = [{"extra": extra} for extra in ("", *extras)]
    return [one for one in asked if one.marker is None or any(map(one.marker.evaluate, around))]


def table() -> str:
    """The page."""
    rows = [f"| {name} | {known.version} | {licence(known)} |" for name, known in installed().items()]
    return "\n".join(
        ["# Licences", "", "| distribution | version | licence |", "| --- | --- | --- |", *rows, ""]
    )


if __name__ == "__main__":
    print(table(), end="")  # noqa: T201 - this is what it is for
