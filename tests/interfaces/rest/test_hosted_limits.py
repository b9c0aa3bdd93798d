"""Limits of workspaces over REST: what is refused says which limit, and when to try again."""

import time

import pytest

from onetool.bootstrap.hosted_admin import workspace_admin
from support.hosted_process import HostedProcess
from support.rest_process import SETTINGS
from support.waiting import HANG_S

MINUTE_S = 60
REPLICAS = 4
"""Servers of other tests with this database count as replicas until their last sign of life is old."""
ECHO = {"name": "tools.echo", "args": {"message": "hi"}}


@pytest.fixture
def change_limits(installation):
    def change(view, **limits):
        admin = workspace_admin(installation.url, installation.keys)
        assert admin.change_limits(view.workspace.slug, limits) is not None

    return change


def first_refusal(view):
    """Call until a call is refused, as it must be once the server has followed a change."""
    end = time.monotonic() + HANG_S
    while (response := view.client.post("/tools/call", json=ECHO)).status_code == 200:
        assert time.monotonic() < end, "no call was refused"
    return response


def test_changed_limit_reaches_a_running_server_and_the_response_says_when_to_try_again(view, change_limits):
    assert view.client.post("/tools/call", json=ECHO).json()["value"] == "hi"
    change_limits(view, calls_per_minute=1)
    refused = first_refusal(view)
    assert (refused.status_code, refused.json()["meta"]["reason"]) == (429, "rate_limited")
    message = refused.json()["error"]["message"]
    assert "tools.echo was not called: the workspace is limited to 1 calls per minute. Try again" in message
    assert 1 <= int(refused.headers["Retry-After"]) <= REPLICAS * MINUTE_S
    assert f"Try again in {refused.headers['Retry-After']} s." in message
    change_limits(view, calls_per_minute=None)
    end = time.monotonic() + HANG_S
    while view.client.post("/tools/call", json=ECHO).status_code != 200:
        assert time.monotonic() < end, "the limit stays"


def test_other_workspaces_and_principals_are_not_limited(view, open_hosted, change_limits):
    other = open_hosted(SETTINGS)
    change_limits(view, principal_calls_per_minute=1)
    assert "'anna' is limited to 1 calls per minute" in first_refusal(view).json()["error"]["message"]
    assert [other.client.post("/tools/call", json=ECHO).status_code for _ in range(5)] == [200] * 5


def test_quota_of_stored_tools_is_refused_with_the_current_number(view, change_limits):
    bundle = view.create_bundle()
    view.create_tool(bundle, "a")
    change_limits(view, stored_tools=1)
    refused = view.put_tool(bundle, "b")
    assert (refused.status_code, "the workspace has 1 tools" in refused.json()["detail"]) == (409, True)
    assert "its limit of 1 (stored_tools)" in refused.json()["detail"]


def test_two_servers_share_the_rate_in_redis(installation, tmp_path, redis_url, change_limits):
    """A rate of one workspace is the same at both; what is limited has keys of the workspace alone."""
    workspace = installation.create_workspace()
    fields = {"installation": installation, "workspace": workspace, "ONETOOL_REDIS_URL": redis_url}
    with HostedProcess(tmp_path / "a", **fields) as first, HostedProcess(tmp_path / "b", **fields) as second:
        change_limits(first, calls_per_minute=7)
        for server in (first, second):
            first_refusal(server)
        change_limits(first, calls_per_minute=None)
        bundle = first.create_bundle()
        tool = first.create_tool(bundle, "rare", limits={"maxCallsPerMinute": 2})
        end = time.monotonic() + HANG_S
        while second.client.get(second.url_of(tool)).status_code != 200:
            assert time.monotonic() < end, "the tool is not announced"
        began = time.monotonic()
        statuses = [server.invoke(tool).status_code for _ in range(2) for server in (first, second)]
        calls_since = 2 * (time.monotonic() - began) / MINUTE_S
    assert set(statuses) == {200, 429}
    assert 2 <= statuses.count(200) <= 2 + calls_since


def test_server_starts_and_limits_without_redis(installation, tmp_path, change_limits):
    """A Redis that is away is reported once."""
    url = "redis://127.0.0.1:1/0"
    with HostedProcess(tmp_path, installation=installation, ONETOOL_REDIS_URL=url) as server:
        change_limits(server, calls_per_minute=2)
        assert first_refusal(server).headers["Retry-After"]
        log = server.errors.read_text()
    assert log.count("Redis cannot be used") == 1
