"""Real MCP servers answer the same through OneTool, except for differences with a reason."""

import json

import pytest

from fidelity.comparison import Comparison, compare, compare_server
from fidelity.rules import Reason
from fidelity.servers import RealServer, load_servers
from support.package_registries import require_download
from support.paths import PROJECT

SERVERS = load_servers()
PROGRAMS = {"npm": "npx", "pypi": "uvx"}
SERVER = RealServer(package="x", registry="npm", program="x", calls=[], changing=[r"\d\d:\d\d"])
TOOL = {"name": "get-it", "description": "Get it.", "inputSchema": {"type": "object"}}


def compared(interface: str, direct: dict, through: dict, quarantined: set[str] = frozenset()) -> Comparison:
    found = Comparison("x", "1")
    compare(found, SERVER, interface, (direct, through), quarantined)
    return found


@pytest.mark.stress
@pytest.mark.spec("MCP-68")
@pytest.mark.parametrize("server", SERVERS, ids=[server.package for server in SERVERS])
def test_real_server_answers_the_same_through_onetool(request, server):
    if not request.config.getoption("--stress"):
        pytest.skip("installs and starts real servers; run with --stress")
    require_download(PROGRAMS[server.registry], server.package)
    unexplained = compare_server(server).unexplained
    assert not unexplained, json.dumps(unexplained, indent=1)


@pytest.mark.spec("MCP-68")
def test_page_lists_all_servers_without_unexplained_differences():
    page = (PROJECT / "docs" / "fidelity.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    assert [row[1].strip(" `") for row in rows] == [server.package for server in SERVERS]
    assert {row[-2].strip() for row in rows} == {"0"}
    assert len(rows) >= 20


def test_difference_without_a_reason_is_unexplained():
    call = {"tools/call 1 get-it": {"content": [{"type": "text", "text": "a"}]}}
    other = {"tools/call 1 get-it": {"content": [{"type": "text", "text": "b"}]}}
    assert not compared("only", call, call).unexplained
    for interface in ("only", "all", "search"):
        (difference,) = compared(interface, call, other).unexplained
        assert difference["item"] == "tools/call 1 get-it"


def test_result_in_place_of_an_error_is_unexplained():
    failed = {"tools/call 1 get-it": {"content": [{"type": "text", "text": "a"}], "isError": True}}
    result = {"tools/call 1 get-it": {"content": [{"type": "text", "text": "a"}]}}
    assert compared("all", failed, result).unexplained
    assert compared("all", result, failed).unexplained


def test_missing_and_additional_definitions_are_unexplained():
    tool = {"tools/list get-it": TOOL}
    assert compared("only", tool, {}).unexplained
    assert compared("only", {}, tool).unexplained
    quarantined = compared("only", tool, {}, {"get_it"})
    assert not quarantined.unexplained
    assert list(quarantined.differences) == [("only", "tools/list", Reason.QUARANTINED)]


def test_only_the_name_of_a_definition_may_differ():
    tool = {"tools/list get-it": TOOL}
    renamed = TOOL | {"name": "tried_server__get_it"}
    assert not compared("all", tool, {"tools/list tried_server__get_it": renamed}).unexplained
    changed = renamed | {"description": "Other."}
    assert compared("all", tool, {"tools/list tried_server__get_it": changed}).unexplained


def test_changing_texts_are_the_same_also_inside_base64():
    first = {"contents": [{"uri": "x:y", "blob": "YXQgMDE6MDI=", "text": "at 01:02"}]}
    second = {"contents": [{"uri": "x:y", "blob": "YXQgMTE6MTI=", "text": "at 11:12"}]}
    assert not compared("only", {"resources/read x:y": first}, {"resources/read x:y": second}).unexplained
