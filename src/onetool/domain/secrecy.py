"""Tells by name and shape which values belong among the secrets; in doubt it says that they do."""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

SECRET = re.compile(
    r"token|key|secret|pass|pwd|auth|credential|cookie|bearer|dsn|signature|private|jwt|conn(ection)?_?str"
    r"|(?<![a-z])pat(?![a-z])",
    re.IGNORECASE,
)
"""Names whose values nobody else should read."""
HARMLESS = re.compile(r"[a-z][a-z0-9+.-]*://.*|\d{1,6}|true|false|.{0,3}", re.IGNORECASE)
"""Values that are no secrets, whatever they are called: addresses, numbers, switches."""
PATH = re.compile(r"~\S*|\.\w{1,8}|(?:[/.]|[A-Za-z]:[\\/])(?:\S*[\\/]\S*|\S*\.\w{1,8})")
"""A place on a disk has a second slash or an extension, or begins at home."""
KEY_WITH_SLASHES = re.compile(r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[\w/+=]{30,}")
"""Some keys are written in an alphabet that has a slash, and begin with it."""
USERINFO = re.compile(r"://(?:[^/?#\s]*@|[^/?#\s:]*:(?!\d+[/?#])[^@\s]+@)")
"""`user:password@` of an address, also where the password has a slash that should not stand there."""
PAIR = re.compile(r"""(?:^|[?&;#\s"'{,])([\w.-]+)["']?(?:=|:(?!//)\s*)["']?(?=([^&;#\s"',}]+))""")
"""`name=value` or `name: value` inside a text: of a query, a header, an argument, a connection string."""


def looks_secret(name: str, value: str) -> bool:
    """Whether a value belongs among the secrets: by its name, or by what stands in it."""
    return _is_secret(name, value) or bool(USERINFO.search(value)) or bool(secret_name_in(value))


def secret_name_in(text: str) -> str:
    """The first name in a text whose value there is a secret; empty where there is none."""
    return next((name for name, value in PAIR.findall(text) if _is_secret(name, value)), "")


def secret_arguments(args: Sequence[str]) -> Iterator[str]:
    """Name the arguments of a program that anybody can read and nobody should; never by their values."""
    option = ""
    for number, word in enumerate(args, start=1):
        if word.startswith("-"):
            option, sign, value = word.partition("=")
        else:
            sign, value = "=", word
        if sign:
            if looks_secret(option, value):
                yield f"{option} {secret_name_in(value)}".strip() or f"number {number}"
            option = ""


def shown_server(url: str | None, command: str | None, args: Sequence[str]) -> str:
    """The address or the command of a server, without what nobody should read over a shoulder."""
    if url is None:
        return " ".join([command or "", *(["..."] if any(secret_arguments(args)) else args)])
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _is_secret(name: str, value: str) -> bool:
    is_place = PATH.fullmatch(value) and not KEY_WITH_SLASHES.fullmatch(value)
    return bool(SECRET.search(name)) and not is_place and not HARMLESS.fullmatch(value)
