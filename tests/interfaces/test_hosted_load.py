"""No request of any kind fails behind three hosted processes, and each change is seen at all of them."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from statistics import quantiles

import pytest
import yaml

from interfaces.replica_chats import ALLOW, chat
from interfaces.replicas import new_id
from support.asking_client import FORM, accept, text_of
from support.prompted_model import call_prompt
from support.raw_mcp import LEGACY, MODERN
from support.rest_process import new_id as new_bundle_id
from support.rest_process import python_tool
from support.waiting import HANG_S

SAY = '{"say": "hi"}'
DAY = timedelta(days=1)
MAX_REVOKED = 4
"""How many keys are revoked: the responses to more wrong keys would be delayed."""


@pytest.fixture(scope="module")
def world(hosted_replicas):
    let_servers_ask(hosted_replicas)
    return hosted_replicas


def let_servers_ask(world):
    """Let each server ask at each process: from then on, its calls run one after the other."""
    for at in world.process_names:
        client = world.connect(LEGACY, FORM, at)
        for server in ("old_http", "new_http"):
            response = client.answers(accept(name="Ann")).call(f"{server}__ask_name", {"id": new_id("first")})
            assert text_of(response) == "hello Ann"


class Worker:
    """One client that makes requests of every kind, each at the next process, and notes those that fail."""

    def __init__(self, world, version):
        self.world, self.rest, self.session = world, world.client(), new_id("load")
        self.mcp = world.connect(version, FORM)
        self.requests, self.ids, self.problems = 0, [], []

    def work(self, rounds):
        for number in range(rounds):
            server = "old_http" if number % 2 else "new_http"
            for step in (self._list, self._mcp, self._call, self._job, self._chat):
                try:
                    step(server)
                except Exception as error:
                    self.problems.append(f"{step.__name__}: {error!r}")

    def _list(self, server):
        tools = self.mcp.request("tools/list")["result"]["tools"]
        self._check(f"{server}__ask_name" in [tool["name"] for tool in tools], tools)

    def _mcp(self, server):
        steps = [("hello Ann", "ask_name", accept(name="Ann")), ("wrote x", "write", accept(allow=True))]
        for expected, tool, answer in steps:
            response = self.mcp.answers(answer).call(f"{server}__{tool}", {"id": self._new_id(), "text": "x"})
            self._check(text_of(response) == expected, response, requests=2)

    def _call(self, _server):
        body = {"name": "tools.echo", "args": {"message": "hi"}}
        response = self.rest.post("/tools/call", json=body)
        self._check(response.status_code == 200 and response.json()["ok"], response.text)
        response = self.rest.get("/tools/bundles", params={"pageSize": "5"})
        self._check(response.status_code == 200, response.text)

    def _job(self, server):
        """A call over REST that asks becomes a job."""
        body = {"name": f"{server}.ask_name", "args": {"id": self._new_id()}, "interactive": True}
        job = self.rest.post("/tools/call", json=body)
        self._check(job.status_code == 202, job.text)
        id, (question,) = job.json()["job"], job.json()["questions"]
        answers = {"answers": {question["id"]: accept(name="Lee")}}
        ended = self.rest.post(f"/jobs/{id}/answers", params={"wait": 50}, json=answers)
        self._check(ended.status_code == 200 and "hello Lee" in ended.text, ended.text)

    def _chat(self, server):
        result, _ = chat(self.rest, SAY, self.session)
        self._check(result["answer"] == "said: hi", result)
        prompt = call_prompt(f"{server}__write", id=self._new_id(), text="x")
        result, _ = chat(self.rest, prompt, self.session, ALLOW)
        self._check(result["answer"] == "result: wrote x", result, requests=2)

    def _check(self, is_right, what, requests=1):
        self.requests += requests
        if not is_right:
            self.problems.append(str(what)[:1_000])

    def _new_id(self):
        self.ids.append(new_id("load"))
        return self.ids[-1]


def test_no_request_fails_behind_three_processes(world, size):
    rounds = size(4, 105)
    workers = [Worker(world, version) for version in (LEGACY, MODERN, LEGACY, MODERN)]
    threads = [threading.Thread(target=worker.work, args=(rounds,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{sum(worker.requests for worker in workers)} requests")
    assert [worker.problems for worker in workers] == [[]] * len(workers)
    ids = [id for worker in workers for id in worker.ids]
    assert [id for id in ids if len(world.runs(id)) != 1] == []


def test_every_change_is_seen_at_all_processes(world, size):
    """Tools that are added, changed, switched and deleted at one process, settings, and revoked keys."""
    rounds, delays = size(2, 25), []
    clients = [world.client(at) for at in world.process_names]
    for client in clients:  # opens the workspace
        assert client.get("/tools/tools").status_code == 200
    with ThreadPoolExecutor(len(clients)) as threads:

        def see(look):
            """Look at all processes until each has seen a change, and note how long it took."""
            started = time.monotonic()

            def wait(client):
                while not look(client):
                    assert time.monotonic() < started + HANG_S, "a change is never seen"
                return time.monotonic() - started

            delays.extend(threads.map(wait, clients))

        for number in range(rounds):
            change_tools(clients[number % len(clients)], see)
            change_settings(world, see)
            if number < MAX_REVOKED:
                revoke_key(world, see)
    cuts = quantiles(delays, n=100)
    print(f"{len(delays)} changes seen, p50 {cuts[49] * 1e3:.0f} ms, p99 {cuts[98] * 1e3:.0f} ms")


def revoke_key(world, see):
    """A key that all processes know is refused at all of them."""
    created = world.workspace._change(lambda contents: contents.create_key("eve", "load", DAY))
    clients = {at: world.client(at, created.text) for at in world.process_names}
    by_port = {world.serve(at).url: client for at, client in clients.items()}
    for client in clients.values():
        assert client.get("/tools/tools").status_code == 200
    assert world.workspace._change(lambda contents: contents.keys.revoke(created.key.id))
    see(lambda at: by_port[str(at.base_url).rstrip("/")].get("/tools/tools").status_code == 401)


def change_tools(client, see):
    id = new_bundle_id()
    body = {"slug": f"b-{id[-12:]}", "displayName": "B", "description": "", "isEnabled": True}
    assert client.put(f"/tools/bundles/{id}", json=body).status_code == 201
    url = f"/tools/bundles/{id}/tools/probe/version/v1"

    def outcome(at):
        reply = at.post(f"{url}/invoke", json={"args": {}}).json()
        return reply["value"] if reply["ok"] else reply["error"]["code"]

    assert client.put(url, json=python_tool("probes.one")).status_code == 201
    see(lambda at: outcome(at) == 1)
    assert client.patch(url, json={"isEnabled": False}).status_code == 200
    see(lambda at: outcome(at) == "tool_not_found")
    assert client.patch(url, json={"isEnabled": True}).status_code == 200
    see(lambda at: outcome(at) == 1)
    assert client.delete(url).status_code in (200, 204)
    see(lambda at: outcome(at) == "tool_not_found")


def change_settings(world, see):
    alias = new_id("say").replace("-", "_")
    document = yaml.safe_load(world.settings) | {"aliases": {alias: "tools.echo"}}
    world.workspace.write_settings(yaml.safe_dump(document))
    body = {"name": alias, "args": {"message": "hi"}}
    see(lambda at: at.post("/tools/call", json=body).json()["ok"])
