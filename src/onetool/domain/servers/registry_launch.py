"""How the server of a registry entry is used: the command that starts its package, or its URL."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Any, Literal

from .registry_inputs import InputTemplate, RegistryInput, UnsupportedEntry, merge_inputs, parse_template

LaunchKind = Literal["npm", "pypi", "oci", "remote"]
Values = Mapping[str, Sequence[str]]
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
UNSAFE_VARIABLE = re.compile(
    r"(LD|DYLD|GCONV|NPM_CONFIG|UV|PIP|XDG|SSL_CERT)_.*|PATH|HOME|USERPROFILE|APPDATA|SHELL|ENV|BASH_ENV|IFS"
    r"|NODE_(OPTIONS|PATH|EXTRA_CA_CERTS|TLS_.*)|DOCKER_(HOST|CONFIG|CONTEXT)|GIT_(SSH|CONFIG|EXEC).*"
    r"|(HTTPS?|ALL)_PROXY|PYTHON(?!UNBUFFERED$|UTF8$|IOENCODING$|DONTWRITEBYTECODE$).*",
    re.IGNORECASE,
)
"""Variables that change which program runs or where a package comes from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchArgument:
    """A command line argument that may contain inputs."""

    flag: str = ""
    template: InputTemplate
    is_repeated: bool = False

    def words(self, values: Values) -> Iterator[str]:
        """Yield the words of the command line; none if an input has no value."""
        inputs = self.template.inputs
        count = len(values.get(inputs[0].name, ())) if self.is_repeated and len(inputs) == 1 else 1
        for number in range(max(count, 1)):
            text = self.template.fill({name: texts[number % len(texts)] for name, texts in values.items()})
            if text is not None:
                yield from self._format(text)

    def _format(self, text: str) -> Sequence[str]:
        if self.flag:
            return [f"{self.flag}={text}"] if self.flag.startswith("--") else [self.flag, text]
        if self.template.inputs and text.startswith("-"):
            raise UnsupportedEntry(f"the value {text!r} would be read as an option, because it starts with -")
        return [text]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLaunch:
    """One way to use a server, with the inputs that it needs."""

    kind: LaunchKind
    identifier: str
    version: str = ""
    sha256: str = ""
    words: tuple[str | LaunchArgument, ...] = ()
    env: tuple[tuple[str, InputTemplate], ...] = ()
    url: InputTemplate | None = None
    headers: tuple[tuple[str, InputTemplate], ...] = ()

    @property
    def inputs(self) -> tuple[RegistryInput, ...]:
        """Every input once."""
        templates = [word.template for word in self.words if not isinstance(word, str)]
        named = [template for _, template in (*self.env, *self.headers)]
        return merge_inputs([*templates, *([self.url] if self.url else []), *named])

    @property
    def accepts_secrets(self) -> frozenset[str]:
        """The inputs of variables and headers alone, where the settings can refer to a secret."""
        templates = [word.template for word in self.words if not isinstance(word, str)]
        readable = {found.name for found in merge_inputs([*templates, *([self.url] if self.url else [])])}
        return frozenset(found.name for found in self.inputs if found.name not in readable)

    @property
    def repeated_inputs(self) -> frozenset[str]:
        """The inputs of arguments that accept several values."""
        repeated = [word for word in self.words if not isinstance(word, str) and word.is_repeated]
        return frozenset(word.template.inputs[0].name for word in repeated if len(word.template.inputs) == 1)

    def settings_entry(self, values: Values) -> dict[str, Any]:
        """Return the entry for the settings.

        Raises:
            UnsupportedEntry: The values give a command or a URL that is not allowed.
        """
        first = {name: texts[0] for name, texts in values.items()}
        if self.url is not None:
            return _without_empty(
                {"url": check_url(self.url.fill(first)), "headers": _fill(self.headers, first)}
            )
        command, *args = [text for word in self.words for text in _words(word, values)]
        return _without_empty({"command": command, "args": args, "env": _fill(self.env, first)})


def with_variable(launch: ServerLaunch, name: str) -> ServerLaunch:
    """Add an environment variable that the entry does not declare, with a value from the user."""
    template = parse_template({}, check_variable(name), kind="variable")
    words = launch.words
    if launch.kind == "oci":
        words = (*words[:2], "-e", name, *words[2:])
    return replace(launch, words=words, env=(*launch.env, (name, template)))


def check_variable(name: str) -> str:
    """Return the name of an environment variable.

    Raises:
        UnsupportedEntry: The name is invalid, or the variable could change which program runs.
    """
    if not VARIABLE.fullmatch(name):
        raise UnsupportedEntry(f"its variable {name!r} has an invalid name")
    if UNSAFE_VARIABLE.fullmatch(name):
        raise UnsupportedEntry(f"its variable {name!r} could change which program runs")
    return name


def check_url(url: str | None) -> str:
    """Return a URL on the public internet, as far as its text shows.

    Raises:
        UnsupportedEntry: It is something else.
    """
    match = re.fullmatch(r"https://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?([/?][!-~]*)?", url or "")
    if url is None or match is None:
        raise UnsupportedEntry(f"its URL {url!r} is not an https URL with a plain host name")
    host = match[1].strip("[]").rstrip(".").lower()
    if not _is_public_host(host):
        raise UnsupportedEntry(f"its URL {url!r} is not on the public internet")
    return url


def _is_public_host(host: str) -> bool:
    try:
        return ip_address(host).is_global
    except ValueError:
        last = host.rpartition(".")[2]
        return (
            "." in host
            and not last.isdigit()
            and last not in ("local", "localhost", "internal", "home", "lan")
        )


def _words(word: str | LaunchArgument, values: Values) -> Iterable[str]:
    return [word] if isinstance(word, str) else word.words(values)


def _fill(named: Iterable[tuple[str, InputTemplate]], values: Mapping[str, str]) -> dict[str, str]:
    filled = {name: template.fill(values) for name, template in named}
    return {name: text for name, text in filled.items() if text is not None}


def _without_empty(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value}
