"""Changed lists, updated resources, log messages and progress reach the clients that want them."""

import json

import pytest

from support.contents_world import World
from support.onetool_process import onetool
from support.processes import wait_until
from support.raw_mcp import LEGACY, META_PREFIX, MODERN

NOTICE = "notifications/{}/list_changed"
LOG_LEVEL = f"{META_PREFIX}/logLevel"
SUBSCRIPTION = f"{META_PREFIX}/subscriptionId"


def listen(world, **filters):
    """Open the stream of a client of the newer protocol and return its id."""
    number = world.client.send("subscriptions/listen", notifications=filters)
    acknowledged = world.client.receive()
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    return number


def wait_for_notice(world, method):
    """Return the next notification with this method."""
    while True:
        found = [notice for notice in world.client.notifications if notice["method"] == method]
        if found:
            world.client.notifications.remove(found[0])
            return found[0]
        message = world.client.receive()
        assert "method" in message, message
        world.client.notifications.append(message)


def onetool_in(world, *words):
    done = onetool(*words, env=world.home.env, cwd=world.home.cwd)
    assert done.returncode == 0, done.stderr


EVERYTHING = {"toolsListChanged": True, "resourcesListChanged": True, "promptsListChanged": True}


@pytest.mark.spec("MCP-20")
@pytest.mark.parametrize("version", [LEGACY, MODERN])
@pytest.mark.parametrize("arguments", [(), ("--only", "one")])
def test_changed_lists_are_reported(tmp_path, version, arguments):
    """Also if another process changed them."""
    world = World(tmp_path, version, names=("one",), arguments=arguments)
    onetool_in(world, "servers", "test", "one")
    with world:
        stream = listen(world, **EVERYTHING) if version == MODERN else None
        resources = [{"uri": "memo:new", "name": "new"}]
        world.offer("one", tools=["added"], prompts=[{"name": "new"}], resources=resources)
        onetool_in(world, "servers", "test", "one")
        onetool_in(world, "servers", "approve", "one", "--yes")
        for kind in ("resources", "prompts", "tools"):
            notice = wait_for_notice(world, NOTICE.format(kind))
            if stream is not None:
                assert notice["params"]["_meta"][SUBSCRIPTION] == stream


@pytest.mark.spec("MCP-20")
def test_a_server_that_another_process_adds_is_reported(tmp_path):
    world = World(tmp_path, names=("one",))
    with world:
        assert world.handshake["capabilities"]["tools"] == {"listChanged": True}
        command = world.settings()["servers"]["one"]
        onetool_in(world, "servers", "add", "two", "--no-sandbox", "--", command["command"], *command["args"])
        onetool_in(world, "servers", "test", "two")
        wait_for_notice(world, NOTICE.format("tools"))
        assert "two__echo" in [tool["name"] for tool in world.list("tools/list", "tools")]


@pytest.mark.spec("MCP-20")
def test_a_client_that_asked_for_nothing_is_told_nothing(tmp_path):
    world = World(tmp_path, MODERN, names=("one",))
    onetool_in(world, "servers", "test", "one")
    with world:
        listen(world, promptsListChanged=True)
        world.offer("one", prompts=[], resources=[])
        onetool_in(world, "servers", "test", "one")
        wait_for_notice(world, NOTICE.format("prompts"))
        assert world.client.notifications == []


@pytest.mark.spec("MCP-20", "MCP-21")
@pytest.mark.parametrize("modern", [False, True])
def test_a_change_that_the_server_reports_is_reported(tmp_path, modern):
    world = World(tmp_path, names=("one",), modern=modern)
    onetool_in(world, "servers", "test", "one")
    with world:
        world.request("tools/call", name="one__echo", arguments={})
        world.offer("one", prompts=[])
        arguments = {"methods": ["notifications/prompts/list_changed"]}
        world.request("tools/call", name="one__notify", arguments=arguments)
        wait_for_notice(world, NOTICE.format("prompts"))
        assert world.list("prompts/list", "prompts") == []


@pytest.mark.spec("MCP-21")
def test_many_notices_lead_to_few_listings(tmp_path):
    world = World(tmp_path, names=("one",), modern=True)
    onetool_in(world, "servers", "test", "one")
    with world:
        world.request("tools/call", name="one__echo", arguments={})
        before = len([request for request in world.requests("one") if request["method"] == "tools/list"])
        methods = ["notifications/tools/list_changed"] * 999 + ["notifications/prompts/list_changed"]
        world.offer("one", prompts=[])
        world.request("tools/call", name="one__notify", arguments={"methods": methods})
        wait_for_notice(world, NOTICE.format("prompts"))
        after = len([request for request in world.requests("one") if request["method"] == "tools/list"])
    assert after - before <= 2


ALL, ONLY = ((), "ot.one+memo:x", "one__"), (("--only", "one"), "memo:x", "")
"""The arguments of an endpoint, the URI of a resource there, and how names of tools begin."""


@pytest.mark.spec("MCP-29")
@pytest.mark.parametrize(
    ("version", "modern", "arguments", "uri", "prefix"),
    [(LEGACY, False, *ALL), (LEGACY, True, *ONLY), (MODERN, False, *ONLY), (MODERN, True, *ALL)],
)
def test_updates_of_a_resource_reach_its_subscribers(tmp_path, version, modern, arguments, uri, prefix):
    """For each pair of the protocols of client and server, and of the endpoint."""
    world = World(tmp_path, version, names=("one",), arguments=arguments, modern=modern)
    update = {"methods": ["notifications/resources/updated"], "params": {"uri": "memo:x"}}
    with world:
        world.request("tools/call", name=f"{prefix}echo", arguments={})
        if version == MODERN:
            listen(world, resourceSubscriptions=[uri])
        else:
            world.request("resources/subscribe", uri=uri)
        wait_for_subscription(world, modern)
        world.request("tools/call", name=f"{prefix}notify", arguments=update)
        assert wait_for_notice(world, "notifications/resources/updated")["params"]["uri"] == uri
        if version == LEGACY:
            world.request("resources/unsubscribe", uri=uri)
            world.request("tools/call", name=f"{prefix}notify", arguments=update)
            world.request("tools/call", name=f"{prefix}echo", arguments={})
            methods = [notice["method"] for notice in world.client.notifications]
            assert "notifications/resources/updated" not in methods


def wait_for_subscription(world, modern):
    """Wait until the server knows what to report. On its stream, that is announced with the next one."""

    def is_known():
        wanted = [
            request["params"].get("uri")
            or request["params"].get("notifications", {}).get("resourceSubscriptions")
            for request in world.requests("one")
            if request["method"] in ("resources/subscribe", "subscriptions/listen")
        ]
        return wanted[-1:] in (["memo:x"], [["memo:x"]])

    assert wait_until(is_known)


@pytest.mark.spec("MCP-29")
@pytest.mark.parametrize("version", [LEGACY, MODERN])
@pytest.mark.parametrize(("arguments", "uri", "prefix"), [ALL, ONLY])
def test_subscriptions_continue_when_a_reload_replaces_the_server(tmp_path, version, arguments, uri, prefix):
    """Also if the client calls nothing, and so nothing else starts the server again."""
    world = World(tmp_path, version, names=("one",), arguments=arguments)
    update = {"methods": ["notifications/resources/updated"], "params": {"uri": "memo:x"}}

    def subscription_count():
        return [request["method"] for request in world.requests("one")].count("resources/subscribe")

    with world:
        if version == MODERN:
            listen(world, resourceSubscriptions=[uri])
        else:
            world.request("resources/subscribe", uri=uri)
        assert wait_until(lambda: subscription_count() == 1)
        settings = world.settings()
        settings["servers"]["one"]["timeout_s"] = 50
        world.home.write("onetool.yaml", json.dumps(settings))
        onetool_in(world, "tools", "invoke", "ot.reload")
        assert wait_until(lambda: subscription_count() == 2)
        world.request("tools/call", name=f"{prefix}notify", arguments=update)
        assert wait_for_notice(world, "notifications/resources/updated")["params"]["uri"] == uri
        world.request("tools/call", name=f"{prefix}echo", arguments={})
        methods = [notice["method"] for notice in world.client.notifications]
        assert "notifications/resources/updated" not in methods


@pytest.mark.spec("MCP-29")
def test_an_unknown_resource_cannot_be_observed(tmp_path):
    with World(tmp_path, names=("one",)) as world:
        error = world.error("resources/subscribe", uri="ot.two+memo:x")
    assert (error["code"], "not found" in error["message"]) == (-32002, True)


@pytest.mark.spec("MCP-29")
def test_two_streams_receive_an_update_once_each(tmp_path):
    update = {"methods": ["notifications/resources/updated"], "params": {"uri": "memo:x"}}
    with World(tmp_path, MODERN, names=("one",)) as world:
        world.request("tools/call", name="one__echo", arguments={})
        streams = [listen(world, resourceSubscriptions=["ot.one+memo:x"]) for _ in range(2)]
        world.request("tools/call", name="one__notify", arguments=update)
        received = [wait_for_notice(world, "notifications/resources/updated") for _ in range(2)]
        world.request("tools/call", name="one__echo", arguments={})
    assert [notice["params"]["_meta"][SUBSCRIPTION] for notice in received] == streams
    assert world.client.notifications == []


@pytest.mark.spec("MCP-29")
@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_the_number_of_subscriptions_is_limited(tmp_path, version):
    uris = [f"ot.one+file:///{number}" for number in range(1_001)]
    with World(tmp_path, version, names=("one",)) as world:
        if version == MODERN:
            error = world.error("subscriptions/listen", notifications={"resourceSubscriptions": uris})
        else:
            for uri in uris[:-1]:
                world.request("resources/subscribe", uri=uri)
            error = world.error("resources/subscribe", uri=uris[-1])
    assert error["message"] == "Too many subscriptions: at most 1000."


@pytest.mark.spec("MCP-36")
@pytest.mark.parametrize(("arguments", "prefix"), [((), "one__"), (("--only", "one"), "")])
def test_log_messages_of_a_call_reach_a_client_that_set_a_level(tmp_path, arguments, prefix):
    levels = {"levels": ["debug", "warning", "error"]}
    with World(tmp_path, names=("one",), arguments=arguments) as world:
        world.request("logging/setLevel", level="warning")
        world.request("tools/call", name=f"{prefix}log", arguments=levels)
        received = [(note["params"]["level"], note["params"]["data"]) for note in world.client.notifications]
        assert received == [("warning", "a warning"), ("error", "a error")]
        assert world.client.notifications[0]["params"]["logger"] == "disk"


@pytest.mark.spec("MCP-36")
@pytest.mark.parametrize("modern", [False, True])
def test_a_client_of_the_newer_protocol_gets_log_messages_only_for_requests_with_a_level(tmp_path, modern):
    call = {"name": "one__log", "arguments": {"levels": ["info", "error"]}}
    with World(tmp_path, MODERN, names=("one",), modern=modern) as world:
        world.request("tools/call", **call)
        assert world.client.notifications == []
        world.request("tools/call", **call, _meta={LOG_LEVEL: "error"})
        assert [note["params"]["level"] for note in world.client.notifications] == ["error"]


@pytest.mark.spec("MCP-36")
def test_log_messages_are_in_our_log_without_secrets(tmp_path):
    world = World(tmp_path, names=("one",))
    world.home.write("secrets.yaml", "KEY: hunter2-hunter2\n")
    arguments = {"levels": ["error"], "data": {"key": "hunter2-hunter2", "disk": "full"}}
    with world:
        world.request("tools/call", name="one__log", arguments=arguments)
        world.client.close()
    (entry,) = [entry for entry in world.home.log() if "full" in str(entry.get("message"))]
    assert entry["logger"] == "onetool.servers.one" if "logger" in entry else True
    everything = json.dumps([*world.home.log(), *world.client.notifications])
    assert "hunter2" not in everything


@pytest.mark.spec("MCP-37")
@pytest.mark.parametrize("version", [LEGACY, MODERN])
@pytest.mark.parametrize("expose", ["all", "search", "run"])
def test_progress_arrives_in_order_before_the_result(tmp_path, version, expose):
    name, arguments = {
        "all": ("one__count", {"to": 90}),
        "search": ("call_tool", {"name": "one.count", "args": {"to": 90}}),
        "run": ("run", {"command": "one.count(to=90)"}),
    }[expose]
    with World(tmp_path, version, names=("one",), expose=expose) as world:
        meta = {"progressToken": "mine"}
        world.request("tools/call", name=name, arguments=arguments, _meta=meta)
        progress = [
            note["params"] for note in world.client.notifications if "progressToken" in note["params"]
        ]
        before = len(world.client.notifications)
        world.request("ping") if version == LEGACY else world.list("prompts/list", "prompts")
        assert not [note for note in world.client.notifications[before:] if "progressToken" in note["params"]]
    assert {note["progressToken"] for note in progress} == {"mine"}
    assert [note["progress"] for note in progress] == list(range(1, 91))
    assert progress[0]["message"] == ("one.count: 1/90 on it" if expose == "run" else "on it")


@pytest.mark.spec("MCP-37")
def test_parallel_calls_have_their_own_progress(tmp_path):
    with World(tmp_path, names=("one", "two")) as world:
        sent = {}
        for name in ("one", "two"):
            arguments, meta = {"to": 20}, {"progressToken": name}
            sent[name] = world.client.send(
                "tools/call", name=f"{name}__count", arguments=arguments, _meta=meta
            )
        pending, progress = set(sent.values()), {"one": [], "two": []}
        while pending:
            message = world.client.receive()
            pending.discard(message.get("id"))
            if message.get("method") == "notifications/progress":
                progress[message["params"]["progressToken"]].append(message["params"]["progress"])
    assert progress == {name: list(range(1, 21)) for name in ("one", "two")}


@pytest.mark.spec("MCP-19")
def test_lists_are_stable_and_say_how_long_they_may_be_cached(tmp_path):
    with World(tmp_path, MODERN, names=("one", "two")) as world:
        for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
            world.request(method)
            first, second = (json.dumps(world.request(method)) for _ in range(2))
            assert first == second
            result = json.loads(first)
            assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
