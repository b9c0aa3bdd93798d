"""Descriptions and connection tests of other servers."""

import pytest

from onetool.catalog.mcp_servers import McpServers
from onetool.domain.health import ServerHealth
from onetool.domain.servers.manifest import QuarantinedTool
from onetool.domain.servers.server_tool import ServerTool
from onetool.ports import SourceStatus
from onetool.settings.server_schema import ServerSettings
from onetool.testing import FakeMcpTool, fake_mcp_server

SAY = FakeMcpTool("say", "Say.", {"type": "object"}, lambda args: "hi")
CONFIGURED = {
    "near": ServerSettings(command="npx", args=("-y", "near")),
    "far": ServerSettings(url="https://far.test/mcp"),
    "off": ServerSettings(command="x", enabled=False),
}


class QuarantiningServer(type(fake_mcp_server("x", []))):
    """A server that has a quarantined tool and was never started."""

    state = "configured"

    async def quarantined(self):
        tool = ServerTool(definition={"name": "say", "inputSchema": {"type": "object"}})
        return [QuarantinedTool(name="say", reason="it has changed", old=None, new=tool)]


def quarantining_server(name, tools, **options):
    server = fake_mcp_server(name, tools, **options)
    server.__class__ = QuarantiningServer
    return server


async def test_servers_are_described_without_being_started():
    """Disabled servers and servers that a program passes in are described too."""
    far = fake_mcp_server("far", [], connected=False)
    servers = McpServers([quarantining_server("near", [SAY]), far, fake_mcp_server("own", [SAY])], CONFIGURED)
    assert await servers.describe() == [
        description("near", "configured", None, "npx -y near", quarantined=1),
        description("far", "failed", 0, "https://far.test/mcp", reason="it is not connected"),
        description("off", "disabled", None, "x"),
        description("own", "connected", 1, ""),
    ]
    assert (list(servers), len(servers), "off" in servers) == (["near", "far", "own"], 3, False)


def description(name, state, tools, endpoint, *, quarantined=0, reason=""):
    return {
        **{"name": name, "state": state, "reason": reason, "tools": tools},
        **{"quarantined": quarantined, "sandbox": "", "canLogIn": False, "endpoint": endpoint},
    }


@pytest.mark.parametrize(
    ("server", "ok", "tools", "reason"),
    [
        (fake_mcp_server("s", [SAY]), True, 1, ""),
        (fake_mcp_server("s", [], connected=False), False, None, "it is not connected"),
        (quarantining_server("s", [SAY]), True, 1, "1 tool quarantined. Review: onetool servers approve s"),
    ],
)
async def test_probe_returns_the_outcome(server, ok, tools, reason):
    outcome = await McpServers([server], {}).probe("s")
    assert outcome.pop("seconds") >= 0
    assert (outcome.pop("state"), outcome.pop("steps")) == (server.state, [])
    others = dict.fromkeys(("resources", "templates", "prompts"), 0 if ok else None)
    assert outcome == {"name": "s", "ok": ok, "tools": tools, "reason": reason, **others}


async def test_probe_of_a_server_that_does_not_respond():
    silent = quarantining_server("s", [], connected=False)
    silent.__class__ = type("SilentServer", (QuarantiningServer,), {"status": lambda self: SourceStatus()})
    assert (await McpServers([silent], {}).probe("s"))["reason"] == "it does not respond"
    with pytest.raises(KeyError):
        await McpServers([], CONFIGURED).probe("off")


@pytest.mark.parametrize(
    ("server", "endpoint"),
    [
        (ServerSettings(url="https://me:pw@far.test/mcp?token=abcdefgh#x"), "https://far.test/mcp"),
        (ServerSettings(command="npx", args=("-y", "s", "--api-key", "sk-0123456789abcdef")), "npx ..."),
    ],
)
async def test_endpoint_contains_no_secret(server, endpoint):
    (described,) = await McpServers([], {"s": server}).describe()
    assert described["endpoint"] == endpoint


async def test_configured_server_without_a_source_does_not_respond():
    health = await McpServers([], CONFIGURED).check_all(5.0)
    assert {name: server.state for name, server in health.items()} == {"near": "failed", "far": "failed"}


async def test_server_whose_check_raises_has_failed():
    """The others are checked all the same."""

    class RaisingServer(QuarantiningServer):
        async def probe(self, timeout_s=None):
            raise RuntimeError("broken")

    raising = quarantining_server("near", [], connected=False)
    raising.__class__ = RaisingServer
    health = await McpServers([raising, fake_mcp_server("far", [SAY])], CONFIGURED).check_all(5.0)
    assert (health["near"].state, health["far"]) == ("failed", ServerHealth("connected"))
