"""A client of the MCP registry's API, version v0.1. Everything that it returns is validated."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from onetool.domain.servers.registry_entry import (
    LATEST,
    RegistryEntry,
    check_name,
    check_version,
    parse_entry,
)
from onetool.domain.servers.registry_inputs import UnsupportedEntry
from onetool.network.limited_request import RequestFailed, get_limited

from .answer_cache import AnswerCache

API = "/v0.1/servers"
MAX_BYTES, TIMEOUT_S = 4 * 2**20, 30.0
PAGE_SIZE, MAX_PAGES, MAX_CURSOR = 100, 5, 1_000
OK, NOT_FOUND = 200, 404
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


class RegistryError(Exception):
    """The registry has no usable answer, or no such server."""


class EntryNotFound(RegistryError):
    """The registry has no such server or version."""


class RegistryUnreachable(RegistryError):
    """The registry cannot be reached, and no answer is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineNote:
    """Why a stored answer is used, and its age."""

    problem: str
    age_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundServers:
    """Servers that match a search; `is_complete` is false if the registry has more."""

    entries: tuple[RegistryEntry, ...]
    skipped: int
    is_complete: bool


class RegistryClient:
    """Reads from the registry, or from the cache while the registry cannot be reached."""

    def __init__(
        self,
        base_url: str,
        cache: AnswerCache,
        *,
        now: Callable[[], float],
        on_offline: Callable[[OfflineNote], None],
    ) -> None:
        """Check the base URL.

        Raises:
            RegistryError: It is neither https, nor http on this machine, or contains a login.
        """
        if not _is_allowed(base_url):
            raise RegistryError("registry.base_url must be an https URL without a login.")
        self._base_url, self._cache = base_url.rstrip("/"), cache
        self._now, self._on_offline = now, on_offline

    def search(self, words: Sequence[str], limit: int) -> FoundServers:
        """Find the latest versions of servers whose name or description contains all words.

        Raises:
            RegistryUnreachable: The registry cannot be reached, and no answer is stored.
        """
        longest = max(words, key=len)  # the registry compares one text with names
        found: dict[str, RegistryEntry] = {}
        skipped, cursor = 0, ""
        for _ in range(MAX_PAGES):
            query = {"search": longest, "limit": str(PAGE_SIZE), "version": LATEST}
            page = _as_object(self._get(f"{API}?{urlencode(query | ({'cursor': cursor} if cursor else {}))}"))
            entries, invalid = _parse_entries(page.get("servers"))
            found |= {entry.name: entry for entry in entries if _matches(entry, words)}
            skipped, cursor = skipped + invalid, _next_cursor(page)
            if not cursor or len(found) > limit:
                break
        entries = sorted(found.values(), key=lambda entry: entry.name.lower())
        is_complete = not cursor and len(entries) <= limit
        return FoundServers(entries=tuple(entries[:limit]), skipped=skipped, is_complete=is_complete)

    def entry(self, name: str, version: str = LATEST) -> RegistryEntry:
        """Return one version of a server.

        Raises:
            RegistryError: There is none, it is invalid, or the registry cannot be reached.
        """
        try:
            path = f"{quote(check_name(name), safe='')}/versions/{quote(check_version(version), safe='')}"
            entry = parse_entry(self._get(f"{API}/{path}"))
        except UnsupportedEntry as error:
            raise RegistryError(f"The entry cannot be used: {error}.") from None
        if entry.name != name or version not in (LATEST, entry.version):
            raise RegistryError(
                f"The registry returned {entry.name!r} {entry.version!r} instead of {name!r} {version!r}."
            )
        return entry

    def _get(self, path: str) -> Any:
        url = self._base_url + path
        try:
            body = _fetch(url)
        except RequestFailed as error:
            stored = self._cache.read(url)
            if stored is None:
                raise RegistryUnreachable(f"The registry cannot be reached: {error}.") from None
            age_s = max(self._now() - stored.fetched_at, 0.0)
            self._on_offline(OfflineNote(problem=str(error), age_s=age_s))
            return stored.body
        self._cache.write(url, body, self._now())
        return body


def _is_allowed(base_url: str) -> bool:
    try:
        parts = urlsplit(base_url)
    except ValueError:
        return False
    is_local = parts.scheme == "http" and parts.hostname in LOOPBACK_HOSTS
    return bool(parts.hostname) and "@" not in parts.netloc and (parts.scheme == "https" or is_local)


def _fetch(url: str) -> Any:
    reply = get_limited(url, accept="application/json", max_bytes=MAX_BYTES, timeout_s=TIMEOUT_S)
    if reply.status == NOT_FOUND:
        raise EntryNotFound(
            "The registry has no such server or version. Search: onetool servers search WORDS"
        )
    if reply.status != OK:
        raise RequestFailed(f"status {reply.status}")
    try:
        return json.loads(reply.content)
    except (ValueError, RecursionError):
        raise RequestFailed("the answer is not valid JSON") from None


def _parse_entries(raw: Any) -> tuple[list[RegistryEntry], int]:
    """Return the valid entries and the number of invalid ones."""
    items = raw if isinstance(raw, list) else []
    entries, invalid = [], 0
    for item in items[:PAGE_SIZE]:
        try:
            entries.append(parse_entry(item))
        except UnsupportedEntry:
            invalid += 1
    return entries, invalid


def _matches(entry: RegistryEntry, words: Sequence[str]) -> bool:
    text = f"{entry.name} {entry.description}".lower()
    return all(word.lower() in text for word in words)


def _next_cursor(page: dict[str, Any]) -> str:
    cursor = _as_object(page.get("metadata")).get("nextCursor")
    return cursor if isinstance(cursor, str) and len(cursor) <= MAX_CURSOR and cursor.isprintable() else ""


def _as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
