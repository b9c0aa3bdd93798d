"""A server that a person can log in to, and where what that brings is kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from onetool.domain.hosts import BadUrl, parse_url
from onetool.ports import TokenStore
from onetool.settings.schema import Server
from onetool.threads import Threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What logging in to a server, and staying so, needs to know of it."""

    server: str
    url: str
    store: TokenStore = field(repr=False)
    threads: Threads = field(repr=False)
    allowed_hosts: Sequence[str] = ()
    """Hosts that may be reached although they are not public."""


def account_of(
    server: str, settings: Server, store: TokenStore | None, threads: Threads, allowed_hosts: Sequence[str]
) -> Account | None:
    """Return the account of a server; None for a program, and where the operator gives a header instead."""
    is_given = any(name.lower() == "authorization" for name in settings.headers)
    if settings.url is None or store is None or is_given:
        return None
    try:
        url = str(parse_url(settings.url))
    except BadUrl:  # whoever opens it says so
        return None
    return Account(server=server, url=url, store=store, threads=threads, allowed_hosts=allowed_hosts)
