"""The audit log over REST, and through which interface a change was made."""

import json

from onetool.domain.audit.entry import AuditAction
from onetool.interfaces.rest.schemas.audit import AuditRecord
from onetool.storage.postgres.audit import CHUNK, record
from support.hosted_process import OWNER, HostedProcess
from support.raw_mcp import HTTP_HEADERS, INITIALIZE
from support.rest_in_process import serve_memory
from support.rest_process import SETTINGS, write_private

WHO = '''
pack = "who"

from onetool.domain.identity.interface import current_interface
from onetool.domain.identity.principal import current_principal


def am_i() -> str:
    """Return on whose behalf and through which interface this is called."""
    return f"{current_principal().id} {current_interface()}"
'''


def entries(view, **query):
    response = view.client.get("/audit", params=query)
    assert response.status_code == 200, response.text
    return response.json()["entries"]


def test_changes_over_rest_are_listed_with_the_owner_of_the_key(view):
    bundle = view.create_bundle(slug="weather")
    tool = view.create_tool(bundle, "today")
    view.client.patch(f"/tools/bundles/{bundle}", json={"isEnabled": False})
    found = entries(view, actor=OWNER)
    assert [(entry["action"], entry["interface"]) for entry in found] == [
        ("bundle.change", "rest"),
        ("tool.add", "rest"),
        ("bundle.create", "rest"),
    ]
    assert AuditRecord.model_validate(found[0]).model_extra == {}
    assert set(found[0]) == set(AuditRecord.model_fields)
    assert found[0]["target"] == found[2]["target"] == bundle
    assert found[0]["detail"] == {"slug": "weather", "fields": ["is_enabled"]}
    assert found[1]["target"] == f"{bundle}/today/{tool['version']}"
    assert entries(view, target=bundle) == found
    assert entries(view, action="tool", since=found[1]["at"]) == [found[1]]
    assert entries(view, until=found[2]["at"], actor=OWNER) == []


def test_pages_have_all_entries_once(view):
    for number in range(5):
        view.create_bundle(slug=f"b{number}")
    expected, found, query = entries(view), [], {"limit": 2}
    while True:
        page = view.client.get("/audit", params=query).json()
        assert len(page["entries"]) <= 2
        found += page["entries"]
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert found == expected
    assert len(found) > 5
    for wrong in ({"cursor": "x"}, {"limit": 0}, {"limit": 201}, {"since": "inf"}, {"since": -1}):
        assert view.client.get("/audit", params=wrong).status_code == 400, wrong


def test_export_streams_all_entries_as_lines(view):
    stored = view.workspace.stored
    with stored.recording() as cursor:
        for number in range(CHUNK + 1):
            record(cursor, stored.workspace, AuditAction.TOGGLE_SET, f"x\u2028{number}")
    with view.client.stream("GET", "/audit/export", params={"action": "toggle"}) as response:
        assert response.headers["content-type"].startswith("application/x-ndjson")
        lines = response.read().removesuffix(b"\n").split(b"\n")
    targets = [json.loads(line)["target"] for line in lines]
    assert targets == [f"x\u2028{number}" for number in reversed(range(CHUNK + 1))]
    assert json.loads(lines[0]) == entries(view, action="toggle", limit=1)[0]


def test_log_of_another_workspace_is_not_listed_or_exported(view, open_hosted):
    other = open_hosted(SETTINGS)
    bundle = other.create_bundle()
    for path in ("/audit", "/audit/export"):
        assert bundle in other.client.get(path).text
        assert bundle not in view.client.get(path).text
        assert other.workspace.slug not in view.client.get(path).text


async def test_local_server_has_no_audit_log():
    async with serve_memory() as client:
        for path in ("/audit", "/audit/export"):
            response = await client.get(path)
            assert (response.status_code, "Only a hosted OneTool" in response.json()["detail"]) == (404, True)


def test_each_interface_is_that_of_the_request(installation, tmp_path):
    """What a tool does is done through the interface that has called it, also in code and in jobs."""
    write_private(tmp_path / "config" / "tools" / "who.py", WHO)
    with HostedProcess(tmp_path, "--with-worker", installation=installation) as server:
        call = {"name": "who.am_i", "args": {}}
        assert server.client.post("/tools/call", json=call).json()["value"] == f"{OWNER} rest"
        run = server.client.post("/run", json={"command": "who.am_i()"})
        assert f"{OWNER} rest" in run.text
        assert f"{OWNER} mcp" in run_over_mcp(server.client, "who.am_i()")
        queued = server.client.post("/tools/call", json=call, headers={"Prefer": "respond-async"})
        job = server.client.get(job_path(queued), headers={"Prefer": "wait=30"})
        assert f"{OWNER} job" in job.text
    assert server.exit_code == 0


def job_path(response):
    """Return the path of a job in its workspace."""
    return "/jobs/" + response.headers["Location"].rpartition("/")[2]


def run_over_mcp(client, command):
    """Run code in a new MCP session, and return the text of the response."""

    headers = dict(HTTP_HEADERS)
    opened = client.post("/mcp", json=INITIALIZE, headers=headers)
    headers["Mcp-Session-Id"] = opened.headers["Mcp-Session-Id"]
    params = {"name": "run", "arguments": {"command": command}}
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    return client.post("/mcp", json=message, headers=headers).text
