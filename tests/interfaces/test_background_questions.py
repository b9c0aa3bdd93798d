"""OneTool in the background: clients of one process are asked what their own calls want to know."""

import sys
import threading
from contextlib import ExitStack

import pytest

from support.asking_client import FORM, accept, is_approval, message_of, text_of
from support.asking_world import AskingWorld
from support.mcp_client import child_env
from support.onetool_process import onetool
from support.processes import wait_until
from support.raw_mcp import LEGACY, MODERN
from support.waiting import HANG_S

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")
ALLOW = accept(allow=True)


class BackgroundWorld(AskingWorld):
    """`onetool up`; every `onetool mcp` only copies bytes."""

    def __enter__(self):
        super().__enter__()
        self._command("up")
        self._stack.callback(self._command, "down")
        return self

    def _command(self, *args):
        done = onetool(*args, env=child_env(**self.home.env), cwd=self.home.cwd)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with BackgroundWorld(tmp_path_factory.mktemp("background"), "old", "new", "old_quiet") as world:
        yield world


@pytest.mark.linux
@pytest.mark.spec("MCP-38", "MCP-48")
@pytest.mark.parametrize("server", ["old", "new"])
@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_client_is_asked_by_servers_and_for_approvals(world, version, server):
    with world.open(version, "stdio", FORM) as client:
        assert '"clients": [' in world._command("status", "--json")
        asked = client.answers(accept(name="Ada")).call(f"{server}__ask_name", {"id": version})
        assert (text_of(asked), len(client.questions)) == ("hello Ada", 1)
        changed = client.answers(ALLOW).call(f"{server}__write", {"id": version})
        assert is_approval(client.questions[0]), changed
        assert world.count(server, "write", version) == 1
        client.answers(accept(allow=False)).call(f"{server}__write", {"id": version})
        assert world.count(server, "write", version) == 1


@pytest.mark.linux
@pytest.mark.spec("MCP-42")
@pytest.mark.parametrize("server", ["old", "new"])
def test_answers_never_reach_the_call_of_another_client(world, size, server):
    rounds, names = size(10, 200), ["Ada", "Grace", "Edsger", "Barbara"]
    with ExitStack() as stack:
        versions = [LEGACY, MODERN, LEGACY, MODERN]
        clients = [stack.enter_context(world.open(version, "stdio", FORM)) for version in versions]
        texts = {name: [] for name in names}

        def call(client, name):
            client.answers(*[accept(name=name)] * rounds)
            for _ in range(rounds):
                texts[name].append(text_of(client.call(f"{server}__ask_name", {"id": name + server})))

        pairs = list(zip(clients, names, strict=True))
        clients[0].answers(accept(name="Ada")).call(f"{server}__ask_name", {"id": "first"})
        threads = [threading.Thread(target=call, args=pair, daemon=True) for pair in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANG_S * 10)
        for client, name in pairs:
            assert texts[name] == [f"hello {name}"] * rounds
            assert len(client.questions) == rounds
            assert client.failures == []


@pytest.mark.linux
@pytest.mark.spec("MCP-42")
def test_question_of_a_command_is_not_shown_to_a_client(world, tmp_path):
    """A command shares the server. It cannot be asked, and no one else is asked in its place."""
    with world.open(LEGACY, "stdio", FORM) as client:
        arguments = {"gate": str(tmp_path / "gate"), "id": "slow"}
        _, slow = client.answers().start("tools/call", name="old_quiet__slow", arguments=arguments)
        assert wait_until(lambda: world.count("old_quiet", "slow", "slow", "waiting") == 1)
        code = 'old_quiet.ask_name(id="command")'
        done = onetool("run", code, env=child_env(**world.home.env), cwd=world.home.cwd)
        assert world.count("old_quiet", "ask_name", "command") == 1, done.stderr
        (tmp_path / "gate").touch()
        slow.result(HANG_S)
        assert [message_of(question) for question in client.questions] == []
