"""Two servers of a team behind a PgBouncer in transaction mode, which is restarted while they are used."""

from contextlib import ExitStack
from functools import partial

import httpx2
import pytest

from interfaces.request_load import RequestLoad
from support.hosted_process import HostedProcess, WorkspaceView
from support.pgbouncer import PgBouncer
from support.processes import wait_until
from support.rest_process import new_slug

ASYNC = {"Prefer": "respond-async"}
ECHO = {"name": "tools.echo", "args": {"message": "x"}}


@pytest.fixture
def pooler(installation):
    with PgBouncer(installation.url) as pooler:
        yield pooler


@pytest.fixture
def servers(installation, pooler, tmp_path):
    """Return two servers of the same workspace, of which the second one is a worker too."""
    workspace = installation.create_workspace()
    with ExitStack() as stack:
        servers = []
        for name, *options in (("a",), ("b", "--with-worker")):
            parts = {"installation": installation, "workspace": workspace}
            variables = {"ONETOOL_POOLED_DATABASE_URL": pooler.url}
            server = HostedProcess(tmp_path / name, *options, **parts, **variables)
            stack.callback(server.stop)
            servers.append(server.start())
        yield [server.wait_until_ready() for server in servers]


@pytest.fixture
def others(servers, installation):
    """Return views of four more workspaces, two at each server."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(WorkspaceView(servers[n % 2], installation.create_workspace()))
            for n in range(4)
        ]


def call(server):
    return server.client.post("/tools/call", json=ECHO)


def bundles(server):
    found = server.list_all("/tools/bundles", includeDisabled="true")
    return {bundle["slug"] for bundle in found if bundle["origin"] not in ("builtin", "pack")}


def status(server):
    return httpx2.get(f"{server.origin}/readyz", trust_env=False, verify=False).json()["status"]


def create_bundles(server, acknowledged):
    """Create a bundle, and note its slug if it was acknowledged."""
    slug = new_slug()
    response = server.put_bundle(slug=slug)
    if response.status_code == 201:
        acknowledged.add(slug)
    return response


def run_queued_call(server):
    job = server.client.post("/tools/call", json=ECHO, headers=ASYNC).json()["job"]
    ended = server.client.get(f"/jobs/{job}", headers={"Prefer": "wait=60"}).json()
    assert ended["status"] == "succeeded", ended


def test_servers_behind_a_pooler(servers, others, pooler):
    """Workspaces see their own tools only, and changes at one server are known at the other.

    While the pooler is away, known calls go on, and changes are refused. What was acknowledged is there.
    """
    created = [set() for _ in others]
    loads = [partial(create_bundles, *pair) for pair in zip(others, created, strict=True)]
    assert [call(server).status_code for server in servers] == [200, 200]
    with RequestLoad(*[partial(call, server) for server in servers]) as calls:
        with RequestLoad(*loads) as changes:
            changes.wait_for(8)
        assert set(changes.statuses) == {201}
        run_queued_call(servers[0])
        with RequestLoad(*loads) as changes:
            changes.wait_for(4)
            pooler.kill()
            assert wait_until(lambda: changes.statuses[503] >= 2)
            calls.wait_for(10)
            pooler.start()
            before = changes.statuses[201]
            assert wait_until(lambda: changes.statuses[201] > before + 4)
        assert set(changes.statuses) == {201, 503}
    assert set(calls.statuses) == {200}
    for other, acknowledged in zip(others, created, strict=True):
        assert acknowledged <= bundles(other)
        assert bundles(other).isdisjoint(set().union(*created) - acknowledged)
    slug = new_slug()
    assert servers[0].put_bundle(slug=slug).status_code == 201
    assert wait_until(lambda: slug in bundles(servers[1]))
    run_queued_call(servers[0])
    assert wait_until(lambda: {status(server) for server in servers} == {"ok"})
