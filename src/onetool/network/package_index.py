"""A wheel from a package index, without an installer: the index's plain pages, over the guarded client."""

from collections.abc import Callable, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

from .client import HttpClients

if TYPE_CHECKING:
    import httpx2

PYPI, PYPI_FILES = "https://pypi.org/simple", "files.pythonhosted.org"
FIRST = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
MORE = ("PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL")
LARGEST_PAGE, LARGEST_WHEEL = 8 * 2**20, 512 * 2**20
OK = 200

Report = Callable[[int, int], None]
"""Told how many bytes are there, and of how many; 0 where that is not known."""


class WheelNotFetched(ConnectionError):
    """No index has the wheel, or none can be reached."""


def index_urls(env: Mapping[str, str]) -> list[str]:
    """Return the indexes that pip or uv would ask over HTTP, in their order."""
    first = next((env[name] for name in FIRST if env.get(name)), PYPI)
    urls = [first, *(url for name in MORE for url in env.get(name, "").split())]
    return [url.rstrip("/") for url in urls if url.startswith(("https://", "http://"))]


def fetch_wheel(indexes: Sequence[str], project: str, wheel: str, into: Path, report: Report) -> None:
    """Write a wheel of the first index that has it to a file.

    Raises WheelNotFetched with what each index said; never with the password that a URL may hold.
    """
    import httpx2

    said = []
    for index in indexes:
        try:
            page = httpx2.URL(f"{index}/{project}/")
        except httpx2.InvalidURL:  # it would repeat what stands in the place of the port
            said.append("a URL that cannot be read")
            continue
        try:
            _fetch_from(page, wheel, into, report)
            return
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            said.append(f"{page.host}: {error or type(error).__name__}")
    raise WheelNotFetched(
        f"{wheel!r} cannot be fetched. {'; '.join(said) or 'No index is reached over HTTP.'}"
    )


def _fetch_from(page: "httpx2.URL", wheel: str, into: Path, report: Report) -> None:
    """The operator has chosen this index: it may be a private one."""
    clients = HttpClients([page.host, PYPI_FILES])
    try:
        client = clients.client()
        listing = bytearray()
        _download(client, page, listing.extend, LARGEST_PAGE)
        links = _Links(listing.decode("utf-8", "replace"))
        link = next((one for one in links.found if _file_name(one) == wheel), None)
        if link is None:
            raise WheelNotFetched("it is not listed there.")
        with into.open("wb") as file:
            _download(client, _joined(page, link), file.write, LARGEST_WHEEL, report)
    finally:
        clients.close()


def _download(
    client: "httpx2.Client",
    url: "httpx2.URL",
    write: Callable[[bytes], object],
    most: int,
    report: Report = lambda done, total: None,
) -> None:
    with client.stream("GET", url, headers={"Accept": "text/html, */*;q=0.1"}) as answer:
        if answer.status_code != OK:
            raise WheelNotFetched(f"status {answer.status_code}")
        done, total = 0, int(answer.headers.get("Content-Length") or 0)
        for block in answer.iter_bytes():
            done += len(block)
            if done > most:
                raise WheelNotFetched(f"the answer is larger than {most} bytes.")
            write(block)
            report(done, total)


def _joined(page: "httpx2.URL", link: str) -> "httpx2.URL":
    """Where a link leads; what the index was asked with goes to the same server only."""
    url = page.join(link)
    if (url.scheme, url.host, url.port) == (page.scheme, page.host, page.port):
        return url.copy_with(username=page.username or None, password=page.password or None)
    return url


def _file_name(link: str) -> str:
    return link.partition("#")[0].partition("?")[0].rpartition("/")[2]


class _Links(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]
