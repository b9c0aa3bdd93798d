"""Keys are replaced while two servers make calls that use secrets, and store new ones: nothing fails."""

import time
from contextlib import ExitStack
from itertools import count

import psycopg
import pytest

from interfaces.request_load import RequestLoad
from onetool.bootstrap.hosted_admin import new_key
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.key_ring import KeyRing
from onetool.storage.postgres.key_rotation import rotate_keys
from onetool.storage.postgres.rewrap import rewrap_keys
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from storage.sealed_values import SealedValues
from support.hosted_process import HostedProcess, Installation
from support.postgres import ClusterUrls, new_database
from support.rest_process import RestReply, http_tool
from support.rest_process import shared_upstream as shared_upstream

HOST = "127.0.0.1"
NAMES = 5
"""How many secrets of each kind are written again and again."""
STEADY = "steady-canary"
KINDS = ("workspace", "me")
MAX_CALLERS = 12
ASYNC = {"Prefer": "respond-async"}


class Servers:
    """Two servers of one workspace. Requests go to them in turn."""

    def __init__(self, root, upstream):
        self._stack, self._root, self._starts = ExitStack(), root, count()
        url = self._stack.enter_context(new_database())
        self.installation = Installation(ClusterUrls(url))
        self._stack.callback(self.installation.close)
        self.workspace = self.installation.create_workspace()
        self.written = {"STEADY": STEADY}
        """The last value of each secret that was stored."""
        self.sent, self.wrong, self.jobs = {STEADY}, [], []
        self._turns, self._values = count(), count()
        self.running = [self.start(), self.start()]
        self.workspace.put_secret("STEADY", STEADY, [HOST])
        for kind in KINDS:
            for number in range(NAMES):
                assert self.put_secret(kind, number).status_code == 200
        self.tool = self._create_tool(f"{upstream.url}{upstream.script(self._reply)}")

    def start(self):
        """Start a server with the keys that the installation has now."""
        return self._stack.enter_context(
            HostedProcess(
                self._root / f"s{next(self._starts)}",
                "--with-worker",
                installation=self.installation,
                workspace=self.workspace,
            )
        )

    def replace_all(self, calls, pause):
        """Replace each server by a new one, as a balancer does: the old one ends when it has no requests."""
        for index, old in enumerate(self.running):
            self.running[index] = self.start()
            calls.wait_for(pause)
            old.stop()

    def call(self):
        """Call a tool that sends secrets of both kinds."""
        return self._client.post("/tools/call", json={"name": self.tool, "args": {"n": "0"}})

    def submit(self):
        """Submit such a call as a job."""
        body = {"name": self.tool, "args": {"n": "1"}}
        response = self._client.post("/tools/call", json=body, headers=ASYNC)
        self.jobs.append(response.json()["job"])
        return response

    def put_secret(self, kind, number):
        """Replace a secret of the workspace, or of the member."""
        name, value = f"{kind}_{number}", f"value-{next(self._values)}"
        self.sent.add(value)
        body = {"value": value, "of": kind, "hosts": [HOST]}
        response = self._client.put(f"/secrets/{name}", json=body)
        if response.status_code == 200:
            self.written[name] = value
        return response

    def writer(self, kind, calls, pause):
        """Return what replaces the secrets of a kind in turn, each after some calls."""
        numbers = count()

        def write():
            calls.wait_for(pause)
            return self.put_secret(kind, next(numbers) % NAMES)

        return write

    def submitter(self, calls, pause):
        """Return what submits jobs, each after some calls."""

        def submit():
            calls.wait_for(pause)
            return self.submit()

        return submit

    def sealed(self):
        """Return the sealed values, for a process with the keys of the installation."""
        database = Database(self.installation.url)
        self._stack.callback(database.close)
        workspace = WorkspaceDatabase(database, self.workspace.stored.workspace)
        return SealedValues(workspace, KeyRing.parse(self.installation.keys))

    def check(self, calls, changes, submissions):
        """Check that nothing has failed, and that everything can be opened."""
        assert (set(calls.statuses), set(changes.statuses)) == ({200}, {200})
        assert set(submissions.statuses) == {202}
        for job in self.jobs:
            finished = self._finished(job)
            assert finished["status"] == "succeeded", finished
        assert self.wrong == []
        opened = self.sealed()
        stored = {name: secret.value for name, secret in opened.secrets.read().items()}
        with opened.workspace.reading() as cursor:
            rows = cursor.execute("select owner, name, sealed from own_secrets").fetchall()
            for owner, name, value in rows:
                stored[name] = opened.sealer.open(cursor, value, "own secret", owner, name)
        assert {name: stored[name] for name in self.written} == self.written
        (key,) = opened.data_keys()
        assert opened.key_names() == {key}
        opened.threads.close()

    def close(self):
        self._stack.close()

    @property
    def _client(self):
        return self.running[next(self._turns) % 2].client

    def _finished(self, id):
        while True:
            job = self._client.get(f"/jobs/{id}", headers={"Prefer": "wait=30"}).json()
            if job["status"] not in ("queued", "running"):
                return job

    def _create_tool(self, url):
        headers = {"X-Steady": "${STEADY}", "X-Workspace": "${workspace_0}", "X-Own": "${me_0}"}
        server = self.running[0]
        bundle = server.create_bundle(slug="keyed")
        request = {"method": "POST", "headers": headers, "body": {"n": "${n}"}}
        server.create_tool(bundle, slug="send", **http_tool(url, "n", request=request))
        return "keyed.send"

    def _reply(self, request):
        values = [request.headers.get(f"x-{name}") for name in ("steady", "workspace", "own")]
        if values[0] != STEADY or not self.sent.issuperset(values):
            self.wrong.append(values)
        return RestReply(body={"fine": True})


@pytest.fixture(scope="module")
def servers(tmp_path_factory, upstream):
    servers = Servers(tmp_path_factory.mktemp("rotated"), upstream)
    yield servers
    servers.close()


@pytest.fixture
def under_load(servers, size):
    """Return a function that does something under load, and checks that nothing has failed."""

    def run(action):
        callers, pause = size((4, 4), (MAX_CALLERS, 40))
        with (
            RequestLoad(*[servers.call] * callers) as calls,
            RequestLoad(*[servers.writer(kind, calls, pause) for kind in KINDS]) as changes,
            RequestLoad(servers.submitter(calls, pause)) as submissions,
        ):
            calls.wait_for(20)
            started, before = time.monotonic(), calls.statuses.total()
            action(calls)
            rate = (calls.statuses.total() - before) / (time.monotonic() - started)
        servers.check(calls, changes, submissions)
        totals = [load.statuses.total() for load in (calls, changes, submissions)]
        print(f"{rate:.0f} calls/s; calls, changes and jobs in all:", *totals)  # shown with -s

    return run


def data_keys(servers):
    with psycopg.connect(servers.installation.url) as connection:
        return set(connection.execute("select id from onetool.data_keys").fetchall())


@pytest.mark.guards("tenant-sealing")
@pytest.mark.stress
def test_data_keys_are_rotated_under_load(servers, under_load, size):
    before = data_keys(servers)

    def rotate(calls):
        for _ in range(size(2, 20)):
            (done,) = rotate_keys(
                servers.installation.url, KeyRing.parse(servers.installation.keys), servers.workspace.slug
            )
            assert done.unreadable == []
            calls.wait_for(size(20, 300))

    under_load(rotate)
    assert not before & data_keys(servers)


@pytest.mark.guards("tenant-sealing")
@pytest.mark.stress
def test_key_of_the_ring_is_replaced_under_load(servers, under_load, size):
    def replace(calls):
        installation, old = servers.installation, servers.installation.keys
        new, pause = new_key("next"), size(20, 100)  # more than there are callers
        installation.keys = f"{new},{old}"
        servers.replace_all(calls, pause)
        assert rewrap_keys(installation.url, KeyRing.parse(installation.keys)) == 1
        calls.wait_for(size(20, 1_000))
        installation.keys = new
        servers.replace_all(calls, pause)
        calls.wait_for(size(20, 1_000))

    under_load(replace)
    with psycopg.connect(servers.installation.url) as connection:
        assert connection.execute("select distinct ring_key from onetool.data_keys").fetchall() == [("next",)]
