"""Other servers, described and tried: for every door in the same words."""

import pytest

from onetool.catalog.servers import Servers
from onetool.domain.manifest import Definition, HeldBack
from onetool.settings.schema import Server
from onetool.testing import ProxyTool, proxy_server

SAY = ProxyTool("say", "Say.", {"type": "object"}, lambda args: "hi")
CONFIGURED = {
    "near": Server(command="npx", args=("-y", "near")),
    "far": Server(url="https://far.test/mcp"),
    "off": Server(command="x", enabled=False),
}


class Wary(type(proxy_server("x", []))):
    """A server that holds something back, and that nobody has asked yet."""

    state = "configured"

    async def held_back(self):
        tool = Definition(name="say", input_schema={"type": "object"})
        return [HeldBack(name="say", reason="it has changed", old=None, new=tool)]


def wary(name, tools, **more):
    made = proxy_server(name, tools, **more)
    made.__class__ = Wary
    return made


async def test_servers_are_described_without_being_started():
    """Where each is, how far it is, and what waits; also those that are off, and those of a program."""
    far = proxy_server("far", [], connected=False)
    servers = Servers([wary("near", [SAY]), far, proxy_server("own", [SAY])], CONFIGURED)
    assert await servers.describe() == [
        known("near", "configured", None, "npx -y near", held=1),
        known("far", "failed", 0, "https://far.test/mcp", reason="it is not connected"),
        known("off", "off", None, "x"),
        known("own", "started", 1, ""),
    ]
    assert (list(servers), len(servers), "off" in servers) == (["near", "far", "own"], 3, False)


def known(name, state, tools, where, *, held=0, reason=""):
    return {
        **{"name": name, "state": state, "reason": reason, "tools": tools},
        **{"heldBack": held, "where": where},
    }


@pytest.mark.parametrize(
    ("server", "ok", "tools", "says"),
    [
        (proxy_server("s", [SAY]), True, 1, ""),
        (proxy_server("s", [], connected=False), False, None, "it is not connected"),
        (wary("s", [SAY]), True, 1, "1 tool held back. Look at them: onetool servers approve s"),
    ],
)
async def test_a_server_that_is_tried_says_what_it_answers(server, ok, tools, says):
    """Whether, how many tools, and what somebody should look at."""
    tried = await Servers([server], {}).try_out("s")
    assert tried.pop("seconds") >= 0
    assert tried == {"name": "s", "ok": ok, "tools": tools, "reason": says}


async def test_a_server_that_does_not_answer_and_does_not_say_why():
    """Is said not to answer."""
    mute = wary("s", [], connected=False)
    mute.__class__ = type("Mute", (Wary,), {"reason": ""})
    assert (await Servers([mute], {}).try_out("s"))["reason"] == "it does not answer"
    with pytest.raises(KeyError):
        await Servers([], CONFIGURED).try_out("off")


@pytest.mark.parametrize(
    ("server", "where"),
    [
        (Server(url="https://me:pw@far.test/mcp?token=abcdefgh#x"), "https://far.test/mcp"),
        (Server(command="npx", args=("-y", "s", "--api-key", "sk-0123456789abcdef")), "npx ..."),
    ],
)
async def test_where_a_server_is_says_no_secret(server, where):
    """What is shown on a screen may be seen by anybody."""
    (described,) = await Servers([], {"s": server}).describe()
    assert described["where"] == where


async def test_a_server_that_nobody_made_does_not_answer():
    """What the settings name and nothing stands for is said to be silent."""
    assert await Servers([], CONFIGURED).answers() == {"near": False, "far": False}
