"""`ot.help`: an overview, the page of one thing, or whatever comes near to the words that were given."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from onetool import testing

BASE = "https://onetool.beycom.online/reference/tools/"
GROUPS = ["Tools", "Packs", "Snippets", "Aliases"]
GITHUB = {"github": {"command": "github-server"}}
QUICK = {
    "description": "Ask the web quickly",
    "params": {"q": {"description": "The question", "example": "tea"}, "n": {"default": 3}},
    "body": 'brave.search(query="{{ q }}", count={{ n }})\n',
}
SETTINGS: dict[str, Any] = {
    "aliases": {"ws": "brave.web_search", "web_fetch": "web.fetch"},
    "snippets": {"b_q": QUICK, "webfetch": {"description": "Fetch many pages", "body": "1"}},
}
PROMPTS = {"packs": {"firecrawl": "Crawl politely."}}
SLUGS = {
    "brave": "brave-search",
    "code": "code-search",
    "db": "database",
    "ground": "grounding-search",
    "llm": "transform",
    "web": "web-fetch",
}


def search(query: str, count: int = 5) -> str:
    """Search the web.

    The newest pages come first.

    Args:
        query: What to look for.
        count: How many.

    Returns:
        The findings.

    Example:
        brave.search(query="x")
    """
    return query * count


def made(name: str, doc: str) -> Callable[[], str]:
    """Make a function that takes nothing."""

    def function() -> str:
        return name

    function.__name__, function.__doc__ = name, doc
    return function


PACKS: dict[str, list[Any]] = {
    "brave": [search, made("web_search", "Look around.")],
    "web": [made("fetch", "Get one page.")],
    "firecrawl": [made("crawl", "Walk a site."), made("scrape", "Take a page.")],
    "scaffold": [made("new", "Begin a project.")],
    "piano": [made("tune", "Tune strings.")],
}


async def ask(**args: Any) -> Any:
    """What help says in a runtime that has a bit of everything."""
    schema = {"type": "object", "properties": {"query": {"type": "string", "description": "Search text"}}}
    tool = testing.ProxyTool("issues", "List issues.", {**schema, "required": ["query"]}, lambda given: given)
    server = testing.proxy_server("github", [tool], connected=True)
    settings = {**SETTINGS, "servers": GITHUB}
    async with testing.memory_runtime(PACKS, settings=settings, servers=[server], prompts=PROMPTS) as ot:
        result = await ot.call("ot.help", **args)
        assert result.ok, result
        return result.data


def groups(text: str) -> dict[str, list[str]]:
    """The items under each heading of a search, in their order."""
    found: dict[str, list[str]] = {}
    items: list[str] = []
    for line in text.splitlines():
        if line.startswith("## "):
            items = found.setdefault(line[3:], [])
        elif line.strip():
            items.append(line)
    return found


def names(items: list[str]) -> list[str]:
    """The names of items that are written `- name: description`."""
    return [found[1] for item in items if (found := re.match(r"- \$?([\w.]+): ", item))]


@pytest.mark.spec("OT-86")
async def test_help_knows_tools_packs_snippets_and_aliases():
    """One function for all four, by query and info; code reads the same text."""
    for query in ("brave.search", "firecrawl", "$b_q", "ws", "web fetch"):
        for info in ("min", "full"):
            shown = await ask(query=query, info=info)
            assert type(shown) is str
            assert query.split()[0].lstrip("$") in shown
    async with testing.memory_runtime(PACKS, settings=SETTINGS) as ot:
        said = (await ot.call("ot.help", query="brave.search")).data
        assert await ot.runtime.text_of(await ot.run("ot.help(query='brave.search')")) == said


@pytest.mark.spec("OT-86", "OT-87")
async def test_without_a_query_it_is_an_overview_of_discovery():
    """It names the functions that list things, and no function that is not there."""
    overview = await ask()
    assert "ot.tools()" in overview
    assert "ot.packs()" in overview
    async with testing.memory_runtime() as ot:
        there = set((await ot.call("ot.tools", pattern="ot.", info="list")).data)
    assert set(re.findall(r"\bot\.[a-z_]+(?=\()", overview)) <= there


@pytest.mark.spec("OT-88")
@pytest.mark.parametrize("level", ["list", "min", "full"])
async def test_the_overview_explains_the_info_levels(level):
    """Each level has words of its own on its line."""
    overview = await ask()
    assert "info" in overview
    assert re.search(rf"(?m)^.*\b{level}\b\W+\w+", overview)


@pytest.mark.spec("OT-89")
async def test_the_overview_has_quick_examples():
    """A call of a tool and a snippet, in a part of its own."""
    section = re.search(r"(?is)\bexamples?\b(.*)", await ask())
    assert section
    assert re.search(r"\b[a-z_]+\.[a-z_]+\(", section[1])
    assert re.search(r"\$[a-z_]\w*", section[1])


@pytest.mark.spec("OT-90")
async def test_the_overview_has_tips():
    """A part of its own, with something in it."""
    assert re.search(r"(?im)^\W*(?:\w+ )?tips\b.*\n\s*\S", await ask())


@pytest.mark.spec("OT-91", "OT-92", "OT-93")
async def test_the_name_of_a_tool_gives_its_page():
    """Name, description, signature, arguments with types, what it returns, an example and the address."""
    shown = await ask(query="brave.search")
    assert shown.splitlines()[0] == "# brave.search"
    for said in (
        "Search the web.",
        "brave.search(query: str, count: int = 5)",
        "The findings.",
        'brave.search(query="x")',
        f"{BASE}brave-search/",
    ):
        assert said in shown
    for argument, kind, said in [("query", "str", "What to look for."), ("count", "int", "How many.")]:
        assert re.search(rf"(?m)^.*\b{argument}\b.*\b{kind}\b.*{re.escape(said)}", shown)
    assert re.search(r"-> ?str\b|(?is:\breturns?\b[^#]{0,20}\bstr\b)", shown)


@pytest.mark.spec("OT-91", "OT-92", "OT-106")
async def test_the_page_of_a_proxied_tool_is_made_from_its_schema():
    """The same parts, in the words of the server."""
    shown = await ask(query="github.issues")
    assert shown.splitlines()[0] == "# github.issues"
    for said in ("List issues.", "github.issues(query: str)", f"{BASE}github/"):
        assert said in shown
    assert re.search(r"(?m)^.*\bquery\b.*\bstr\b.*Search text", shown)


@pytest.mark.spec("OT-94", "OT-95", "OT-108")
async def test_the_name_of_a_pack_gives_its_page():
    """Name, instructions, each tool with its description, and the address under its own name."""
    shown = await ask(query="firecrawl")
    assert shown.splitlines()[0] == "# firecrawl"
    for said in (
        "Crawl politely.",
        "firecrawl.crawl",
        "Walk a site.",
        "firecrawl.scrape",
        "Take a page.",
        f"{BASE}firecrawl/",
    ):
        assert said in shown
    assert "Crawl politely." not in await ask(query="scaffold")
    assert "piano" not in shown


@pytest.mark.spec("OT-96", "OT-97")
async def test_a_dollar_and_a_name_give_the_page_of_a_snippet():
    """Name, description, parameters with defaults, the unexpanded body, and how it is used."""
    shown = await ask(query="$b_q")
    assert "b_q" in shown.splitlines()[0]
    for said in (
        "Ask the web quickly",
        "The question",
        'brave.search(query="{{ q }}", count={{ n }})',
        "$b_q q=tea",
    ):
        assert said in shown
    assert re.search(r"(?m)^.*\bn\b.*\bdefault\b\W+3\b|^.*\bn\b.*= ?3\b", shown)
    assert "webfetch" not in shown


@pytest.mark.spec("OT-98", "OT-99")
async def test_the_name_of_an_alias_gives_its_page():
    """The name, the tool that it stands for, and a hint how to use it."""
    shown = await ask(query="ws")
    assert re.search(r"\bws\b", shown.splitlines()[0])
    assert "brave.web_search" in shown
    assert re.search(r"(?i)\b(?:usage|use|call|hint|example)\b|\bws\(", shown)
    assert "web_fetch" not in shown


@pytest.mark.spec("OT-100")
async def test_words_that_match_nothing_exactly_give_a_search_by_type():
    """Four groups in their order; each holds what is like the words, and nothing else."""
    found = groups(await ask(query="web fetch"))
    assert [heading for heading in found if heading in GROUPS] == GROUPS
    assert "- web.fetch: Get one page." in found["Tools"]
    assert "web" in names(found["Packs"])
    assert any(re.match(r"- \$?webfetch: Fetch many pages$", item) for item in found["Snippets"])
    assert "web_fetch" in names(found["Aliases"])
    assert "piano" not in str(found)


@pytest.mark.spec("OT-100", "OT-101")
async def test_a_group_without_matches_says_none():
    """The heading stays."""
    found = groups(await ask(query="scaffoldl"))
    assert [heading for heading in found if heading in GROUPS] == GROUPS
    assert (found["Snippets"], found["Aliases"][0]) == (["(none)"], "(none)")


@pytest.mark.spec("OT-101")
@pytest.mark.parametrize(
    ("query", "pack", "others"),
    [
        ("scaffoldl", "scaffold", {"firecrawl", "piano"}),
        ("frirecrawl", "firecrawl", {"scaffold", "piano"}),
        ("paino", "piano", {"scaffold", "firecrawl"}),
    ],
)
async def test_a_typo_finds_what_was_meant(query, pack, others):
    """What is close is there, what is not is not."""
    found = names(groups(await ask(query=query))["Packs"])
    assert found[0] == pack
    assert others.isdisjoint(found)


@pytest.mark.spec("OT-102")
@pytest.mark.parametrize("group", GROUPS)
async def test_the_closest_match_comes_first(group):
    """In every group, whatever the order of the alphabet or of the settings."""
    nearest_last = ["my_scaffold", "another_scaffold", "scaffold"]
    runtime: dict[str, Any] = {
        "Tools": {"packs": {"kit": [made(name, "Do it.") for name in nearest_last]}},
        "Packs": {"packs": {name: [made("go", "Do it.")] for name in nearest_last}},
        "Snippets": {
            "settings": {"snippets": {name: {"description": "Do it", "body": "1"} for name in nearest_last}}
        },
        "Aliases": {"settings": {"aliases": dict.fromkeys(nearest_last, "tools.echo")}},
    }[group]
    async with testing.memory_runtime(**runtime) as ot:
        shown = (await ot.call("ot.help", query="scafold")).data
        listed = (await ot.call("ot.help", query="scafold", info="list")).data
    expected = ["scaffold", "my_scaffold", "another_scaffold"]
    found = [name.removeprefix("kit.") for name in names(groups(shown)[group])]
    assert [name for name in found if name in expected] == expected
    bare = [name.removeprefix("kit.").lstrip("$") for name in listed]
    assert [name for name in bare if name in expected] == expected


@pytest.mark.spec("OT-103")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("web", {"web", "web.fetch"}),
        ("brave.search", {"brave.search"}),
        ("web fetch", {"web.fetch"}),
        ("scaffoldl", {"scaffold"}),
    ],
)
async def test_the_list_of_matches_is_names_alone(query, expected):
    """A list of strings, also when the query is the exact name of something."""
    found = await ask(query=query, info="list")
    assert isinstance(found, list)
    assert {type(name) for name in found} == {str}
    assert set(found) >= expected
    assert [name for name in found if not re.fullmatch(r"\$?[\w.]+", name)] == []
    assert "piano" not in str(found)


@pytest.mark.spec("OT-104")
async def test_by_default_names_come_with_brief_descriptions():
    """The tools of a pack, or the items of a search: a name and one line, not the whole description."""
    shown = await ask(query="brave")
    assert shown == await ask(query="brave", info="min")
    for said in ("brave.search", "Search the web.", "brave.web_search", "Look around."):
        assert said in shown
    assert "The newest pages come first." not in shown
    found = groups(await ask(query="brav serch"))
    assert "- brave.search: Search the web." in found["Tools"]


@pytest.mark.spec("OT-105")
@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "brave.search",
            [
                "# brave.search",
                "Search the web.",
                "The newest pages come first.",
                "brave.search(query: str, count: int = 5)",
                "What to look for.",
                "How many.",
                "The findings.",
                'brave.search(query="x")',
                f"{BASE}brave-search/",
            ],
        ),
        (
            "github.issues",
            ["# github.issues", "List issues.", "github.issues(query: str)", "Search text", f"{BASE}github/"],
        ),
    ],
)
async def test_full_help_is_the_complete_documentation(query, said):
    """Every field that there is, and where the tool comes from."""
    shown = await ask(query=query, info="full")
    assert [part for part in said if part not in shown] == []
    assert re.search(r"(?i)source\W+" + ("proxy:github" if "github" in query else "local") + r"\b", shown)


@pytest.mark.spec("OT-93", "OT-106", "OT-107", "OT-108")
@pytest.mark.parametrize(("pack", "slug"), [*SLUGS.items(), ("firecrawl", "firecrawl"), ("webs", "webs")])
async def test_the_address_of_the_documentation_is_made_from_the_pack(pack, slug):
    """Six packs have a name of their own there, others keep theirs; for the pack and its tools."""
    async with testing.memory_runtime({pack: [made("go", "Do it.")]}) as ot:
        for query in (pack, f"{pack}.go"):
            for info in ("min", "full"):
                shown = (await ot.call("ot.help", query=query, info=info)).data
                addresses = re.findall(r"https?://[\w./-]+", shown)
                assert set(addresses) == {f"{BASE}{slug}/"}


@pytest.mark.spec("OT-109", "OT-110")
@pytest.mark.parametrize("info", ["min", "full"])
async def test_nothing_found_says_so_and_where_to_look(info):
    """In words, with the functions that list everything."""
    shown = await ask(query="xyznonexistent", info=info)
    assert re.search(r"(?i)no matches", shown)
    assert "ot.tools()" in shown
    assert "ot.packs()" in shown
    assert "piano" not in shown
