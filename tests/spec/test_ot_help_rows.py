"""`ot.help`: an overview, the documentation of one item, or a search."""

import re
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from onetool import onetool_runtime, testing
from support.documented_tools import make_function, search

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


PACKS: dict[str, list[Any]] = {
    "brave": [search, make_function("web_search", "Look around.")],
    "web": [make_function("fetch", "Get one page.")],
    "firecrawl": [make_function("crawl", "Crawl a site."), make_function("scrape", "Scrape a page.")],
    "scaffold": [make_function("new", "Start a project.")],
    "piano": [make_function("tune", "Tune strings.")],
}


def make_server() -> Any:
    """Return the server `github` with one tool."""
    schema = {"type": "object", "properties": {"query": {"type": "string", "description": "Search text"}}}
    tool = testing.FakeMcpTool("issues", "List issues.", {**schema, "required": ["query"]}, lambda args: args)
    return testing.fake_mcp_server("github", [tool], connected=True)


async def call_help(**args: Any) -> Any:
    """Return the output of `ot.help` in a runtime with tools, packs, snippets, aliases and a server."""
    settings, servers = {**SETTINGS, "servers": GITHUB}, [make_server()]
    async with testing.memory_runtime(PACKS, settings=settings, servers=servers, prompts=PROMPTS) as ot:
        result = await ot.call("ot.help", **args)
        assert result.ok, result
        return result.data


def parse_groups(text: str) -> dict[str, list[str]]:
    """Return the items under each heading of a search, in order."""
    found: dict[str, list[str]] = {}
    items: list[str] = []
    for line in text.splitlines():
        if line.startswith("## "):
            items = found.setdefault(line[3:], [])
        elif line.strip():
            items.append(line)
    return found


def item_names(items: list[str]) -> list[str]:
    """Return the names of items of the form `- name: description`."""
    return [match[1] for item in items if (match := re.match(r"- \$?([\w.]+): ", item))]


@pytest.mark.spec("OT-86")
async def test_help_covers_tools_packs_snippets_and_aliases():
    """Code returns the same text as a call."""
    for query in ("brave.search", "firecrawl", "$b_q", "ws", "web fetch"):
        for info in ("min", "full"):
            shown = await call_help(query=query, info=info)
            assert type(shown) is str
            assert query.split()[0].lstrip("$") in shown
    async with testing.memory_runtime(PACKS, settings=SETTINGS) as ot:
        text = (await ot.call("ot.help", query="brave.search")).data
        assert (
            await ot.runtime.state.model_output.render_run(await ot.run("ot.help(query='brave.search')"))
        ).text == text


@pytest.mark.spec("OT-86", "OT-87")
async def test_help_without_a_query_is_an_overview_of_existing_functions():
    overview = await call_help()
    assert "ot.tools()" in overview
    assert "ot.packs()" in overview
    async with testing.memory_runtime() as ot:
        existing = set((await ot.call("ot.tools", pattern="ot.", info="list")).data)
    assert set(re.findall(r"\bot\.[a-z_]+(?=\()", overview)) <= existing


@pytest.mark.spec("OT-88")
async def test_overview_explains_the_info_levels():
    """Each level has a line of its own that says what it shows."""
    meanings = {
        "list": r"\bnames?\b.*\bonly\b|\bonly\b.*\bnames?\b",
        "min": r"\bone line\b|\bbrief|\bshort|\bsummar",
        "full": r"\beverything\b|\bcomplete\b|\ball details\b",
    }
    lines = [line for line in (await call_help()).splitlines() if re.match(r"\W*info\W+\w+\W+\s", line)]
    explained = {level: [line for line in lines if re.search(meanings[level], line)] for level in meanings}
    named = {level: [line for line in lines if re.match(rf"\W*info\W+{level}\b", line)] for level in meanings}
    assert explained == named
    assert [len(found) for found in named.values()] == [1, 1, 1]


@pytest.mark.spec("OT-89", "OT-90")
async def test_overview_has_tips_and_examples_of_a_tool_and_a_snippet():
    overview = await call_help()
    section = re.search(r"(?is)\bexamples?\b(.*)", overview)
    assert section
    assert re.search(r"\b[a-z_]+\.[a-z_]+\(", section[1])
    assert re.search(r"\$[a-z_]\w*", section[1])
    assert re.search(r"(?im)^\W*(?:\w+ )?tips\b.*\n\s*\S", overview)


@pytest.mark.spec("OT-91", "OT-92", "OT-93")
async def test_help_of_a_tool_shows_its_documentation():
    """Name, description, signature, typed arguments, return type, example and URL, each under its label."""
    shown = await call_help(query="brave.search")
    assert shown.splitlines()[0] == "# brave.search"
    assert "\nSearch the web.\n" in shown
    for label, text in [
        ("signature", "brave.search(query: str, count: int = 5)"),
        ("returns", "str: The findings."),
        ("example", 'brave.search(query="x")'),
        ("documentation", f"{BASE}brave-search/"),
    ]:
        assert re.search(rf"(?im)^\W*{label}:\s+{re.escape(text)}", shown), label
    for argument, kind, description in [("query", "str", "What to look for."), ("count", "int", "How many.")]:
        assert re.search(rf"(?m)^.*\b{argument}\b.*\b{kind}\b.*{re.escape(description)}", shown)


@pytest.mark.spec("OT-91", "OT-92", "OT-94", "OT-95", "OT-96", "OT-97", "OT-106", "OT-108")
@pytest.mark.parametrize(
    ("query", "heading", "texts", "patterns", "others"),
    [
        (
            "github.issues",
            "# github.issues",
            ["List issues.", "github.issues(query: str)"],
            [r"^.*\bquery\b.*\bstr\b.*Search text"],
            ["Documentation"],
        ),
        (
            "firecrawl",
            "# firecrawl",
            ["Crawl politely.", "Crawl a site.", "firecrawl.scrape", "Scrape a page.", f"{BASE}firecrawl/"],
            [r"firecrawl\.crawl\b"],
            ["piano"],
        ),
        (
            "$b_q",
            r".*\bb_q\b.*",
            [
                "Ask the web quickly",
                "The question",
                'brave.search(query="{{ q }}", count={{ n }})',
                "$b_q q=tea",
            ],
            [r"^.*\bn\b.*\bdefault\b\W+3\b|^.*\bn\b.*= ?3\b"],
            ["webfetch"],
        ),
    ],
)
async def test_help_of_one_item_shows_all_about_it(query, heading, texts, patterns, others):
    """A tool of a server as its schema describes it, a pack with its tools, a snippet with its usage."""
    shown = await call_help(query=query)
    assert re.fullmatch(heading, shown.splitlines()[0])
    assert [text for text in texts if text not in shown] == []
    assert [pattern for pattern in patterns if not re.search(pattern, shown, re.MULTILINE)] == []
    assert [other for other in others if other in shown] == []


@pytest.mark.spec("OT-95")
async def test_help_of_a_pack_without_instructions_shows_none():
    assert "Crawl politely." not in await call_help(query="scaffold")


@pytest.mark.spec("OT-98", "OT-99")
async def test_help_of_an_alias_shows_its_target_and_usage():
    """The hint calls the alias, and says whose arguments it takes."""
    shown = await call_help(query="ws")
    assert re.search(r"\bws\b", shown.splitlines()[0])
    (target,) = re.findall(r"(?im)^.*\balias\b.*$", shown)
    assert "brave.web_search" in target
    (hint,) = re.findall(r"(?im)^.*\b(?:usage|use|call|hint|example)\b.*$", shown)
    assert re.search(r"\bws\(.*\bbrave\.web_search\b", hint)
    assert "web_fetch" not in shown
    async with testing.memory_runtime(PACKS, settings=SETTINGS) as ot:
        assert (await ot.run("ws()")).data == (await ot.run("brave.web_search()")).data == "web_search"


@pytest.mark.spec("OT-100")
async def test_help_without_an_exact_match_searches_all_four_groups():
    found = parse_groups(await call_help(query="web fetch"))
    assert [heading for heading in found if heading in GROUPS] == GROUPS
    assert "- web.fetch: [read-only] Get one page." in found["Tools"]
    assert "web" in item_names(found["Packs"])
    assert any(re.match(r"- \$?webfetch: Fetch many pages$", item) for item in found["Snippets"])
    assert "web_fetch" in item_names(found["Aliases"])
    assert "piano" not in str(found)


@pytest.mark.spec("OT-100", "OT-101")
async def test_search_group_without_matches_shows_none():
    """The heading remains."""
    found = parse_groups(await call_help(query="scaffoldl"))
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
async def test_search_tolerates_typos(query, pack, others):
    found = item_names(parse_groups(await call_help(query=query))["Packs"])
    assert found[0] == pack
    assert others.isdisjoint(found)


@pytest.mark.spec("OT-102")
@pytest.mark.parametrize("group", GROUPS)
async def test_search_ranks_the_closest_match_first_in_every_group(group):
    """The order of names or settings does not matter."""
    nearest_last = ["my_scaffold", "another_scaffold", "scaffold"]
    runtime: dict[str, Any] = {
        "Tools": {"packs": {"kit": [make_function(name, "Do it.") for name in nearest_last]}},
        "Packs": {"packs": {name: [make_function("go", "Do it.")] for name in nearest_last}},
        "Snippets": {
            "settings": {"snippets": {name: {"description": "Do it", "body": "1"} for name in nearest_last}}
        },
        "Aliases": {"settings": {"aliases": dict.fromkeys(nearest_last, "tools.echo")}},
    }[group]
    async with testing.memory_runtime(**runtime) as ot:
        shown = (await ot.call("ot.help", query="scafold")).data
        listed = (await ot.call("ot.help", query="scafold", info="list")).data
    expected = ["scaffold", "my_scaffold", "another_scaffold"]
    found = [name.removeprefix("kit.") for name in item_names(parse_groups(shown)[group])]
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
async def test_help_info_list_returns_names_only(query, expected):
    """This includes an exact match."""
    found = await call_help(query=query, info="list")
    assert isinstance(found, list)
    assert {type(name) for name in found} == {str}
    assert set(found) >= expected
    assert [name for name in found if not re.fullmatch(r"\$?[\w.]+", name)] == []
    assert "piano" not in str(found)


@pytest.mark.spec("OT-104")
async def test_help_info_min_shows_names_with_brief_descriptions():
    shown = await call_help(query="brave")
    assert shown == await call_help(query="brave", info="min")
    for text in ("brave.search", "Search the web.", "brave.web_search", "Look around."):
        assert text in shown
    assert "The newest pages come first." not in shown
    found = parse_groups(await call_help(query="brav serch"))
    assert "- brave.search: [read-only] Search the web." in found["Tools"]


@pytest.mark.spec("OT-105")
@pytest.mark.parametrize(
    ("query", "texts"),
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
            ["# github.issues", "List issues.", "github.issues(query: str)", "Search text"],
        ),
    ],
)
async def test_help_info_full_shows_the_complete_documentation_and_source(query, texts):
    shown = await call_help(query=query, info="full")
    assert [text for text in texts if text not in shown] == []
    assert re.search(r"(?i)source\W+" + ("proxy:github" if "github" in query else "local") + r"\b", shown)


@pytest.mark.spec("OT-93", "OT-106", "OT-107", "OT-108")
@pytest.mark.parametrize(("pack", "slug"), [*SLUGS.items(), ("firecrawl", "firecrawl"), ("webs", "webs")])
async def test_documentation_url_is_derived_from_the_pack_name(pack, slug):
    """Six packs have a different name in the URL."""
    async with testing.memory_runtime({pack: [make_function("go", "Do it.")]}) as ot:
        for query in (pack, f"{pack}.go"):
            for info in ("min", "full"):
                shown = (await ot.call("ot.help", query=query, info=info)).data
                addresses = re.findall(r"https?://[\w./-]+", shown)
                assert set(addresses) == {f"{BASE}{slug}/"}


@pytest.mark.spec("OT-95", "OT-106")
@pytest.mark.parametrize("query", ["github", "github.issues", "shop", "shop.buy", "config.sample"])
async def test_tools_of_servers_bundles_and_settings_have_no_documentation_url(query):
    """The pages of the site describe Python packs only."""
    sample = {"name": "sample", "description": "A sample.", "type": "function", "handler": "sample"}
    sample |= {"parameters": {"type": "object"}, "implementation": {"type": "mock", "mock_response": 1}}
    settings = {"servers": GITHUB, "tools": [sample]}
    async with testing.memory_runtime(settings=settings, servers=[make_server()]) as ot:
        bundles = ot.runtime.state.bundles
        bundle, _ = await bundles.put_bundle(str(uuid7()), {"slug": "shop"})
        body = {"type": "python", "pythonImpl": {"func": "tools.echo"}}
        await bundles.put_tool((bundle.id, "buy", "v1"), body)
        for info in ("min", "full"):
            shown = (await ot.call("ot.help", query=query, info=info)).data
            assert shown.startswith(f"# {query}\n")
            assert "http" not in shown


@pytest.mark.spec("OT-95", "OT-106")
@pytest.mark.parametrize("docs_url", ["https://me.example/x", ""])
def test_pack_can_set_or_clear_its_documentation_url(home, docs_url):
    home.write("tools/mine.py", f"docs_url = {docs_url!r}\ndef go() -> int: return 1\n")
    with onetool_runtime() as ot:
        for query in ("mine", "mine.go"):
            shown = re.findall(r"Documentation: (.*)", ot.call("ot.help", query=query).data)
            assert shown == ([docs_url] if docs_url else [])


@pytest.mark.parametrize("docs_url", ["5", "'mine'", "'javascript:alert(1)'", "'https://a b'"])
def test_pack_with_an_invalid_documentation_url_is_skipped(home, docs_url):
    home.write("tools/mine.py", f"docs_url = {docs_url}\ndef go() -> int: return 1\n")
    with onetool_runtime() as ot:
        result = ot.call("mine.go")
    assert (result.ok, "is not a URL" in result.error.message) == (False, True)


@pytest.mark.spec("OT-109", "OT-110")
@pytest.mark.parametrize("info", ["min", "full"])
async def test_help_without_matches_suggests_the_listing_functions(info):
    shown = await call_help(query="xyznonexistent", info=info)
    assert re.search(r"(?i)no matches", shown)
    assert "ot.tools()" in shown
    assert "ot.packs()" in shown
    assert "piano" not in shown
