"""The metrics of hosted servers and workers, as the operator's Prometheus reads them."""

import os
import platform
import socket
from http import HTTPStatus

import httpx2
import pytest

from onetool.domain.errors import Reason
from onetool.storage.postgres.migrate import migrations
from onetool.version import __version__
from support.hosted_process import OWNER, HostedProcess
from support.onetool_process import onetool
from support.otlp_receiver import OtlpReceiver
from support.processes import wait_until
from support.rest_process import new_slug
from support.scraped_metrics import LISTEN, ScrapedMetrics
from support.waiting import HANG_S
from support.worker_process import WorkerProcess

HOSTILE = 'x{outcome="ok"}\n# TYPE evil counter\nevil 1\n'
LABELS = {
    "cluster": {"home"},
    "interface": {"mcp", "rest", "health", "other"},
    "kind": {"call", "run"},
    "method": {"key", "oidc"},
    "outcome": {"ok", "refused", "failed", *(reason.value for reason in Reason)},
    "state": {"waiting", "retrying"},
    "status": {"ok", "degraded", "unavailable", "draining", *(str(status.value) for status in HTTPStatus)},
    "version": {__version__},
}
"""All labels with the values that they can have. Others are numbers."""


@pytest.fixture(scope="module")
def receiver():
    with OtlpReceiver() as opened:
        yield opened


@pytest.fixture(scope="module")
def server(installation, tmp_path_factory, receiver):
    root = tmp_path_factory.mktemp("measured")
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
    with HostedProcess(root, *LISTEN, installation=installation, **env) as process:
        process.metrics = ScrapedMetrics(process)
        yield process


def call(server, name, **args):
    return server.client.post("/tools/call", json={"name": name, "args": args})


def changes(before, after, name):
    """Return by how much each series of a metric has grown, without those that have not."""
    grown = {
        labels: value - before.get((name, labels), 0)
        for (found, labels), value in after.items()
        if found == name
    }
    return {tuple(value for _, value in sorted(labels)): count for labels, count in grown.items() if count}


def test_calls_are_counted_by_outcome_and_duration(server):
    before = server.metrics.read()
    assert [call(server, "probes.one").status_code for _ in range(3)] == [200] * 3
    call(server, "probes.fail", why="because")
    call(server, "probes.add", a="no number")
    call(server, "no.such_tool")
    run = server.client.post("/run", json={"command": "probes.two() + probes.one()"})
    assert run.status_code == 200, run.text
    after = server.metrics.read()
    assert changes(before, after, "onetool_tool_calls_total") == {
        ("call", "ok"): 5,
        ("call", "raised"): 1,
        ("call", "bad_args"): 1,
        ("call", "unknown"): 1,
        ("run", "ok"): 1,
    }
    assert changes(before, after, "onetool_tool_call_duration_seconds_count") == {("call",): 8, ("run",): 1}
    assert changes(before, after, "onetool_tool_call_duration_seconds_bucket")["call", "+Inf"] == 8
    assert changes(before, after, "onetool_tool_call_duration_seconds_sum")["call",] > 0
    assert changes(before, after, "onetool_http_requests_total")["rest", "200"] >= 4


def test_requests_and_logins_are_counted_by_their_status(server):
    before = server.metrics.read()
    with server.new_client("ot_wrong") as stranger:
        assert stranger.get("/tools/tools").status_code == 401
        assert stranger.post("/mcp", json={}).status_code == 401
        assert stranger.post("/login", json={"token": "ot_wrong"}).status_code == 401
        assert stranger.post("/login", json={"token": server.token}).status_code == 204
    httpx2.get(f"{server.origin}/readyz", trust_env=False, verify=False, timeout=HANG_S)
    after = server.metrics.read()
    assert changes(before, after, "onetool_http_requests_total") == {
        ("rest", "401"): 2,
        ("mcp", "401"): 1,
        ("rest", "204"): 1,
        ("health", "200"): 1,
    }
    assert changes(before, after, "onetool_logins_total") == {("key", "refused"): 1, ("key", "ok"): 1}


def test_call_in_progress_uses_a_slot_and_is_a_request_in_progress(server, tmp_path):
    gate, read = tmp_path / "gate", server.metrics.value
    body = {"name": "probes.stepwise", "args": {"gate": str(gate)}}
    accept = {"Accept": "text/event-stream"}
    with server.client.stream("POST", "/tools/call", json=body, headers=accept) as stream:
        assert wait_until(lambda: read("onetool_slots_used") == 1)
        assert read("onetool_http_requests_in_progress", interface="rest") == 1
        gate.touch()
        stream.read()
    assert wait_until(lambda: read("onetool_http_requests_in_progress", interface="rest") == 0)
    assert read("onetool_slots_used") == 0


def test_no_label_has_a_value_that_a_tenant_chose(server):
    tool = server.create_tool(slug=new_slug("secretive"))
    server.invoke(tool)
    call(server, HOSTILE)
    httpx2.get(
        f"{server.origin}/w/{HOSTILE[:1]}-unknown-workspace/tools/tools",
        trust_env=False,
        verify=False,
        timeout=HANG_S,
    )
    text = server.metrics.text()
    for chosen in ("evil", "unknown-workspace", "secretive", "probes", server.workspace.slug, OWNER):
        assert chosen not in text
    for _, labels in server.metrics.read():
        for label, value in labels:
            assert value in LABELS.get(label, ()) or (label in ("le", "python") and value[0] in "+0123456789")


def test_state_of_the_process_is_reported(server):
    call(server, "probes.one")
    read = server.metrics.value
    assert wait_until(lambda: (read("onetool_event_loop_delay_seconds_count") or 0) > 0)
    assert read("onetool_build_info", version=__version__, python=platform.python_version()) == 1
    assert read("onetool_schema_version") == migrations()[-1].number
    assert read("onetool_status", status="ok") == 1
    assert read("onetool_open_workspaces") == 1
    assert read("onetool_slots") == 64
    assert read("onetool_database_connections_max", cluster="home") == 8
    assert (read("onetool_database_requests_total", cluster="home") or 0) > 0
    assert read("onetool_database_away", cluster="home") == 0
    assert wait_until(lambda: read("onetool_changes_listening", cluster="home") == 1)
    assert (read("process_resident_memory_bytes") or 0) > 10_000_000
    assert read("onetool_redis_away") is None  # there is no Redis
    assert read("onetool_worker_concurrency") is None  # nor a worker
    assert wait_until(lambda: read("onetool_records_pending") == 0)


@pytest.mark.parametrize("path", ["", "/", "/metrics/", "/healthz", "/w/team/metrics", "/metrics/../w"])
def test_listener_serves_nothing_but_metrics(server, path):
    origin = server.metrics.url.removesuffix("/metrics")
    assert httpx2.get(f"{origin}{path}", trust_env=False, verify=False, timeout=HANG_S).status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_listener_accepts_only_get(server, method):
    assert (
        httpx2.request(method, server.metrics.url, trust_env=False, verify=False, timeout=HANG_S).status_code
        == 405
    )


def test_public_port_does_not_serve_the_metrics_of_the_process(server):
    response = server.client.get(f"{server.origin}/metrics")
    assert (response.status_code, "onetool_slots" in response.text) == (404, False)


def test_hosted_calls_are_exported_as_traces(server, receiver):
    call(server, "probes.two")
    assert wait_until(lambda: "execute_tool probes.two" in receiver.spans_by_name())


def test_worker_reports_its_jobs(installation, tmp_path):
    workspace = installation.create_workspace()
    gate = tmp_path / "gate"
    with (
        HostedProcess(tmp_path / "server", installation=installation, workspace=workspace) as server,
        WorkerProcess(tmp_path / "worker", installation, *LISTEN, "--concurrency", "3") as worker,
    ):
        metrics = ScrapedMetrics(worker)
        headers = {"Prefer": "respond-async"}
        body = {"name": "probes.stepwise", "args": {"gate": str(gate)}}
        assert server.client.post("/tools/call", json=body, headers=headers).status_code == 202
        assert wait_until(lambda: metrics.value("onetool_worker_jobs_running") == 1)
        assert metrics.value("onetool_worker_concurrency") == 3
        assert metrics.value("onetool_jobs_lost_total") == 0
        waiting = {"cluster": "home", "state": "waiting"}
        assert wait_until(lambda: metrics.value("onetool_queue_jobs", **waiting) is not None)
        assert metrics.value("onetool_http_requests_in_progress", interface="rest") is None
        gate.touch()
        assert wait_until(lambda: metrics.value("onetool_worker_jobs_running") == 0)
        assert sum(changes({}, metrics.read(), "onetool_tool_calls_total").values()) == 1


def test_metrics_are_only_for_hosted_servers():
    result = onetool("serve", "--port", "0", *LISTEN)
    assert (result.returncode, "--metrics needs --hosted" in result.stderr) == (2, True)


@pytest.mark.parametrize("address", ["9464", "localhost:", ":9464", "127.0.0.1:port", "127.0.0.1:70000"])
def test_invalid_address_is_refused(address):
    result = onetool("worker", "--metrics", address)
    assert (result.returncode, f"{address!r} is no address to listen on" in result.stderr) == (2, True)


def test_occupied_address_is_an_error_that_names_the_option(installation, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        address = f"127.0.0.1:{occupied.getsockname()[1]}"
        env = {"ONETOOL_DATABASE_URL": installation.url, "ONETOOL_KEYS": installation.keys}
        result = onetool("worker", env=os.environ | env | {"ONETOOL_METRICS": address})
    assert result.returncode == 1
    assert f"Cannot listen on {address}" in result.stderr
    assert "Choose another --metrics." in result.stderr
