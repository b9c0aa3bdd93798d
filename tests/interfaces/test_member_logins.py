"""Logins of members at several hosted servers: one refresh for all of them, and one end."""

import threading
from collections import Counter
from contextlib import ExitStack
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
import yaml

from support.asking_client import AskingClient, HttpTransport, accept, text_of
from support.hosted_process import HostedProcess
from support.oauth_server import OAuthMcpServer
from support.processes import wait_until
from support.raw_mcp import LEGACY, MODERN
from support.waiting import HANG_S

CALLS = 50
URL_ONLY = {"elicitation": {"url": {}}}


class Replicas:
    """Three processes with one workspace, whose server `up` is called with the login of each member."""

    def __init__(self, root, installation, protected):
        self.protected = protected
        entry = {"url": protected.url, "credentials": "person"}
        settings = {
            "servers": {"up": entry},
            "allowedHosts": ["127.0.0.1"],
            "expose": "all",
            "approval": {"mcp": "allow"},
        }
        self.workspace = installation.create_workspace(yaml.safe_dump(settings))
        self.processes = [
            HostedProcess(
                root / name,
                settings=yaml.safe_dump(settings),
                installation=installation,
                workspace=self.workspace,
                ONETOOL_PUBLIC_URL="https://tools.example.com",
            )
            for name in "abc"
        ]

    def client(self, process, key=""):
        headers = {"Authorization": f"Bearer {key or self.workspace.key}"}
        return httpx2.Client(
            base_url=process.url, headers=headers, trust_env=False, verify=False, timeout=HANG_S
        )

    def log_in(self, key="", at=0):
        """Begin a login at one process and complete it at the next one."""
        first, second = (self.client(self.processes[number % 3], key) for number in (at, at + 1))
        with first, second:
            begun = first.post("/connections/up/login", json={})
            assert begun.status_code == 200, begun.text
            page = httpx2.get(begun.json()["url"], trust_env=False, verify=False)
            response = dict(parse_qsl(urlsplit(page.headers["location"]).query))
            finished = second.post("/connections/callback", json=response)
            assert finished.status_code == 200, finished.text


@pytest.fixture(scope="module")
def replicas(tmp_path_factory, installation):
    with ExitStack() as stack:
        protected = stack.enter_context(OAuthMcpServer())
        replicas = Replicas(tmp_path_factory.mktemp("logins"), installation, protected)
        for process in replicas.processes:
            stack.enter_context(process)
        replicas.log_in()
        with replicas.client(replicas.processes[0]) as client:
            assert client.post("/connections/up/tools").status_code == 204
        yield replicas


def call(client):
    return client.post("/tools/call", json={"name": "up.echo", "args": {"text": "x"}}).json()


def call_everywhere(replicas):
    """Make all calls at once at each process, and return what failed."""
    failures, start = [], threading.Barrier(len(replicas.processes) * 5)

    def repeat(process):
        with replicas.client(process) as client:
            start.wait(HANG_S)
            for _ in range(CALLS // 5):
                result = call(client)
                if not result.get("ok"):
                    failures.append(result)

    threads = [
        threading.Thread(target=repeat, args=(process,)) for process in replicas.processes for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


@pytest.mark.parametrize("is_lost", [False, True])
def test_expired_login_is_refreshed_once_for_all_processes(replicas, is_lost):
    """A second refresh would end the login: the refresh token is used up. A lost response does not."""
    protected = replicas.protected
    assert call_everywhere(replicas) == []
    protected.accepts_used = is_lost
    if is_lost:
        protected.lose_next_refresh()
    before, protected.called_by = Counter(protected.request_counts), []
    protected.expire_access_tokens()
    assert call_everywhere(replicas) == []
    assert len(protected.called_by) == CALLS * 3
    refreshes = protected.request_counts["refresh_token"] - before["refresh_token"]
    assert (refreshes, protected.request_counts["reused"]) == (2 if is_lost else 1, 0)


def test_login_ends_at_all_processes(replicas):
    key = replicas.workspace.new_key("leaving")
    with ExitStack() as stack:
        clients = [stack.enter_context(replicas.client(process, key)) for process in replicas.processes]
        replicas.log_in(key)
        for client in clients:
            assert wait_until(lambda client=client: call(client)["ok"])
        assert clients[1].delete("/connections/up").status_code == 204
        for client in clients:
            assert wait_until(lambda client=client: call(client)["meta"].get("reason") == "needs_login")
            assert call(client)["meta"]["reason"] == "needs_login"


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_mcp_client_is_asked_to_open_the_login_page(replicas, version):
    """The call goes on when its user has logged in."""
    key = replicas.workspace.new_key(f"new-{version}")
    transport = HttpTransport(f"{replicas.processes[0].url}/mcp", version, key)
    with AskingClient(transport, version, URL_ONLY) as client:
        client.answers(accept())
        answer = client.answer

        def log_in_and_answer(question):
            replicas.log_in(key, at=1)
            return answer(question)

        client.answer = log_in_and_answer
        assert text_of(client.call("up__echo", {"text": "hello"})) == "hello"
        (question,) = client.questions
    params = question.get("params", question)
    assert params["mode"] == "url"
    assert params["url"] == f"https://tools.example.com{replicas.workspace.path}/connections?server=up"
    assert "is called with the login of each member" in params["message"]


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_mcp_client_that_cannot_open_pages_is_told_where(replicas, version):
    transport = HttpTransport(
        f"{replicas.processes[0].url}/mcp", version, replicas.workspace.new_key("other")
    )
    with AskingClient(transport, version, {}) as client:
        text = text_of(client.call("up__echo", {"text": "hello"}))
    assert f"Open https://tools.example.com{replicas.workspace.path}/connections?server=up" in text
