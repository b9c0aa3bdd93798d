"""Detection of secret values by name and form; in doubt, a value counts as secret."""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from urllib.parse import unquote, urlsplit

SECRET_NAME = re.compile(
    r"token|key|secret|pass|pwd|auth|credential|cookie|bearer|dsn|signature|private|jwt|conn(ection)?_?str"
    r"|(?<![a-z])pat(?![a-z])",
    re.IGNORECASE,
)
"""Names whose values are secret."""
HARMLESS_VALUE = re.compile(r"[a-z][a-z0-9+.-]*://.*|\d{1,6}|true|false|.{0,3}", re.IGNORECASE)
"""Values that are not secret under any name: URLs, short numbers, booleans, very short strings."""
FILE_PATH = re.compile(r"~\S*|\.\w{1,8}|(?:[/.]|[A-Za-z]:[\\/])(?:\S*[\\/]\S*|\S*\.\w{1,8})")
"""A file path has a second slash or an extension, or starts with `~`."""
KEY_WITH_SLASHES = re.compile(r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[\w/+=]{30,}")
"""Base64 keys may start with a slash and look like a path."""
USERINFO = re.compile(r"://(?:[^/?#\s]*@|[^/?#\s:]*:(?!\d+[/?#])[^@\s]+@)")
"""`user:password@` in a URL, also if the password contains an unescaped slash."""
NAME_VALUE_PAIR = re.compile(r"""(?:^|[?&;#\s"'{,])([\w.-]+)["']?(?:=|:(?!//)\s*)["']?(?=([^&;#\s"',}]+))""")
"""`name=value` or `name: value` in a query string, a header, an argument or a connection string."""

CREDENTIAL = re.compile(r"(?=.{8})(?:.*\d|.{16})", re.DOTALL)
"""A value that a program generated: long, or with a digit. Redacting an ordinary word would harm results."""


def is_probably_secret(name: str, value: str) -> bool:
    """Whether a value is secret, judged by its name or its content."""
    return _is_secret(name, value) or bool(USERINFO.search(value)) or bool(secret_name_in(value))


def secret_name_in(text: str) -> str:
    """Return the first name in a text whose value is secret, or an empty string."""
    return next((name for name, value in NAME_VALUE_PAIR.findall(text) if _is_secret(name, value)), "")


def secret_arguments(args: Sequence[str]) -> Iterator[str]:
    """Yield the names or positions of command line arguments with secret values, never the values."""
    for number, option, value in _option_values(args):
        if is_probably_secret(option, value):
            yield f"{option} {secret_name_in(value)}".strip() or f"number {number}"


def literal_credentials(named: Mapping[str, str], args: Sequence[str] = (), url: str = "") -> Iterator[str]:
    """Yield the credentials that are written out in headers or variables, in arguments and in a URL.

    A value with a placeholder is not written out: its secret is in secrets.yaml.
    """
    values = [*named.items(), *((option, value) for _, option, value in _option_values(args)), ("", url)]
    for name, value in values:
        if "${" not in value:
            yield from (part for part in _credential_parts(name, value) if CREDENTIAL.match(part))


def _credential_parts(name: str, value: str) -> Iterator[str]:
    if _is_secret(name, value):
        yield value
        scheme, _, token = value.partition(" ")
        yield token
        if scheme.lower() == "basic":
            with suppress(ValueError):
                yield base64.b64decode(token, validate=True).decode().partition(":")[2]
    if USERINFO.search(value):
        yield unquote(value.partition("://")[2].rpartition("@")[0].partition(":")[2])
    yield from (unquote(part) for key, part in NAME_VALUE_PAIR.findall(value) if _is_secret(key, part))


def _option_values(args: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the values of command line arguments with their position and option, such as `--key`."""
    option = ""
    for number, arg in enumerate(args, start=1):
        if arg.startswith("-"):
            option, equals, value = arg.partition("=")
        else:
            equals, value = "=", arg
        if equals:
            yield number, option, value
            option = ""


def redact_server(url: str | None, command: str | None, args: Sequence[str]) -> str:
    """Return the URL or the command line of a server without secrets."""
    if url is None:
        return " ".join([command or "", *(["..."] if any(secret_arguments(args)) else args)])
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _is_secret(name: str, value: str) -> bool:
    is_path = FILE_PATH.fullmatch(value) and not KEY_WITH_SLASHES.fullmatch(value)
    return bool(SECRET_NAME.search(name)) and not is_path and not HARMLESS_VALUE.fullmatch(value)
