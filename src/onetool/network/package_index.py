"""Download of a wheel from a package index without an installer, over the guarded client."""

from collections.abc import Callable, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

from .client import HttpClients

if TYPE_CHECKING:
    import httpx2

PYPI, PYPI_FILES = "https://pypi.org/simple", "files.pythonhosted.org"
INDEX_VARIABLES = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
EXTRA_INDEX_VARIABLES = ("PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL")
MAX_PAGE_BYTES, MAX_WHEEL_BYTES = 8 * 2**20, 512 * 2**20
OK = 200

DownloadProgress = Callable[[int, int], None]
"""Receives the number of bytes downloaded and the total; the total is 0 if unknown."""


class WheelDownloadError(ConnectionError):
    """The wheel could not be downloaded from any index."""


def index_urls(env: Mapping[str, str]) -> list[str]:
    """Return the HTTP indexes that pip or uv would use, in their order."""
    first = next((env[name] for name in INDEX_VARIABLES if env.get(name)), PYPI)
    urls = [first, *(url for name in EXTRA_INDEX_VARIABLES for url in env.get(name, "").split())]
    return [url.rstrip("/") for url in urls if url.startswith(("https://", "http://"))]


def page_links(page: str) -> list[str]:
    """Return the links of a project's page in an index."""
    return _LinkParser(page).links


def fetch_wheel(
    indexes: Sequence[str], project: str, wheel: str, destination: Path, on_progress: DownloadProgress
) -> None:
    """Download a wheel from the first index that has it.

    Raises:
        WheelDownloadError: No index has it. The message has the error of each index, without the passwords
            that index URLs may contain.
    """
    import httpx2

    problems = []
    for index in indexes:
        try:
            page = httpx2.URL(f"{index}/{project}/")
        except httpx2.InvalidURL:  # the error may quote a password
            problems.append("invalid URL")
            continue
        try:
            _fetch_from(page, wheel, destination, on_progress)
            return
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            problems.append(f"{page.host}: {error or type(error).__name__}".rstrip("."))
    raise WheelDownloadError(
        f"Cannot download {wheel!r}: {'; '.join(problems) or 'no HTTP index configured'}."
    )


def _fetch_from(page: "httpx2.URL", wheel: str, destination: Path, on_progress: DownloadProgress) -> None:
    clients = HttpClients([page.host, PYPI_FILES])  # the operator chose this index, so it may be private
    try:
        client = clients.client()
        listing = bytearray()
        _download(client, page, listing.extend, MAX_PAGE_BYTES)
        links = page_links(listing.decode("utf-8", "replace"))
        link = next((link for link in links if _file_name(link) == wheel), None)
        if link is None:
            raise WheelDownloadError("not in the index")
        with destination.open("wb") as file:
            _download(client, _absolute_url(page, link), file.write, MAX_WHEEL_BYTES, on_progress)
    finally:
        clients.close()


def _download(
    client: "httpx2.Client",
    url: "httpx2.URL",
    write: Callable[[bytes], object],
    max_bytes: int,
    on_progress: DownloadProgress = lambda done, total: None,
) -> None:
    with client.stream("GET", url, headers={"Accept": "text/html, */*;q=0.1"}) as response:
        if response.status_code != OK:
            raise WheelDownloadError(f"status {response.status_code}")
        done, total = 0, int(response.headers.get("Content-Length") or 0)
        for block in response.iter_bytes():
            done += len(block)
            if done > max_bytes:
                raise WheelDownloadError(f"the response is larger than {max_bytes} bytes")
            write(block)
            on_progress(done, total)


def _absolute_url(page: "httpx2.URL", link: str) -> "httpx2.URL":
    """Return the absolute URL of a link, with the credentials of the index only on the same origin."""
    url = page.join(link)
    if (url.scheme, url.host, url.port) == (page.scheme, page.host, page.port):
        return url.copy_with(username=page.username or None, password=page.password or None)
    return url


def _file_name(link: str) -> str:
    return link.partition("#")[0].partition("?")[0].rpartition("/")[2]


class _LinkParser(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if tag == "a" and name == "href" and value]
