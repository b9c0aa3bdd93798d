"""Settings that override the tools of MCP servers, with a real server process."""

import json

import pytest

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.errors import Reason, SettingsError
from onetool.domain.secrets.redaction import MASK
from onetool.interfaces.mcp.server import create_server
from onetool.interfaces.mcp.transports import http_app
from onetool.runtime.health import check_health
from support.listed_server import ListedServer
from support.onetool_process import onetool
from support.rest_in_process import serve_rest

pytestmark = pytest.mark.spec("MCP-67")

KEY = "k3y-of-the-search-service"
SEARCH = {
    "name": "web-search",
    "description": "Searches.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer", "maximum": 50},
            "key": {"$ref": "#/$defs/key"},
            "region": {"type": "string"},
        },
        "required": ["query", "limit", "key"],
        "additionalProperties": False,
        "$defs": {"key": {"type": "string", "minLength": 8}},
    },
}
OTHER = {"name": "other", "description": "Other.", "inputSchema": {"type": "object"}}
CALLER = Caller(interface="python", default_effect=Effect.ALLOW)
FIXED = {"name": "find", "fixed": {"key": "${SEARCH_KEY}"}, "defaults": {"limit": 5}}


class Server(ListedServer):
    """A user whose server has a tool that needs a key."""

    def __init__(self, home) -> None:
        super().__init__(home)
        self.list(SEARCH, OTHER)
        home.write("secrets.yaml", f"SEARCH_KEY: {KEY}\n")

    def override(self, overrides, settings=None, **server) -> None:
        self.configure(settings, tools=overrides, **server)


@pytest.fixture
def server(home):
    return Server(home)


async def names(runtime):
    return [spec.name for spec in await runtime.state.catalog.pack("s") if spec.enabled]


async def call(runtime, name, caller=CALLER, **args):
    return await runtime.call_tool(name, args, caller, "python")


async def health(runtime):
    return (await check_health(runtime.state, runtime.threads)).servers["s"]


async def test_every_listing_shows_the_new_definition(server):
    """`search` and `run` find it by its new description; `all`, REST and its record use the new name."""
    server.override({"web-search": {**FIXED, "title": "Search", "description": "Finds pages."}})
    async with server.open() as runtime:
        await runtime.state.servers.probe("s")
        assert await names(runtime) == ["s.find", "s.other"]
        found = await call(runtime, "ot.find", query="finds pages")
        assert "s.find(query: str, limit: int = 5" in str(found.data)
        ran = await runtime.run("s.find(query='tea')['args']", CALLER)
        assert ran.data == {"query": "tea", "limit": 5, "key": MASK}, ran.error
        async with (
            http_app(create_server(runtime, "all")) as app,
            serve_rest(runtime, mounts={"/mcp": app}) as rest,
        ):
            listed = await mcp_tools(rest)
            tools = (await rest.get("/tools/search", params={"q": "finds pages"})).json()["toolListItems"]
        assert listed["s__find"]["title"] == "Search"
        shown = listed["s__find"]["inputSchema"]
        assert shown["required"] == ["query"]
        assert shown["properties"] == {
            "query": {"type": "string"},
            "limit": {"type": "integer", "maximum": 50, "default": 5},
            "region": {"type": "string"},
        }
        assert "s__web_search" not in listed
        (schema,) = [tool["argSchema"] for tool in tools if tool["description"] == "Finds pages."]
        assert list(schema["properties"]) == ["query", "limit", "region"]
        assert (await call(runtime, "s.find", query="x")).meta.tool == "s.find"


async def mcp_tools(rest):
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    url = f"{str(rest.base_url).rstrip('/')}/mcp"
    async with Client(streamable_http_client(url, http_client=rest)) as client:
        tools = (await client.list_tools()).tools
    return {tool.name: tool.model_dump(by_alias=True) for tool in tools}


async def test_server_receives_fixed_values_and_defaults(server):
    """The fixed secret is redacted in the result; the server has received it."""
    server.override({"web-search": FIXED, "other": {"fixed": {"mode": ["a", {"b": 1}]}}})
    async with server.open() as runtime:
        filled = await call(runtime, "s.find", query="tea")
        assert filled.data["args"] == {"query": "tea", "limit": 5, "key": MASK}
        own = await call(runtime, "s.find", query="tea", limit=7)
        assert own.data["args"]["limit"] == 7
        assert own.data["tool"] == "web-search"
        assert (await call(runtime, "s.other")).data["args"] == {"mode": ["a", {"b": 1}]}


@pytest.mark.parametrize("value", ["mine", None, KEY])
async def test_caller_cannot_pass_a_fixed_parameter(server, value):
    server.override({"web-search": FIXED, "other": {"fixed": {"mode": 1}}})
    async with server.open() as runtime:
        for name, args in (("s.find", {"query": "tea", "key": value}), ("s.other", {"mode": value})):
            refused = await call(runtime, name, **args)
            assert (refused.error.code, refused.meta.reason) == ("invalid_args", Reason.BAD_ARGS)
            assert f"{name}: the settings fix" in refused.error.message
        ran = await runtime.run(f"s.find(query='tea', key={value!r})", CALLER)
        assert "Argument `key` does not match any known parameter" in ran.error.message


async def test_arguments_of_the_caller_are_still_validated(server):
    server.override({"web-search": FIXED})
    async with server.open() as runtime:
        for args in ({}, {"query": 1}, {"query": "x", "limit": 51}, {"query": "x", "else": 1}):
            assert (await call(runtime, "s.find", **args)).error.code == "invalid_args", args


async def test_alternatives_of_the_original_schema_count_for_the_complete_arguments(server):
    """A fixed parameter can be the one that an alternative requires, and can require others."""
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "url": {"type": "string"}, "text": {"type": "string"}},
        "anyOf": [{"required": ["id"]}, {"required": ["url"]}],
        "dependentRequired": {"id": ["text"]},
    }
    server.list({"name": "read", "inputSchema": schema})
    server.override({"read": {"fixed": {"id": "7"}}})
    async with server.open() as runtime:
        assert (await call(runtime, "s.read", text="x")).data["args"] == {"text": "x", "id": "7"}
        assert (await call(runtime, "s.read", url="x")).error.code == "invalid_args"
        shown = (await runtime.state.catalog.find("s.read")).spec.input_schema
        assert shown["anyOf"] == [{"required": []}, {"required": ["url"]}]


async def test_question_log_and_server_have_the_same_complete_arguments(server):
    """What a person approves is what runs: fixed values and defaults included, secrets masked."""
    server.override({"web-search": {**FIXED, "fixed": {"key": "${SEARCH_KEY}", "region": "eu"}}})
    asked = []

    async def approve(request):
        asked.append(request)
        return True

    async with server.open() as runtime:
        result = await call(runtime, "s.find", Caller(interface="python", approve=approve), query="tea")
        await runtime.recorder.flush()
    (request,) = asked
    complete = {"query": "tea", "limit": 5, "key": KEY, "region": "eu"}
    assert (request.tool, request.args) == ("s.find", complete)
    shown = {argument.name: argument.value for argument in request.complete_arguments()}
    assert shown == {'"query"': '"tea"', '"limit"': "5", '"key"': f'"{MASK}"', '"region"': '"eu"'}
    assert result.data["args"] == complete | {"key": MASK}
    (record,) = [
        record for record in server.home.log() if record.get("tool") == "s.find" and "inputs" in record
    ]
    assert record["inputs"] == complete | {"key": MASK}


async def test_include_and_exclude_use_the_original_name(server):
    server.override(
        {"web-search": FIXED, "other": {"name": "second"}}, include=["web-*", "other"], exclude=["second"]
    )
    async with server.open() as runtime:
        assert await names(runtime) == ["s.find", "s.second"]
    server.override({"web-search": FIXED}, exclude=["web-*"])
    async with server.open() as runtime:
        assert await names(runtime) == ["s.other"]
        assert (await health(runtime)).warnings == []


async def test_quarantine_compares_the_original_definitions(server):
    """An override quarantines nothing; a change that the override hides does."""
    server.override({})
    async with server.open() as runtime:
        assert len(await names(runtime)) == 2
    server.override({"web-search": {**FIXED, "description": "Mine."}})
    async with server.open() as runtime:
        assert await names(runtime) == ["s.find", "s.other"]
        assert (await call(runtime, "s.find", query="x")).ok
    server.list(SEARCH | {"description": "Changed."}, OTHER)
    async with server.open() as runtime:
        refused = await call(runtime, "s.find", query="x")
        assert "quarantined" in refused.error.message
        assert await names(runtime) == ["s.other"]
        (tool,) = await runtime.state.servers["s"].quarantined()
        assert (tool.name, tool.new.description) == ("web-search", "Changed.")
        await runtime.state.servers["s"].approve({tool.name: tool.new.pin})
        assert (await runtime.state.catalog.find("s.find")).spec.description == "Mine."
        assert (await call(runtime, "s.find", query="x")).ok
    server.override({})
    async with server.open() as runtime:
        assert await names(runtime) == ["s.web_search", "s.other"]


INVALID = {
    "taken": ({"name": "other"}, "the new name 'other' is taken by the tool 'other'"),
    "keyword": ({"name": "class"}, "the new name 'class' is not valid: use a Python identifier"),
    "dotted": ({"name": "s.find"}, "the new name 's.find' is not valid"),
    "unknown": ({"fixed": {"quary": "x"}}, "the tool has no parameter 'quary'. Did you mean query?"),
    "unknown default": ({"defaults": {"zzz": 1}}, "the tool has no parameter 'zzz'. Valid: query, limit"),
    "type": ({"fixed": {"limit": "many"}}, 'limit: "many" is not of type "integer"'),
    "referenced": ({"fixed": {"key": "short"}}, 'key: "short" is shorter than 8 characters'),
    "default": ({"defaults": {"limit": 51}}, "limit: 51 is greater than the maximum of 50"),
    "secret": (
        {"fixed": {"key": "${NONE}"}},
        "'NONE' is missing; add it with: onetool secrets set NONE",
    ),
    "placeholder": ({"fixed": {"key": "${NONE"}}, "is not closed"),
}


@pytest.mark.parametrize("case", INVALID)
async def test_invalid_override_disables_only_its_tool_and_is_named(server, case):
    override, reason = INVALID[case]
    server.override({"web-search": override})
    async with server.open() as runtime:
        assert await names(runtime) == ["s.other"]
        state = await health(runtime)
        (problem,) = state.disabled_tools
        assert problem.startswith("servers.s.tools.web-search: ")
        assert reason in problem
        assert state.state == "connected"
        assert problem in state.problems("s")[0].what
        assert problem in (await call(runtime, "s.web_search", query="x")).error.message
        assert (await runtime.state.servers.probe("s"))["reason"] == problem
        (description,) = await runtime.state.servers.describe()
        assert description["reason"] == problem
        assert (await call(runtime, "s.other")).ok


async def test_new_name_that_two_overrides_want_belongs_to_neither(server):
    """The order of the server's listing decides nothing, and an exchange of names is not possible."""
    third = {"name": "third", "inputSchema": {"type": "object"}}
    server.list(SEARCH, OTHER, third)
    for first, second in (("same", "same"), ("other", "web_search")):
        server.override({"web-search": {"name": first}, "other": {"name": second}})
        async with server.open() as runtime:
            assert await names(runtime) == ["s.third"]
            assert len((await health(runtime)).disabled_tools) == 2


async def test_own_name_of_a_renamed_tool_stays_taken(server):
    """Otherwise the order of the server's listing would decide."""
    for tools in ([SEARCH, OTHER], [OTHER, SEARCH]):
        server.list(*tools)
        server.override({"web-search": {"name": "find"}, "other": {"name": "web_search"}})
        async with server.open() as runtime:
            assert await names(runtime) == ["s.find"]


async def test_secret_that_does_not_match_is_not_shown(server):
    server.override({"web-search": {"fixed": {"region": "${SEARCH_KEY}", "limit": "${SEARCH_KEY}"}}})
    async with server.open() as runtime:
        assert await names(runtime) == ["s.other"]
        (problem,) = (await health(runtime)).disabled_tools
        assert "limit" in problem
        assert KEY not in problem


async def test_override_of_an_unlisted_tool_is_a_warning(server):
    """Nothing else changes, and nothing is said before the server was listed."""
    server.override({"web-serch": FIXED})
    async with server.open() as runtime:
        assert runtime.state.servers["s"].status().warnings == []
        assert await names(runtime) == ["s.web_search", "s.other"]
        state = await health(runtime)
        assert state.warnings == [
            "servers.s.tools.web-serch: the server lists no such tool. Did you mean web-search?"
        ]
        assert (state.disabled_tools, state.problems("s")) == ([], [])


async def test_reload_applies_overrides_without_a_restart(server):
    """Also for a server that had none before."""
    server.override({})
    async with server.open() as runtime:
        before = (await call(runtime, "s.other")).data["pid"]
        for overrides, expected in (({"other": {"name": "second"}}, "s.second"), ({}, "s.other")):
            server.override(overrides)
            await runtime.reload()
            assert expected in await names(runtime)
            assert (await call(runtime, expected)).data["pid"] == before


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"fixd": {}}, "Did you mean servers.s.tools.web-search.fixed?"),
        ({"fixed": KEY}, "servers.s.tools.web-search.fixed: should be a map."),
        ({"fixed": {"a": 1}, "defaults": {"a": 2}}, "'a' is both in fixed and in defaults"),
        ({"defaults": {"key": ["${SEARCH_KEY}"]}}, "defaults cannot insert secrets"),
    ],
)
async def test_settings_are_checked_without_the_server(server, override, message):
    server.override({"web-search": override})
    with pytest.raises(SettingsError, match=r"onetool\.yaml") as caught:
        async with server.open():
            pass
    assert message in str(caught.value)
    assert KEY not in str(caught.value)


async def test_written_out_key_is_redacted_like_those_of_headers(server):
    server.override({"web-search": {"fixed": {"key": "sk-123456789"}}})
    async with server.open() as runtime:
        result = await call(runtime, "s.web_search", query="x", limit=1)
        assert result.data["args"]["key"] == MASK


async def test_secret_is_not_sent_to_another_host(server):
    """As in headers: the hosts of a secret restrict to which server it is sent."""
    server.home.write("secrets.yaml", f"SEARCH_KEY: {{value: {KEY}, hosts: [example.com]}}\n")
    server.override({"web-search": FIXED})
    async with server.open() as runtime:
        await names(runtime)  # a program, which has no host, and whose listing is stored
    server.override({"web-search": FIXED}, command=None, args=[], url="http://127.0.0.1:9/mcp")
    async with server.open() as runtime:
        assert await names(runtime) == ["s.other"]
        (problem,) = runtime.state.servers["s"].status().disabled_tools
        assert "secret 'SEARCH_KEY' may not be sent to '127.0.0.1'" in problem


async def test_rest_names_problems_and_new_names(server):
    server.override({"web-search": {"name": "find", "fixed": {"limit": 51}}, "othr": {"name": "x"}})
    async with server.open() as runtime, serve_rest(runtime) as rest:
        body = (await rest.get("/health", params={"connect": True})).json()
        tools = (await rest.get("/servers/s/tools")).json()["tools"]
    (problem,), (warning,) = body["servers"]["s"]["disabledTools"], body["servers"]["s"]["warnings"]
    assert "servers.s.tools.web-search: " in problem
    assert "servers.s.tools.othr: " in warning
    assert [problem in entry["what"] for entry in body["problems"]] == [True]
    assert [(tool["name"], tool["function"], tool["problem"]) for tool in tools] == [
        ("web-search", "find", problem),
        ("other", "other", ""),
    ]


def test_commands_name_problems_and_new_names(server):
    """`servers tools` shows both names, because `servers approve` takes the one on the server."""
    server.override({"web-search": {"fixed": {"limit": 51}}, "other": {"name": "second"}, "othr": {}})
    table = onetool("servers", "tools", "s")
    reason = "servers.s.tools.web-search: a value does not match"
    rows = json.loads(onetool("servers", "tools", "s", "--json").stdout)
    assert [(row["name"], row["original"], row["problem"].startswith(reason)) for row in rows] == [
        ("web_search", "web-search", True),
        ("second", "other", False),
    ]
    assert "Warning: servers.s.tools.othr: the server lists no such tool" in table.stderr
    assert reason in onetool("servers", "test", "s").stdout
    (listed,) = json.loads(onetool("servers", "list", "--json").stdout)
    assert listed["reason"].startswith(reason)
    findings = json.loads(onetool("doctor", "--json").stdout)
    assert [entry["status"] for entry in findings if reason in entry["message"]] == ["problem"]
    assert [entry["status"] for entry in findings if "tools.othr" in entry["message"]] == ["hint"]
    assert json.loads(onetool("tools", "info", "s.second", "--json").stdout)["name"] == "s.second"
