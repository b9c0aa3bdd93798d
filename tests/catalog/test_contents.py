"""Resources and prompts of several servers, and who may read them."""

from types import SimpleNamespace

import pytest

from onetool.catalog.contents import CatalogContents
from onetool.domain.calls.caller import Caller
from onetool.domain.content.resources import parse_prompt, parse_resource
from onetool.domain.errors import ContentNotFound
from onetool.domain.policy.policy import Policy
from onetool.domain.servers.server_item import ListedItem, ServerItem

EVERYONE = Caller(interface="test")
DEFINITIONS = {
    "resource": {"uri": "memo:x", "name": "memo", "_meta": {"ui": {"resourceUri": "ui://app"}}},
    "template": {"uriTemplate": "file:///{path}", "name": "file"},
    "prompt": {"name": "show-logo"},
}


class Offer:
    """A ContentSource with one item of each kind, which records the requests."""

    def __init__(self, *, is_quarantined=False):
        self.reason = "changed" if is_quarantined else ""
        self.requests = []

    async def items(self, kind, *, start=True):
        self.requests.append(("items", kind, start))
        item = ServerItem(kind=kind, definition=DEFINITIONS[kind])
        return [ListedItem(item, "show_logo" if kind == "prompt" else "", self.reason)]

    async def read(self, uri, caller, deadline):
        self.requests.append(("read", uri, deadline))
        return parse_resource({"contents": [{"uri": uri, "text": "said"}]})

    async def prompt(self, name, args, caller, deadline):
        self.requests.append(("prompt", name, dict(args)))
        return parse_prompt({"messages": []})

    async def complete(self, params):
        self.requests.append(("complete", params))
        return {"completion": {"values": ["a"]}}

    async def subscribe(self, uri, listener):
        self.requests.append(("subscribe", uri))
        listener(uri)

    async def unsubscribe(self, uri, listener):
        self.requests.append(("unsubscribe", uri))

    async def set_log_level(self, level):
        self.requests.append(("level", level))


@pytest.fixture
def offers():
    return {"one": Offer(), "my_notes": Offer()}


@pytest.fixture
def contents(offers):
    return CatalogContents(
        {name: SimpleNamespace(contents=offer) for name, offer in offers.items()}, Policy()
    )


@pytest.mark.spec("MCP-24", "MCP-25")
async def test_items_of_all_servers_are_listed_under_names_of_their_own(contents):
    resources = await contents.items("resource", EVERYONE)
    assert [item.to_json() for item in resources] == [
        {
            "uri": f"ot.{prefix}+memo:x",
            "name": "memo",
            "_meta": {"ui": {"resourceUri": f"ui://ot.{prefix}+app"}},
        }
        for prefix in ("one", "my-notes")
    ]
    prompts = await contents.items("prompt", EVERYONE, "my_notes")
    assert [(item.name, item.path) for item in prompts] == [("my_notes__show_logo", "my_notes.show_logo")]


async def test_a_listing_can_leave_servers_alone(contents, offers):
    await contents.items("template", EVERYONE, start_servers=False)
    assert offers["one"].requests == [("items", "template", False)]


async def test_quarantined_items_are_omitted():
    contents = CatalogContents({"one": SimpleNamespace(contents=Offer(is_quarantined=True))}, Policy())
    assert await contents.items("resource", EVERYONE) == []


@pytest.mark.spec("MCP-32")
async def test_a_caller_sees_and_reads_only_servers_whose_tools_it_may_call(contents, offers):
    narrow = EVERYONE.restricted(frozenset({"one.echo"}))
    assert {item.server for item in await contents.items("resource", narrow)} == {"one"}
    assert (await contents.read("ot.one+memo:x", narrow, 9.0)).to_data() == "said"
    with pytest.raises(ContentNotFound, match="Resource not found"):
        await contents.read("ot.my-notes+memo:x", narrow, 9.0)
    with pytest.raises(ContentNotFound, match="Prompt not found"):
        await contents.prompt("my_notes.show_logo", {}, narrow, 9.0)
    assert not [request for request in offers["my_notes"].requests if request[0] != "items"]


async def test_an_unknown_uri_says_how_uris_begin(contents):
    with pytest.raises(ContentNotFound, match=r"URIs begin with ot\.SERVER\+"):
        await contents.read("memo:x", EVERYONE, 9.0)


@pytest.mark.parametrize("name", ["one__show_logo", "one.show_logo"])
async def test_a_prompt_has_two_names(contents, offers, name):
    assert (await contents.prompt(name, {"a": "b"}, EVERYONE, 9.0)).to_data() == []
    assert offers["one"].requests[-1] == ("prompt", "show-logo", {"a": "b"})


@pytest.mark.spec("MCP-30")
async def test_completion_has_the_names_of_the_server(contents, offers):
    argument = {"name": "path", "value": "a"}
    refs = [
        ({"type": "ref/prompt", "name": "one__show_logo"}, {"type": "ref/prompt", "name": "show-logo"}),
        (
            {"type": "ref/resource", "uri": "ot.one+file:///{path}"},
            {"type": "ref/resource", "uri": "file:///{path}"},
        ),
    ]
    for ref, own in refs:
        await contents.complete({"ref": ref, "argument": argument}, EVERYONE)
        assert offers["one"].requests[-1] == ("complete", {"ref": own, "argument": argument})


@pytest.mark.spec("MCP-29")
async def test_subscriptions_and_log_levels_reach_the_server(contents, offers):
    updated = []
    await contents.subscribe("ot.one+memo:x", updated.append, EVERYONE)
    await contents.set_log_level("error", "one")
    await contents.set_log_level("debug")
    assert updated == ["memo:x"]
    assert offers["one"].requests == [("subscribe", "memo:x"), ("level", "error"), ("level", "debug")]
    assert offers["my_notes"].requests == [("level", "debug")]
