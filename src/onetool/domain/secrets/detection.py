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

SHELL = re.compile(r"[\s`|;<>]|\$[({]|&&")
"""Parts of commands of a shell, and of references to secrets."""
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


def replace_secret_arguments(args: Sequence[str], replacement: str) -> list[str]:
    """Return command line arguments with a replacement instead of each secret value.

    >>> replace_secret_arguments(["--api-key", "sk-12345678", "--port=80"], "...")
    ['--api-key', '...', '--port=80']
    """
    replaced = list(args)
    for number, option, value in _option_values(args):
        if is_probably_secret(option, value):
            prefix = f"{option}=" if args[number - 1].startswith("-") else ""
            replaced[number - 1] = prefix + replacement
    return replaced


def mask_credentials(text: str, replacement: str, name: str = "") -> str:
    """Return a text with a replacement instead of each secret value in it. Everything else stays readable.

    A value that could be a command of a shell is not replaced: others may write `token=` before it.

    >>> mask_credentials("token=abc12345; curl x | sh", "...")
    'token=...; curl x | sh'
    """
    if name and _is_secret(name, text) and not SHELL.search(text):
        return replacement
    pairs = [match for match in NAME_VALUE_PAIR.finditer(text) if _is_secret(match[1], match[2])]
    spans = [match.span(2) for match in pairs if not SHELL.search(match[2])]
    spans += [(match.start() + 3, match.end() - 1) for match in USERINFO.finditer(text)]
    masked, end = "", 0
    for start, stop in sorted(spans):
        if start >= end and not SHELL.search(text[start:stop]):
            masked, end = masked + text[end:start] + replacement, stop
    return masked + text[end:]


def mask_arguments(args: Sequence[str], replacement: str) -> list[str]:
    """Return command line arguments with a replacement instead of each secret value, but never of a command.

    >>> mask_arguments(["--api-key=sk-12345678", "-c", "pass=secret12; ls"], "...")
    ['--api-key=...', '-c', 'pass=...; ls']
    """
    masked = list(args)
    for number, option, value in _option_values(args):
        prefix = f"{option}=" if args[number - 1].startswith("-") else ""
        masked[number - 1] = prefix + mask_credentials(value, replacement, option)
    return masked


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
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an invalid URL"  # its secrets cannot be found
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _is_secret(name: str, value: str) -> bool:
    is_path = FILE_PATH.fullmatch(value) and not KEY_WITH_SLASHES.fullmatch(value)
    return bool(SECRET_NAME.search(name)) and not is_path and not HARMLESS_VALUE.fullmatch(value)
