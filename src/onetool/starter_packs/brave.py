"""brave: search the web and the news with Brave Search."""

from typing import Any, Literal

from onetool.sdk import api_headers, fetch_url, get_config, html_to_markdown, requires_secret, tool

pack = "brave"

KEY = "BRAVE_API_KEY"
BASE_URL = "https://api.search.brave.com/res/v1"
MAX_BYTES = 4 * 2**20
FRESHNESS_CODES = {"": "", "day": "pd", "week": "pw", "month": "pm", "year": "py"}
ERROR_HINTS = {
    401: f"the key in {KEY} is invalid",
    403: f"the key in {KEY} does not permit this kind of search",
    422: "the arguments or the key are invalid",
    429: "too many requests with this key; wait a moment",
}

Freshness = Literal["", "day", "week", "month", "year"]


@tool(timeout=20, parallel=True, tags=["web", "search"])
@requires_secret(KEY)
def search(query: str, count: int = 5, country: str = "", freshness: Freshness = "") -> list[dict[str, str]]:
    """Search the web. Use web.fetch to read a result.

    Args:
        query: The search query.
        count: Number of results, at most 20.
        country: Prefer results from this country, a two-letter code such as `de`.
        freshness: Return only pages from the last `day`, `week`, `month` or `year`.

    Returns:
        title, url and description of each result, best match first.

    Example:
        brave.search(query="python 3.14 release notes", count=3)
    """
    response = _request("web", query, min(count, 20), country, freshness)
    return _results(response.get("web"))


@tool(timeout=20, parallel=True, tags=["news", "search"])
@requires_secret(KEY)
def news(query: str, count: int = 5, country: str = "", freshness: Freshness = "") -> list[dict[str, str]]:
    """Search the news.

    Args:
        query: The search query.
        count: Number of articles, at most 50.
        country: Prefer articles from this country, a two-letter code such as `de`.
        freshness: Return only articles from the last `day`, `week`, `month` or `year`.

    Returns:
        title, url, description and age of each article, best match first.

    Example:
        brave.news(query="sqlite", freshness="week")
    """
    return _results(_request("news", query, min(count, 50), country, freshness))


def _request(kind: str, query: str, count: int, country: str, freshness: str) -> dict[str, Any]:
    headers = api_headers(KEY, header_name="X-Subscription-Token", prefix="")
    if not headers:
        raise ValueError(
            f"The secret {KEY} is missing. Add it with: onetool secrets set {KEY}, or on the page Secrets of "
            "the web UI. Get a key at brave.com/search/api."
        )
    params = {"q": query, "count": max(1, count), "country": country, "freshness": FRESHNESS_CODES[freshness]}
    base = str(get_config("packs.brave.base_url", BASE_URL)).rstrip("/")
    response = fetch_url(
        f"{base}/{kind}/search",
        max_bytes=MAX_BYTES,
        headers=headers | {"Accept": "application/json"},
        params={name: value for name, value in params.items() if value} | {"text_decorations": "false"},
        follow_redirects=False,  # a redirect would receive the key
    )
    if response.status != 200:
        raise ConnectionError(
            f"Brave returned status {response.status}: {ERROR_HINTS.get(response.status, 'try again later')}."
        )
    body = response.json()
    return body if isinstance(body, dict) else {}


def _results(section: Any) -> list[dict[str, str]]:
    results = section.get("results") if isinstance(section, dict) else None
    return [_result(item) for item in results or () if isinstance(item, dict) and item.get("url")]


def _result(item: dict[str, Any]) -> dict[str, str]:
    result = {
        "title": _plain(item.get("title")),
        "url": str(item["url"]),
        "description": _plain(item.get("description")),
    }
    return result | ({"age": str(item["age"])} if item.get("age") else {})


def _plain(text: Any) -> str:
    """Remove entities and the tags around matched words."""
    return html_to_markdown(str(text or ""), plain=True)
