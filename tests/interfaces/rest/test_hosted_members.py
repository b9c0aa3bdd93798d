"""Members, grants and API keys of a hosted workspace over REST."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from pytest_asyncio import fixture as async_fixture

from onetool.domain.identity.roles import Role
from onetool.interfaces.rest.route_rights import needed_right
from onetool.storage.postgres.api_keys import PREFIX
from support.raw_mcp import HTTP_HEADERS, INITIALIZE
from support.rest_process import python_tool
from support.waiting import HANG_S

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROLES = ("owner", "maker", "caller", "auditor")


class Team:
    """A workspace with a client for each role."""

    def __init__(self, server, stack):
        self.server, self._stack = server, stack

    async def create(self):
        self.slug = await self.server.new_workspace()
        for role in ROLES:
            setattr(self, role, await self.client(role, role=Role(role)))
        return self

    async def client(self, owner, **options):
        key = await self.server.new_key(self.slug, owner, **options)
        return await self.with_key(key.text)

    async def with_key(self, text):
        return await self._stack.enter_async_context(self.server.client(self.slug, text))


@async_fixture(loop_scope="module")
async def team(server):
    async with AsyncExitStack() as stack:
        yield await Team(server, stack).create()


async def echo(client):
    response = await client.post("/tools/call", json={"name": "tools.echo", "args": {"message": "x"}})
    return response.status_code


async def test_me_says_who_makes_the_request(team):
    me = (await team.maker.get("/me")).json()
    assert me == {
        "principal": "maker",
        "roles": ["maker"],
        "rights": ["read", "call", "make"],
        "patterns": [],
    }
    limited = await team.client("maker", patterns=["tools.*"])
    assert (await limited.get("/me")).json()["patterns"] == ["tools.*"]


async def test_role_is_changed_while_the_member_works(team):
    assert await echo(team.caller) == 200
    body = {"role": "auditor"}
    assert (await team.owner.put("/members/service/caller", json=body)).json()["role"] == "auditor"
    response = await team.caller.post("/tools/call", json={"name": "tools.echo", "args": {"message": "x"}})
    assert response.status_code == 403
    assert response.json()["detail"] == (
        "POST /tools/call needs the role owner or maker or caller. Yours: auditor."
    )
    await team.owner.put("/members/service/caller", json={"role": "caller", "patterns": ["time.*"]})
    response = await team.caller.post("/tools/call", json={"name": "tools.echo", "args": {"message": "x"}})
    assert (response.status_code, response.json()["error"]["code"]) == (404, "tool_not_found")


async def test_removed_member_is_refused_with_all_keys(team):
    assert await echo(team.caller) == 200
    assert (await team.owner.delete("/members/service/caller")).status_code == 204
    assert await echo(team.caller) == 401
    assert (await team.owner.delete("/members/service/caller")).status_code == 404
    last = await team.owner.delete("/members/service/owner")
    assert last.status_code == 400
    assert last.json()["detail"] == (
        "'owner' is the last owner of the workspace. Make someone else an owner first."
    )


async def test_grants_decide_and_are_explained(team):
    body = {"kind": "service", "member": "caller", "effect": "deny", "pattern": "tools.*"}
    created = await team.owner.post("/grants", json=body)
    assert created.status_code == 201
    assert await echo(team.caller) == 403
    path = "/access/tools.echo"
    (mine, *_) = (await team.caller.get(path)).json()["decisions"]
    (seen, *_) = (await team.owner.get(path, params={"member": "caller"})).json()["decisions"]
    (own, *_) = (await team.owner.get(path)).json()["decisions"]
    assert mine == seen
    assert (mine["effect"], mine["rules"][0]["origin"], mine["rules"][0]["value"]) == (
        "deny",
        "grant to the member",
        "deny tools.*",
    )
    assert own["effect"] == "allow"
    listed = (await team.owner.get("/access", params={"query": "tools.echo", "member": "caller"})).json()
    assert listed["tools"][0]["decisions"][0] == mine
    assert (await team.maker.get(path, params={"member": "caller"})).status_code == 403
    (grant,) = (await team.owner.get("/grants")).json()["grants"]
    assert (grant["member"], grant["addedBy"]) == ("caller", "owner")
    assert (await team.owner.delete(f"/grants/{grant['id']}")).status_code == 204
    assert await echo(team.caller) == 200
    assert (await team.owner.delete(f"/grants/{grant['id']}")).status_code == 404


async def test_grant_that_denies_counts_while_the_user_is_asked(team):
    grant = {"kind": "service", "member": "caller", "effect": "ask", "pattern": "tools.*"}
    await team.owner.post("/grants", json=grant)
    body = {"name": "tools.echo", "args": {"message": "x"}, "interactive": True}
    asked = await team.caller.post("/tools/call", json=body)
    assert asked.status_code == 202, asked.text
    (question,) = asked.json()["questions"]
    await team.owner.post("/grants", json=grant | {"effect": "deny"})
    answer = {"action": "accept", "content": {"allow": True}}
    path = f"/jobs/{asked.json()['job']}"
    result = await team.caller.post(f"{path}/answers", json={"answers": {question["id"]: answer}})
    job = await team.caller.get(path, headers={"Prefer": "wait=55"})
    assert "is denied by grant to the member: deny tools.*" in result.text + job.text


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"member": "ghost"}, "'ghost' is not a member"),
        ({"pattern": "\n"}, "is not a pattern"),
        ({"effect": "hidden"}, "effect"),
        ({"kind": "robot"}, "kind"),
    ],
)
async def test_invalid_grants_are_refused(team, body, message):
    valid = {"kind": "service", "member": "caller", "effect": "deny", "pattern": "x"}
    response = await team.owner.post("/grants", json=valid | body)
    assert response.status_code == 400
    assert message in response.json()["detail"]


async def test_members_create_and_revoke_their_own_keys(team):
    body = {"name": "laptop", "days": 7, "patterns": ["tools.*"]}
    created = (await team.caller.post("/keys", json=body)).json()
    assert created["key"].startswith(created["prefix"])
    assert created["prefix"].startswith(PREFIX)
    limited = await team.with_key(created["key"])
    assert await echo(limited) == 200
    clock = await limited.post("/tools/call", json={"name": "time.now", "args": {}})
    assert (clock.status_code, clock.json()["error"]["code"]) == (404, "tool_not_found")
    for method, path in (("GET", "/tools/tools"), ("GET", "/keys"), ("POST", "/keys"), ("GET", "/sessions")):
        response = await limited.request(method, path, json=body)
        assert response.status_code == 403
        assert "is only for calls of tools.*" in response.json()["detail"]
    listed = (await team.caller.get("/keys")).json()["keys"]
    assert {key["name"] for key in listed} == {"test", "laptop"}
    assert created["key"] not in str(listed)
    assert (await team.maker.delete(f"/keys/{created['id']}")).status_code == 404
    assert (await team.caller.delete(f"/keys/{created['id']}")).status_code == 204
    assert await echo(limited) == 401


async def test_jobs_of_other_keys_and_principals_are_not_found(team):
    """An owner's other key may wait for an approval."""
    limited = await team.client("caller", patterns=["time.*"])
    body = {"name": "tools.echo", "args": {"message": "x"}}
    headers = {"Prefer": "respond-async", "Idempotency-Key": "shared"}
    started = await team.caller.post("/tools/call", json=body, headers=headers)
    assert started.status_code == 202
    id = started.json()["job"]
    assert (await team.maker.post("/tools/call", json=body, headers=headers)).json()["job"] != id
    assert (await team.caller.get(f"/jobs/{id}")).status_code == 200
    for client in (limited, team.maker):
        assert (await client.get(f"/jobs/{id}")).status_code == 404
        assert (await client.post(f"/jobs/{id}/cancel")).status_code == 404
    tasks = await limited.post("/tools/call", json={"name": "ot.tasks", "args": {}})
    assert tasks.status_code == 200, tasks.text
    assert id not in tasks.text
    own = await limited.post(
        "/tools/call", json={"name": "time.now", "args": {}}, headers={"Prefer": "respond-async"}
    )
    assert (await limited.get(f"/jobs/{own.json()['job']}")).status_code == 200


async def test_bundle_named_like_the_own_pack_does_not_escape_patterns(team):
    from uuid_utils.compat import uuid7

    bundle = f"/tools/bundles/{uuid7()}"
    body = {"slug": "ot", "displayName": "O", "description": "x", "isEnabled": True}
    assert (await team.maker.put(bundle, json=body)).status_code == 201
    tool = python_tool("tools.echo")
    stored = await team.maker.put(f"{bundle}/tools/mine/version/v1", json=tool)
    assert stored.status_code == 201, stored.text
    limited = await team.client("maker", patterns=["time.*"])
    call = {"name": "ot.mine", "args": {"message": "x"}}
    assert (await team.maker.post("/tools/call", json=call)).status_code == 200
    assert (await limited.post("/tools/call", json=call)).status_code == 404
    await team.owner.put("/members/service/caller", json={"role": "caller", "patterns": ["time.*"]})
    assert (await team.caller.post("/tools/call", json=call)).status_code == 404


async def test_owners_create_keys_of_services_and_see_all(team):
    assert (await team.owner.put("/members/service/ci", json={"role": "caller"})).status_code == 200
    body = {"name": "ci", "service": "ci"}
    created = (await team.owner.post("/keys", json=body)).json()
    service = await team.with_key(created["key"])
    assert (await service.get("/me")).json()["principal"] == "ci"
    missing = await team.owner.post("/keys", json={"name": "x", "service": "nothing"})
    assert (missing.status_code, "Add it as a member first" in missing.json()["detail"]) == (404, True)
    everyone = (await team.owner.get("/keys", params={"everyone": True})).json()["keys"]
    assert {key["owner"] for key in everyone} >= {"ci", *ROLES}
    assert (await team.owner.delete(f"/keys/{created['id']}")).status_code == 204


async def test_auditors_see_all_calls_and_others_their_own(team):
    assert await echo(team.caller) == 200
    (record,) = (await team.caller.get("/activity")).json()["records"]
    path = f"/activity/{record['id']}"
    for client, is_seen in ((team.caller, True), (team.auditor, True), (team.owner, False)):
        listed = (await client.get("/activity")).json()["records"]
        assert (record["id"] in {item["id"] for item in listed}) is is_seen
        assert ((await client.get(path)).status_code == 200) is is_seen


@pytest.mark.guards("member-rights")
async def test_running_mcp_client_loses_a_right_at_once(team):
    """The rights of a principal are read again before each call."""
    headers = dict(HTTP_HEADERS)
    opened = await team.caller.post("/mcp", json=INITIALIZE, headers=headers)
    assert opened.status_code == 200, opened.text
    headers["Mcp-Session-Id"] = opened.headers["mcp-session-id"]
    run = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "run", "arguments": {"command": "tools.echo(message='x-1')"}},
    }
    first = await team.caller.post("/mcp", json=run, headers=headers)
    assert "x-1" in first.text
    await team.owner.post(
        "/grants", json={"kind": "service", "member": "caller", "effect": "deny", "pattern": "tools.*"}
    )
    async with asyncio.timeout(HANG_S):
        second = await team.caller.post("/mcp", json=run | {"id": 3}, headers=headers)
    assert "denied" in second.text or "not allowed" in second.text


async def test_unknown_routes_are_for_owners():
    assert needed_right("GET", "/something/new") == "manage"
    assert needed_right("POST", "/something/new") == "manage"
    assert needed_right("POST", "/tools/new") == "manage"
    assert needed_right("HEAD", "/tools/tools") == "read"
    assert needed_right("GET", "/audit/export") == "audit"


async def test_record_of_a_hidden_call_names_the_rule_but_not_whether_there_is_such_a_tool(team):
    await team.owner.put("/members/service/caller", json={"role": "caller", "patterns": ["time.*"]})
    limited = await team.client("maker", patterns=["time.*"])
    names = ("tools.echo", "tools.no_such_tool")
    for client in (team.caller, limited):
        for name in names:
            call = {"name": name, "args": {"message": "x"}}
            assert (await client.post("/tools/call", json=call)).status_code == 404
    rules = {}
    for owner, client in (("caller", team.caller), ("maker", team.maker)):
        for record in (await client.get("/activity")).json()["records"]:
            rules[record["tool"], owner] = record["decision"]
    by_member = "hidden: members: caller of time.* (the member)"
    by_key = "hidden: the API key is limited to: time.*"
    assert rules == {
        **{(name, "caller"): by_member for name in names},
        **{(name, "maker"): by_key for name in names},
    }


async def test_only_makers_reload_a_workspace(team):
    """A reload reaches all servers, and changes are followed without one."""
    limited = await team.client("maker", patterns=["ot.*"])
    for client, is_allowed in (
        (team.maker, True),
        (team.owner, True),
        (team.caller, False),
        (limited, False),
    ):
        result = await client.post("/tools/call", json={"name": "ot.reload", "args": {}})
        assert ("Configuration reloaded" in result.text) == is_allowed, result.text
        assert ("needs the role owner or maker" in result.text) == (not is_allowed)


async def test_changes_of_members_are_limited_per_workspace(team):
    """All servers read the rights again after each of them."""
    other = await Team(team.server, team._stack).create()
    path, body = "/members/service/ci", {"role": "caller"}
    async with team.server.workspaces.use(team.slug) as opened:
        opened.administration.rates._rates._clock = lambda: 0.0  # no time passes
        statuses = [(await team.owner.put(path, json=body)).status_code for _ in range(120)]
        assert statuses == sorted(statuses), "the first ones are accepted"
        assert set(statuses) == {200, 429}
        assert int((await team.owner.put(path, json=body)).headers["Retry-After"]) >= 1
        refused = {"/grants": "POST", "/keys": "POST", path: "DELETE", "/invitations": "POST"}
        for place, method in refused.items():
            assert (await team.owner.request(method, place, json={})).status_code == 429, place
        assert (await team.owner.get("/members")).status_code == 200
        assert (await other.owner.put(path, json=body)).status_code == 200
