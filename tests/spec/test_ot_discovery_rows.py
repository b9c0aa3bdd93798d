"""`ot.tools`, `ot.packs`, `ot.aliases` and `ot.snippets` at three levels of detail."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from onetool import testing
from onetool.domain.text.yaml_text import to_yaml
from support.documented_tools import make_function, search

GITHUB = {"servers": {"github": {"command": "github-server"}}}
ALIASES = {"ws": "brave.web_search", "alias_f": "demo.foo"}
RESEARCH: dict[str, Any] = {
    "description": "Search web and extract structured findings",
    "params": {
        "topic": {"description": "Topic to research", "example": "Python"},
        "count": {"default": 5, "description": "Number of sources"},
    },
    "body": (
        'results = brave.search(query="{{ topic }}", count={{ count }})\n'
        'llm.transform(input=results, prompt="Extract key findings")\n'
    ),
}
RESEARCH_TEXT = """\
name: brv_research
description: Search web and extract structured findings
params:
  topic: {description: "Topic to research"}
  count: {default: 5, description: "Number of sources"}
body: |
  results = brave.search(query="{{ topic }}", count={{ count }})
  llm.transform(input=results, prompt="Extract key findings")

# Example with defaults:
# $brv_research topic=Python
# Expands to:
results = brave.search(query="Python", count=5)
llm.transform(input=results, prompt="Extract key findings")"""
SNIPPETS: dict[str, Any] = {
    "foon": {"description": "Get foo() for n items", "body": "foo({{ n }})", "params": {"n": {"default": 1}}},
    "pkg_info": {"description": "Show versions", "body": "1"},
    "outdated": {"description": "List old PKG names", "body": "2"},
    "brv_research": RESEARCH,
}


def bare():
    return 1


def make_packs(names: Iterable[str], docs: Mapping[str, str] | None = None) -> dict[str, list[Any]]:
    """Return packs made from dotted tool names."""
    packs: dict[str, list[Any]] = {}
    for name in names:
        pack, _, function = name.partition(".")
        packs.setdefault(pack, []).append(make_function(function, (docs or {}).get(name, "Do it.")))
    return packs


def make_server(*tools: tuple[str, str, dict[str, Any]]) -> Any:
    """Return a connected server with the given tools."""
    definitions = tools or (("search", "Search repositories.", {"type": "object"}),)
    fake_tools = [testing.FakeMcpTool(*tool, lambda args: {"found": args}) for tool in definitions]
    return testing.fake_mcp_server("github", fake_tools, connected=True)


async def call_ot(function: str, runtime: dict[str, Any] | None = None, /, **args: Any) -> Any:
    """Call a function of the `ot` pack in a fresh runtime and return its data."""
    async with testing.memory_runtime(**(runtime or {})) as ot:
        result = await ot.call(f"ot.{function}", **args)
        assert result.ok, result
        return result.data


def name_of(entry: Any) -> str:
    """Return the name of an entry of a listing, or with which its text begins."""
    return str(entry["name"]) if isinstance(entry, dict) else re.split(": | -> ", entry)[0]


@pytest.fixture
def local_and_proxied() -> dict[str, Any]:
    """Return options for a runtime with local packs, a proxied server, aliases and snippets."""
    settings = {**GITHUB, "aliases": ALIASES, "snippets": SNIPPETS}
    return {"packs": {"brave": [search], "x": [bare]}, "settings": settings, "servers": [make_server()]}


# Tools


@pytest.mark.spec("OT-03", "OT-04")
async def test_tools_lists_local_and_proxied_tools_once(local_and_proxied):
    async with testing.memory_runtime(**local_and_proxied) as ot:
        result = await ot.call("ot.tools")
        registered = {found.spec.name async for found in ot.runtime.state.catalog.tools()}
    assert result.ok
    assert isinstance(result.data, list)
    names = [entry["name"] for entry in result.data]
    assert len(names) == len(set(names))
    assert set(names) == registered | {"brave.search", "x.bare", "github.search"}
    assert set(names) >= {"ot.tools", "fs.read_file", "shell.pwd", "time.now", "tools.echo"}


@pytest.mark.spec("OT-03", "OT-55", "OT-68", "OT-75")
@pytest.mark.parametrize("function", ["tools", "packs", "aliases", "snippets"])
@pytest.mark.parametrize("info", ["list", "min", "full"])
async def test_listings_accept_a_pattern_and_an_info_level(function, info, local_and_proxied):
    """A call and code return the same data, whose text is YAML."""
    local_and_proxied["settings"] = {
        **GITHUB,
        "aliases": {"bravo": "brave.search"},
        "snippets": {"brave_all": RESEARCH},
    }
    async with testing.memory_runtime(**local_and_proxied) as ot:
        found = await ot.call(f"ot.{function}", pattern="brav", info=info)
        code = await ot.run(f"ot.{function}(pattern='brav', info='{info}')")
        assert (found.ok, code.ok, code.data) == (True, True, found.data)
        assert (
            (await ot.runtime.state.model_output.render_run(code)).text
            == str(found.data)
            == to_yaml(found.data)
        )
    assert "brav" in str(found.data)
    assert "github" not in str(found.data)


@pytest.mark.spec("OT-05", "OT-57", "OT-70", "OT-77")
@pytest.mark.parametrize("function", ["tools", "packs", "aliases", "snippets"])
async def test_default_info_level_is_min(function, local_and_proxied):
    async with testing.memory_runtime(**local_and_proxied) as ot:
        defaults = [(await ot.call(f"ot.{function}", **args)).data for args in ({}, {"info": "min"})]
        others = [(await ot.call(f"ot.{function}", info=info)).data for info in ("list", "full")]
    assert defaults[0] == defaults[1]
    assert defaults[0]
    assert defaults[0] not in others


MATCHED: dict[str, Any] = {
    "packs": make_packs(
        ["brave.search", "Braver.two", "x.SEARCHall", "x.other", "x.brav", "a.get", "a.get_all", "axget.y"],
        {"x.other": "Do a search."},
    ),
    "settings": {
        "aliases": {"ws": "brave.web_SEARCH", "searchx": "a.b", "other": "c.d", "near": "bravexweb.y"},
        "snippets": SNIPPETS,
    },
}


@pytest.mark.spec("OT-06", "OT-07", "OT-58", "OT-71", "OT-78")
@pytest.mark.parametrize(
    ("function", "pattern", "expected"),
    [
        ("tools", "search", {"brave.search", "x.SEARCHall"}),
        ("tools", "SeArCh", {"brave.search", "x.SEARCHall"}),
        ("tools", "a.get", {"a.get", "a.get_all"}),
        ("tools", "a.get_all", {"a.get_all"}),
        ("tools", "ve.sea", {"brave.search"}),
        ("tools", "axget", {"axget.y"}),
        ("tools", "nothing_like_it", set()),
        ("packs", "brav", {"brave", "Braver"}),
        ("packs", "BRAV", {"brave", "Braver"}),
        ("packs", "raver", {"Braver"}),
        ("packs", ".", set()),
        ("packs", "b.ave", set()),
        ("aliases", "search", {"ws", "searchx"}),
        ("aliases", "SEARCH", {"ws", "searchx"}),
        ("aliases", "e.web", {"ws"}),
        ("aliases", ".", {"ws", "searchx", "other", "near"}),
        ("aliases", "->", set()),
        ("aliases", "x -> a", set()),
        ("snippets", "pkg", {"pkg_info", "outdated"}),
        ("snippets", "PKG", {"pkg_info", "outdated"}),
        ("snippets", "foo()", {"foon"}),
        ("snippets", "(", {"foon"}),
        ("snippets", "f.o", set()),
        ("snippets", "foon: Get", set()),
    ],
)
async def test_pattern_matches_a_part_of_a_name_target_or_description(function, pattern, expected):
    """Ignores case. Descriptions of tools, tools of packs, arrows of aliases and bodies do not count."""
    for info in ("list", "min"):
        found = set(map(name_of, await call_ot(function, MATCHED, pattern=pattern, info=info)))
        if function == "tools":
            found = {name for name in found if name.partition(".")[0] in MATCHED["packs"]}
        assert found == expected


@pytest.mark.spec("OT-06", "OT-07", "OT-58", "OT-71", "OT-78")
@pytest.mark.parametrize("function", ["tools", "packs", "aliases", "snippets"])
async def test_pattern_is_literal_text(function):
    """Special characters never raise an error."""
    settings = {"aliases": {"a": "a.b"}, "snippets": {"a": {"description": "b", "body": "1"}}}
    async with testing.memory_runtime(make_packs(["a.b", "b.a"]), settings=settings) as ot:
        for pattern in ["(", "[", "*", "a.*", "[a-z]", "\\", "^a", "a|b", "+?", "a..", "zzqq"]:
            for info in ("min", "list"):
                result = await ot.call(f"ot.{function}", pattern=pattern, info=info)
                assert (result.ok, result.data) == (True, []), pattern


@pytest.mark.spec("OT-08", "OT-59", "OT-72", "OT-79")
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("tools", {"brave.search", "x.bare", "github.search"}),
        ("packs", {"brave", "x", "github"}),
        ("aliases", set(ALIASES)),
        ("snippets", set(SNIPPETS)),
    ],
)
async def test_info_list_returns_names_only(function, expected, local_and_proxied):
    names = await call_ot(function, local_and_proxied, info="list")
    assert isinstance(names, list)
    assert {type(name) for name in names} == {str}
    assert names == [name_of(entry) for entry in await call_ot(function, local_and_proxied)]
    assert expected <= set(names)


@pytest.mark.spec("OT-09")
async def test_tools_info_min_returns_name_and_first_line_of_the_description(local_and_proxied):
    entries = await call_ot("tools", local_and_proxied)
    assert {frozenset(entry) for entry in entries} == {frozenset({"name", "description"})}
    described = {entry["name"]: entry["description"] for entry in entries}
    assert described["brave.search"] == "Search the web."
    assert described["github.search"] == "Search repositories."


@pytest.mark.spec("OT-10", "OT-12")
async def test_tools_info_full_returns_signature_description_and_source(local_and_proxied):
    """The source is `local` or `proxy:{server}`."""
    entries = {entry["name"]: entry for entry in await call_ot("tools", local_and_proxied, info="full")}
    assert all({"name", "signature", "description", "source"} <= set(entry) for entry in entries.values())
    assert all(entry["signature"].startswith(f"{name}(") for name, entry in entries.items())
    found = entries["brave.search"]
    assert "query: str, count: int = 5" in found["signature"]
    assert "Search the web." in found["description"]
    assert "The newest pages come first." in found["description"]
    sources = {name: entry["source"] for name, entry in entries.items()}
    assert sources.pop("github.search") == "proxy:github"
    assert set(sources.values()) == {"local"}


@pytest.mark.spec("OT-11")
async def test_tools_info_full_omits_missing_args_returns_and_example(local_and_proxied):
    entries = {entry["name"]: entry for entry in await call_ot("tools", local_and_proxied, info="full")}
    found = entries["brave.search"]
    assert [len(found["args"]), *map(type, found["args"])] == [2, str, str]
    for line, name, description in zip(
        found["args"], ("query", "count"), ("What to look for.", "How many."), strict=True
    ):
        assert line.startswith(name)
        assert description in line
    assert "The findings." in found["returns"]
    assert 'brave.search(query="x")' in found["example"]
    optional = {"args", "returns", "example"}
    assert optional.isdisjoint(entries["x.bare"])
    empty = [
        (name, key) for name, entry in entries.items() for key in optional & set(entry) if not entry[key]
    ]
    assert empty == []
    assert [entry for entry in entries.values() if None in entry.values()] == []


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
SEED_ARGS = {
    "query": {**TEXT, "description": "Search text"},
    "repo": {**TEXT, "description": "Repository"},
}


@pytest.mark.spec("OT-13", "OT-14", "OT-15")
@pytest.mark.parametrize(
    ("properties", "required", "signature"),
    [
        (SEED_ARGS, ["query"], "github.search(query: str, repo: str = '...')"),
        (
            {"zeta": TEXT, "alpha": TEXT, "query": TEXT},
            ["query"],
            "github.search(query: str, zeta: str = '...', alpha: str = '...')",
        ),
        ({"n": {**WHOLE, "default": 5}}, [], "github.search(n: int = 5)"),
        ({"n": {**WHOLE, "default": 5}}, ["n"], "github.search(n: int)"),
        ({"n": {**WHOLE, "default": 5}, "q": TEXT}, ["q", "n"], "github.search(n: int, q: str)"),
        ({"n": WHOLE}, [], "github.search(n: int = '...')"),
        ({"n": {**WHOLE, "default": 0}}, [], "github.search(n: int = 0)"),
        ({"b": {"type": "boolean", "default": False}}, [], "github.search(b: bool = False)"),
        ({"s": {**TEXT, "default": ""}}, [], "github.search(s: str = '')"),
        ({"s": {**TEXT, "default": "main"}}, [], "github.search(s: str = 'main')"),
        ({"s": {**TEXT, "default": None}}, [], "github.search(s: str = None)"),
        ({}, [], "github.search()"),
    ],
)
async def test_signature_is_derived_from_the_schema(properties, required, signature):
    """Required parameters come first without a default; the others have their default or '...'."""
    schema = {"type": "object", "properties": properties, "required": required}
    runtime = {"settings": GITHUB, "servers": [make_server(("search", "Search.", schema))]}
    (entry,) = await call_ot("tools", runtime, pattern="github.search", info="full")
    assert entry["signature"] == signature


@pytest.mark.spec("OT-16", "OT-17")
@pytest.mark.parametrize(
    ("properties", "required", "expected"),
    [
        (SEED_ARGS, ["query"], ["query: Search text", "repo: Repository"]),
        (dict(reversed(SEED_ARGS.items())), ["query"], ["query: Search text", "repo: Repository"]),
        ({"plain": TEXT, **SEED_ARGS}, ["query"], ["query: Search text", "repo: Repository"]),
        ({"query": TEXT, "repo": TEXT}, ["query"], None),
        ({}, [], None),
    ],
)
async def test_args_contain_the_descriptions_of_the_schema(properties, required, expected):
    """One line for each described property, in the order of the signature; omitted if there is none."""
    schema = {"type": "object", "properties": properties, "required": required}
    runtime = {"settings": GITHUB, "servers": [make_server(("search", "Search.", schema))]}
    (entry,) = await call_ot("tools", runtime, pattern="github.search", info="full")
    assert entry.get("args") == expected
    assert ("args" in entry) == (expected is not None)


# Packs


@pytest.mark.spec("OT-55", "OT-56", "OT-60", "OT-61")
async def test_packs_lists_name_source_and_tool_count(local_and_proxied):
    async with testing.memory_runtime(**local_and_proxied) as ot:
        result = await ot.call("ot.packs")
        tools = (await ot.call("ot.tools", info="list")).data
    assert result.ok
    assert isinstance(result.data, list)
    assert {frozenset(entry) for entry in result.data} == {frozenset({"name", "source", "tool_count"})}
    counted = {entry["name"]: entry["tool_count"] for entry in result.data}
    listed = [name.partition(".")[0] for name in tools]
    assert counted == {pack: listed.count(pack) for pack in listed}
    assert set(counted) >= {"brave", "x", "github", "ot", "fs", "shell", "time", "tools"}
    sources = {entry["name"]: entry["source"] for entry in result.data}
    assert sources.pop("github") == "proxy"
    assert set(sources.values()) == {"local"}


@pytest.mark.spec("OT-62", "OT-64")
async def test_packs_info_full_returns_a_header_and_the_tools():
    """Each tool has the first line of its description; other packs do not appear."""
    packs = {
        "brave": [search, make_function("news", "Find news.\n\nOnly of today.")],
        "x": [make_function("other", "Do else.")],
    }
    shown = await call_ot("packs", {"packs": packs}, pattern="brave", info="full")
    assert type(shown) is str
    assert "brave" in shown.splitlines()[0]
    for text in ("brave.search", "Search the web.", "brave.news", "Find news."):
        assert text in shown
    assert "x.other" not in shown


@pytest.mark.spec("OT-62")
async def test_packs_info_full_of_two_packs_has_a_header_for_each():
    shown = await call_ot(
        "packs", {"packs": make_packs(["pa_one.f", "pa_two.g"])}, pattern="pa_", info="full"
    )
    assert shown.index("pa_one") < shown.index("pa_one.f")
    assert shown.index("pa_two") < shown.index("pa_two.g")


@pytest.mark.spec("OT-63", "OT-65")
async def test_packs_info_full_contains_the_configured_instructions():
    packs, prompts = make_packs(["excel.read", "brave.search"]), {"packs": {"excel": "Use sheets."}}
    runtime = {"packs": packs, "prompts": prompts}
    assert "Use sheets." in await call_ot("packs", runtime, pattern="excel", info="full")
    assert "Use sheets." not in await call_ot("packs", runtime, pattern="brave", info="full")
    without = await call_ot("packs", {"packs": packs}, pattern="excel", info="full")
    assert "Use sheets." not in without
    assert "excel.read" in without


@pytest.mark.spec("OT-66", "OT-67")
async def test_packs_info_full_of_a_server_lists_its_tools_and_source(local_and_proxied):
    issues = ("issues", "List issues.", {"type": "object"})
    local_and_proxied["servers"] = [
        make_server(("search", "Search repositories.", {"type": "object"}), issues)
    ]
    shown = await call_ot("packs", local_and_proxied, pattern="github", info="full")
    for text in ("github.search", "Search repositories.", "github.issues", "List issues."):
        assert text in shown
    assert re.search(r"(?i)source\W+proxy\b", shown)
    local = await call_ot("packs", local_and_proxied, pattern="brave", info="full")
    assert not re.search(r"(?i)\bproxy\b", local)


# Aliases and snippets


@pytest.mark.spec("OT-68", "OT-69", "OT-73", "OT-75", "OT-76", "OT-80")
@pytest.mark.parametrize(
    ("function", "configured", "expected"),
    [
        ("aliases", ALIASES, {f"{name} -> {target}" for name, target in ALIASES.items()}),
        ("snippets", SNIPPETS, {f"{name}: {it['description']}" for name, it in SNIPPETS.items()}),
    ],
)
async def test_aliases_and_snippets_are_listed_with_what_they_are(function, configured, expected):
    """An alias with its target, a snippet with its description."""
    async with testing.memory_runtime(settings={function: configured}) as ot:
        for args in ({}, {"info": "min"}):
            result = await ot.call(f"ot.{function}", **args)
            assert (result.ok, len(result.data), set(result.data)) == (True, len(configured), expected)
        text = (await ot.runtime.state.model_output.render_run(await ot.run(f"ot.{function}()"))).text
    assert [line for line in expected if line not in text] == []
    assert await call_ot(function) == []


@pytest.mark.spec("OT-74")
async def test_aliases_info_full_returns_entries():
    entries = await call_ot("aliases", {"settings": {"aliases": ALIASES}}, info="full")
    assert sorted(entries, key=lambda entry: entry["name"]) == [
        {"name": "alias_f", "target": "demo.foo"},
        {"name": "ws", "target": "brave.web_search"},
    ]


@pytest.mark.spec("OT-81", "OT-82", "OT-83", "OT-84", "OT-85")
@pytest.mark.parametrize("body", [RESEARCH["body"], RESEARCH["body"].rstrip("\n")])
async def test_snippets_info_full_has_the_specified_format(body):
    """Description, parameters, body, example and expansion."""
    settings = {"snippets": {**SNIPPETS, "brv_research": {**RESEARCH, "body": body}}}
    async with testing.memory_runtime(settings=settings) as ot:
        result = await ot.call("ot.snippets", pattern="brv_research", info="full")
        code = await ot.run("ot.snippets(pattern='brv_research', info='full')")
        assert type(result.data) is str
        assert result.data == RESEARCH_TEXT
        assert (await ot.runtime.state.model_output.render_run(code)).text == RESEARCH_TEXT


@pytest.mark.spec("OT-85")
async def test_snippets_info_full_separates_snippets_by_a_blank_line():
    second = {**RESEARCH, "description": "Do it again"}
    settings = {"settings": {"snippets": {"brv_research": RESEARCH, "brv_research_2": second}}}
    again = RESEARCH_TEXT.replace("brv_research", "brv_research_2")
    again = again.replace(RESEARCH["description"], "Do it again")
    shown = await call_ot("snippets", settings, pattern="brv_research", info="full")
    assert shown == f"{RESEARCH_TEXT}\n\n{again}"


@pytest.mark.spec("OT-84", "OT-85")
async def test_snippet_parameter_without_example_is_shown_as_dots():
    """In the invocation and in the expansion."""
    params = {**RESEARCH["params"], "topic": {"description": "Topic to research"}}
    settings = {"settings": {"snippets": {"brv_research": {**RESEARCH, "params": params}}}}
    shown = await call_ot("snippets", settings, pattern="brv_research", info="full")
    dotted = RESEARCH_TEXT.replace("topic=Python", "topic=...").replace('query="Python"', 'query="..."')
    assert shown == dotted


@pytest.mark.spec("OT-82", "OT-85")
@pytest.mark.parametrize(
    ("param", "line"),
    [
        (
            {"description": "How many", "default": 5, "type": "int"},
            '{type: int, default: 5, description: "How many"}',
        ),
        ({"description": "How", "default": 0}, "{default: 0, description: How}"),
        ({"description": "How", "default": False}, "{default: false, description: How}"),
        ({"type": "str", "description": "How", "example": "x"}, "{type: str, description: How}"),
    ],
)
async def test_snippet_parameter_shows_type_default_and_description(param, line):
    """In this order, if declared; the example is not shown there."""
    snippet = {"description": "Do", "body": "foo({{ size }})", "params": {"size": param}}
    shown = await call_ot(
        "snippets", {"settings": {"snippets": {"one": snippet}}}, pattern="one", info="full"
    )
    assert f"  size: {line}" in shown.splitlines()


@pytest.mark.spec("OT-84")
async def test_shown_snippet_example_can_be_run():
    received: list[dict[str, Any]] = []

    def transform(input: str, prompt: str) -> str:
        received.append({"input": input, "prompt": prompt})
        return "done"

    packs = {"brave": [search], "llm": [transform]}
    async with testing.memory_runtime(packs, settings={"snippets": {"brv_research": RESEARCH}}) as ot:
        shown = (await ot.call("ot.snippets", pattern="brv_research", info="full")).data
        (example,) = [line[2:] for line in shown.splitlines() if line.startswith("# $")]
        code = await ot.run(example)
    assert (code.ok, code.data) == (True, "done")
    assert received == [{"input": "Python" * 5, "prompt": "Extract key findings"}]
