"""List the distributions of an installed OneTool and their licenses: `just sbom`."""

from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement

ROOT = "onetool-gateway"
UNKNOWN = "unknown"


def installed(root: str = ROOT) -> dict[str, Distribution]:
    """Return every distribution of the core install by name, without our extras."""
    found: dict[str, Distribution] = {}
    pending = [Requirement(root)]
    while pending:
        requirement = pending.pop()
        dist = distribution(requirement.name)
        name = dist.name.lower().replace("_", "-")
        if name in found and not requirement.extras:
            continue
        found[name] = dist
        pending += _requirements(dist, requirement.extras)
    return dict(sorted(found.items()))


def license_of(dist: Distribution) -> str:
    """Return the license that the distribution states, in one line."""
    metadata = dist.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    prefix = "License :: OSI Approved :: "
    classifiers = [text for text in metadata.get_all("Classifier") or [] if text.startswith(prefix)]
    names = [text.removeprefix(prefix) for text in classifiers]
    return ", ".join(names) or (metadata.get("License") or UNKNOWN).partition("\n")[0]


def _requirements(dist: Distribution, extras: set[str]) -> list[Requirement]:
    requirements = [Requirement(text) for text in dist.requires or []]
    environments = [{"extra": extra} for extra in ("", *extras)]
    return [
        requirement
        for requirement in requirements
        if requirement.marker is None or any(map(requirement.marker.evaluate, environments))
    ]


def table() -> str:
    """Return the list as a Markdown page."""
    rows = [f"| {name} | {dist.version} | {license_of(dist)} |" for name, dist in installed().items()]
    return "\n".join(
        ["# Licenses", "", "| distribution | version | license |", "| --- | --- | --- |", *rows, ""]
    )


if __name__ == "__main__":
    print(table(), end="")  # noqa: T201 - a program that prints
