"""Calls that clients do not wait for, on a local server and on a hosted one with a worker."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from onetool.testing.http_stub import HttpStub, StubResponse
from support.hosted_process import HostedProcess, Installation
from support.postgres import ClusterUrls, new_database
from support.processes import wait_until
from support.rest_process import RestProcess, http_tool
from support.waiting import HANG_S
from support.worker_process import WorkerProcess

ASYNC = {"Prefer": "respond-async"}
ECHO = {"name": "tools.echo", "args": {"message": "hi"}}
LEASE_S = 3


class Service(HttpStub):
    """An upstream that counts its effects and responds when the gate is open."""

    def __init__(self):
        super().__init__({"/act": self._act})
        self.gate = threading.Event()

    def _act(self, request):
        self.gate.wait(HANG_S)
        return StubResponse({"done": True})

    @property
    def keys(self):
        return [request.headers.get("Idempotency-Key") for request in self.requests]


@pytest.fixture
def service():
    with Service() as service:
        yield service
        service.gate.set()


@pytest.fixture(scope="module")
def own_installation():
    """Return a database of its own: workers run the jobs of all workspaces."""
    with new_database() as url:
        installation = Installation(ClusterUrls(url))
        yield installation
        installation.close()


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    with RestProcess(tmp_path_factory.mktemp("local")) as server:
        yield server


@pytest.fixture(scope="module")
def hosted(tmp_path_factory, own_installation):
    with HostedProcess(tmp_path_factory.mktemp("hosted"), installation=own_installation) as server:
        yield server


@pytest.fixture
def start_worker(tmp_path, own_installation, hosted):
    """Return a function that starts a worker, which is stopped at the end."""
    started, names = [], count()

    def start(*options):
        options = ("--lease", str(LEASE_S), *options)
        started.append(WorkerProcess(tmp_path / f"w{next(names)}", own_installation, *options).start())
        return started[-1]

    yield start
    for worker in started:
        worker.stop()


@pytest.fixture(params=["local", "hosted"])
def server(request):
    """Return each kind of server, which runs jobs."""
    if request.param == "hosted":
        request.getfixturevalue("start_worker")()
    return request.getfixturevalue(request.param)


def submit(server, body=ECHO, **headers):
    return server.client.post("/tools/call", json=body, headers=ASYNC | headers)


def job_path(server, response):
    """Return the path of the job of a response, inside of its workspace."""
    return response.headers["location"].removeprefix(server.path)


def wait_for(server, response, **headers):
    """Wait until a job ends, and return it."""
    headers = {"Prefer": "wait=30"} | headers
    job = server.client.get(job_path(server, response), headers=headers).json()
    while job["status"] in ("queued", "running"):
        job = server.client.get(job_path(server, response), headers=headers).json()
    return job


def act(server, service, **fields):
    """Create a tool that has an effect, and return a call of it."""
    request = {"method": "POST", "body": {"x": 1}} | fields
    slug = f"act{len(server.list_all('/tools/bundles'))}"
    bundle = server.create_bundle(slug=slug)
    server.create_tool(bundle, slug="act", **http_tool(f"{service.url}/act", request=request))
    return {"name": f"{slug}.act", "args": {}}


def status_of(server, response):
    return server.client.get(job_path(server, response)).json()["status"]


def test_call_is_accepted_at_once_and_its_job_has_the_result(server):
    response = submit(server)
    assert response.status_code == 202, response.text
    body = response.json()
    assert body["status"] in ("queued", "running")
    assert response.headers["location"] == f"{server.path}/jobs/{body['job']}"
    assert response.headers["preference-applied"] == "respond-async"
    assert int(response.headers["retry-after"]) > 0
    job = wait_for(server, response)
    assert (job["id"], job["status"], job["tool"]) == (body["job"], "succeeded", "tools.echo")
    assert (job["result"]["ok"], job["result"]["value"]) == (True, "hi")
    failed = wait_for(server, submit(server, {"name": "no.such", "args": {}}))
    assert (failed["status"], failed["result"]["error"]["code"]) == ("failed", "tool_not_found")


def test_stored_tool_is_called_by_its_url_too(server, service):
    service.gate.set()
    tool = server.create_tool(**http_tool(f"{service.url}/act"))
    response = server.client.post(f"{server.url_of(tool)}/invoke", json={"args": {}}, headers=ASYNC)
    assert response.status_code == 202
    assert wait_for(server, response)["result"]["value"] == {"done": True}
    assert service.keys == [None], "a request that only reads needs no key"


def test_one_key_at_the_same_time_is_one_effect(server, service):
    """The upstream gets the id of the job as its key."""
    call, clients, key = act(server, service), 50, "key 'é'".encode()

    def send(_):
        with server.new_client() as client:
            headers = ASYNC | {"Idempotency-Key": key}
            return client.post("/tools/call", json=call, headers=headers)

    with ThreadPoolExecutor(clients) as pool:
        responses = list(pool.map(send, range(clients)))
    assert {response.status_code for response in responses} == {202}
    (job,) = {response.json()["job"] for response in responses}
    service.gate.set()
    assert wait_for(server, responses[0])["status"] == "succeeded"
    assert submit(server, call, **{"Idempotency-Key": key}).json()["job"] == job
    assert service.keys == [job]


def test_own_header_of_a_tool_wins(local, service):
    service.gate.set()
    call = act(local, service, headers={"idempotency-key": "own"})
    assert wait_for(local, submit(local, call))["status"] == "succeeded"
    assert [request.headers.get("idempotency-key") for request in service.requests] == ["own"]


def test_requests_of_one_tool_have_different_keys(local, service):
    service.gate.set()
    bundle = local.create_bundle(slug=f"steps{len(local.list_all('/tools/bundles'))}")
    methods = ("POST", "GET", "PUT")
    requests = [{"method": method, "urlTemplate": f"{service.url}/act"} for method in methods]
    body = http_tool(service.url) | {"httpImpl": {"requests": requests}}
    tool = local.create_tool(bundle, slug="act", **body)
    response = local.client.post(f"{local.url_of(tool)}/invoke", json={"args": {}}, headers=ASYNC)
    assert wait_for(local, response)["status"] == "succeeded"
    id = response.json()["job"]
    assert service.keys == [id, None, f"{id}-3"]


def test_call_that_is_not_a_job_has_no_key(local, service):
    service.gate.set()
    assert local.client.post("/tools/call", json=act(local, service)).json()["ok"]
    assert service.keys == [None]


def test_progress_is_streamed_until_the_job_ends(server, tmp_path):
    gate = tmp_path / "gate"
    response = submit(server, {"name": "probes.stepwise", "args": {"gate": str(gate)}})
    events = []
    with server.client.stream(
        "GET", job_path(server, response), headers={"Accept": "text/event-stream"}
    ) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        for line in stream.iter_lines():
            kind, _, data = line.partition(": ")
            if kind == "event":
                events.append([data])
            elif kind == "data":
                events[-1].append(json.loads(data))
                gate.touch()
    assert events[0] == ["progress", {"done": 1, "total": 2, "message": "half"}]
    kind, job = events[-1]
    assert (kind, job["status"], job["result"]["value"]) == ("job", "succeeded", "opened")


def test_running_job_is_cancelled(server, service):
    response = submit(server, act(server, service))
    assert wait_until(lambda: service.requests)
    server.client.post(f"{job_path(server, response)}/cancel")
    assert wait_for(server, response)["status"] == "cancelled"
    assert len(service.requests) == 1


def test_queued_jobs_wait_for_a_worker_and_survive_restarts(hosted, own_installation, start_worker, tmp_path):
    options = {"installation": own_installation, "workspace": hosted.workspace}
    with HostedProcess(tmp_path, **options) as other:
        responses = [submit(other) for _ in range(3)]
    assert [status_of(hosted, response) for response in responses] == ["queued"] * 3
    start_worker()
    assert [wait_for(hosted, response)["status"] for response in responses] == ["succeeded"] * 3


def test_killed_workers_lose_their_job_and_repeat_nothing(hosted, service, start_worker, size):
    """While a worker takes over, the upstream sees each key once."""
    jobs = []
    for _ in range(size(2, 100)):
        call = act(hosted, service)
        worker, before = start_worker(), len(service.requests)
        response = submit(hosted, call)
        assert wait_until(lambda before=before: len(service.requests) > before)
        worker.kill()
        jobs.append(response)
    start_worker()
    for response in jobs:
        job = wait_for(hosted, response)
        assert job["status"] == "lost"
        message = job["result"]["error"]["message"]
        assert "Nothing was repeated. May have run: act" in message
    stored = "select status, owner from jobs where workspace_id = %s and id = any(%s)"
    ids = [response.json()["job"] for response in jobs]
    assert wait_until(lambda: set(hosted.workspace.rows(stored, ids)) == {("lost", None)})
    service.gate.set()
    assert wait_for(hosted, submit(hosted))["status"] == "succeeded"
    assert service.keys == ids


def test_worker_gives_calls_in_progress_time_to_end(hosted, service, start_worker):
    call = act(hosted, service)
    worker = start_worker()
    response = submit(hosted, call)
    assert wait_until(lambda: service.requests)
    worker.process.terminate()
    waiting = submit(hosted)  # it takes no new ones
    service.gate.set()
    assert worker.process.wait(HANG_S) == 0
    assert wait_for(hosted, response)["status"] == "succeeded"
    assert status_of(hosted, waiting) == "queued"
    hosted.client.post(f"{job_path(hosted, waiting)}/cancel")
