"""brave: search the web and the news with Brave's index."""

from typing import Any, Literal

from onetool.sdk import api_headers, fetch_url, get_config, html_to_markdown, requires_secret, tool

pack = "brave"

KEY = "BRAVE_API_KEY"
BASE_URL = "https://api.search.brave.com/res/v1"
MOST_BYTES = 4 * 2**20
AGES = {"": "", "day": "pd", "week": "pw", "month": "pm", "year": "py"}
FAULTS = {
    401: f"it does not accept the key in {KEY}",
    403: f"the key in {KEY} is not for this kind of search",
    422: "it does not accept the arguments, or the key",
    429: "too many searches for this key; wait a moment",
}

Freshness = Literal["", "day", "week", "month", "year"]


@tool(timeout=20, parallel=True, tags=["web", "search"])
@requires_secret(KEY)
def search(query: str, count: int = 5, country: str = "", freshness: Freshness = "") -> list[dict[str, str]]:
    """Search the web; read what is found with web.fetch.

    Args:
        query: What to look for.
        count: How many results, 20 at most.
        country: Prefer results from this country, by its two letters such as `de`.
        freshness: Only pages of the last `day`, `week`, `month` or `year`.

    Returns:
        title, url and description of each result, best first.

    Example:
        brave.search(query="python 3.14 release notes", count=3)
    """
    answer = _ask("web", query, min(count, 20), country, freshness)
    return _results(answer.get("web"))


@tool(timeout=20, parallel=True, tags=["news", "search"])
@requires_secret(KEY)
def news(query: str, count: int = 5, country: str = "", freshness: Freshness = "") -> list[dict[str, str]]:
    """Search the news.

    Args:
        query: What to look for.
        count: How many articles, 50 at most.
        country: Prefer articles from this country, by its two letters such as `de`.
        freshness: Only articles of the last `day`, `week`, `month` or `year`.

    Returns:
        title, url, description and age of each article, best first.

    Example:
        brave.news(query="sqlite", freshness="week")
    """
    return _results(_ask("news", query, min(count, 50), country, freshness))


def _ask(kind: str, query: str, count: int, country: str, freshness: str) -> dict[str, Any]:
    headers = api_headers(KEY, header_name="X-Subscription-Token", prefix="")
    if not headers:
        raise ValueError(
            f"The secret {KEY} is missing; add it to secrets.yaml. Brave gives keys at brave.com/search/api."
        )
    params = {"q": query, "count": max(1, count), "country": country, "freshness": AGES[freshness]}
    base = str(get_config("packs.brave.base_url", BASE_URL)).rstrip("/")
    answer = fetch_url(
        f"{base}/{kind}/search",
        max_bytes=MOST_BYTES,
        headers=headers | {"Accept": "application/json"},
        params={name: value for name, value in params.items() if value} | {"text_decorations": "false"},
        follow_redirects=False,  # the key would go along
    )
    if answer.status != 200:
        raise ConnectionError(
            f"Brave answered with status {answer.status}: {FAULTS.get(answer.status, 'try later')}."
        )
    found = answer.json()
    return found if isinstance(found, dict) else {}


def _results(part: Any) -> list[dict[str, str]]:
    results = part.get("results") if isinstance(part, dict) else None
    return [_result(one) for one in results or () if isinstance(one, dict) and one.get("url")]


def _result(one: dict[str, Any]) -> dict[str, str]:
    shown = {
        "title": _plain(one.get("title")),
        "url": str(one["url"]),
        "description": _plain(one.get("description")),
    }
    return shown | ({"age": str(one["age"])} if one.get("age") else {})


def _plain(text: Any) -> str:
    """Texts come with tags around the words that were found, and with entities."""
    return html_to_markdown(str(text or ""), plain=True)
