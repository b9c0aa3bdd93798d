"""Commands that download a package and run it, such as npx and uvx: how to download it in a separate step.

The download runs code of the package, so it needs the sandbox as well: with the network, and without grants.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

NPM_OFFLINE = {"npm_config_offline": "true", "npm_config_prefer_offline": "true"}
UV_OFFLINE = {"UV_OFFLINE": "1"}
PIP_OFFLINE = {"PIP_NO_INDEX": "1"}
NPX_VALUE_OPTIONS = ("-p", "--package", "-c", "--call", "-w", "--workspace", "--registry", "--cache")
UV_VALUE_OPTIONS = (
    "--from",
    "--with",
    "--with-editable",
    "--with-requirements",
    "--python",
    "-p",
    "--index",
    "--default-index",
    "-i",
    "--index-url",
    "--extra-index-url",
    "-f",
    "--find-links",
    "--directory",
    "--config-file",
)
PIPX_VALUE_OPTIONS = ("--spec", "--python", "--index-url", "-i", "--pip-args")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageDownload:
    """How to run a package without network.

    Attributes:
        package: The package with its version, as it was given.
        argv: The command that downloads it into the server's own directory and ends. It needs the network.
        offline_env: Variables with which the server itself starts from what was downloaded.
    """

    package: str
    argv: tuple[str, ...]
    offline_env: Mapping[str, str]


def find_download(command: str, args: Sequence[str]) -> PackageDownload | None:
    """Return how to download the package that a command runs, or nothing if it runs what is installed."""
    name = PurePath(command).name.removesuffix(".exe").removesuffix(".cmd")
    words = (name, *args)
    for runner, build in RUNNERS.items():
        if words[: len(runner)] == runner:
            return build((command, *runner[1:]), words[len(runner) :])
    return None


def _npm_download(runner: tuple[str, ...], args: tuple[str, ...]) -> PackageDownload | None:
    """Run `node --version` with the package installed, which is what `npx` does with any command."""
    options, rest = _split_options(args, NPX_VALUE_OPTIONS)
    named = _option_values(options, ("-p", "--package"))
    packages = named or rest[:1]
    if not packages:
        return None
    chosen = [word for package in packages for word in ("--package", package)]
    kept = _without_values(options, ("-p", "--package", "-c", "--call", "--"))
    argv = (*runner, *dict.fromkeys(("-y", *kept)), *chosen, "--", "node", "--version")
    return PackageDownload(package=packages[0], argv=argv, offline_env=NPM_OFFLINE)


def _uv_download(runner: tuple[str, ...], args: tuple[str, ...]) -> PackageDownload | None:
    """Run `python --version` in the environment of the package, which creates it."""
    options, rest = _split_options(args, UV_VALUE_OPTIONS)
    named = _option_values(options, ("--from",))
    if not (named or rest):
        return None
    requirement = named[0] if named else _as_requirement(rest[0])
    kept = _without_values(options, ("--from", "--"))
    argv = (*runner, *kept, "--from", requirement, "python", "--version")
    return PackageDownload(package=(named or rest)[0], argv=argv, offline_env=UV_OFFLINE)


def _bun_download(runner: tuple[str, ...], args: tuple[str, ...]) -> PackageDownload | None:
    _, rest = _split_options(args, ("-p", "--package"))
    if not rest:
        return None
    argv = (*runner, "--package", rest[0], "bun", "--version")
    return PackageDownload(package=rest[0], argv=argv, offline_env={})


def _pipx_download(runner: tuple[str, ...], args: tuple[str, ...]) -> PackageDownload | None:
    options, rest = _split_options(args, PIPX_VALUE_OPTIONS)
    packages = _option_values(options, ("--spec",)) or rest[:1]
    if not packages:
        return None
    kept = _without_values(options, ("--spec", "--"))
    argv = (*runner, *kept, "--spec", packages[0], "python", "--version")
    return PackageDownload(package=packages[0], argv=argv, offline_env=PIP_OFFLINE)


def _split_options(
    args: tuple[str, ...], with_value: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the options of the runner, and the package with its own arguments."""
    position = 0
    while position < len(args) and args[position].startswith("-"):
        if args[position] == "--":
            return args[:position], args[position + 1 :]
        position += 2 if args[position] in with_value else 1
    return args[:position], args[position:]


def _option_values(options: tuple[str, ...], names: Sequence[str]) -> tuple[str, ...]:
    """Return the values of an option, given as `--name value` or `--name=value`."""
    separate = [value for name, value in pairwise(options) if name in names]
    parts = [option.partition("=") for option in options]
    joined = [value for name, found, value in parts if found and name in names]
    return (*separate, *joined)


def _without_values(options: tuple[str, ...], names: Sequence[str]) -> tuple[str, ...]:
    """Return the options without some of them and their values."""
    kept: list[str] = []
    skip = False
    for option in options:
        if skip or option in names:
            skip = not skip and option in names and option != "--"
        elif option.partition("=")[0] not in names:
            kept.append(option)
    return tuple(kept)


def _as_requirement(package: str) -> str:
    """Return `name==1.2` for `name@1.2`, which `--from` does not accept."""
    name, _, version = package.partition("@")
    if version == "latest":
        return name
    return f"{name}=={version}" if version and version[0].isdigit() else package


RUNNERS: dict[tuple[str, ...], Callable[[tuple[str, ...], tuple[str, ...]], PackageDownload | None]] = {
    ("npx",): _npm_download,
    ("npm", "exec"): _npm_download,
    ("npm", "x"): _npm_download,
    ("uvx",): _uv_download,
    ("uv", "tool", "run"): _uv_download,
    ("bunx",): _bun_download,
    ("bun", "x"): _bun_download,
    ("pipx", "run"): _pipx_download,
}
"""Functions by the first words of a command."""
