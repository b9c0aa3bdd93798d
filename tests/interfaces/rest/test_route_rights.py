"""Which right each route of a workspace needs: a table with every route, tried with every role.

A new route fails these tests until someone decides who may use it.
"""

import asyncio
import re
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from pytest_asyncio import fixture as async_fixture

from interfaces.rights_world import Holder, MemberGroup, open_world
from onetool.interfaces.rest.current_workspace import create_hosted_api
from onetool.threads import Threads
from support.rest_process import new_id, python_tool

pytestmark = pytest.mark.asyncio(loop_scope="module")
HOLDERS = [
    Holder("owner", "owner"),
    Holder("maker", "maker"),
    Holder("caller", "caller"),
    Holder("auditor", "auditor"),
    Holder("group-maker", groups=(MemberGroup("makers", "maker"),)),
    Holder("calling-auditor", "auditor", groups=(MemberGroup("callers", "caller"),)),
    Holder("limited-key", "owner", key=("probes.*",)),
    Holder("left", groups=(MemberGroup("former", "owner"),), loses="groups"),
]
READ = {"owner", "maker", "caller", "group-maker", "calling-auditor"}
CALL = {*READ, "limited-key"}
"""Calls, which are all that a limited key is for."""
OWN = READ
"""What belongs to one's own calls."""
MAKE = {"owner", "maker", "group-maker"}
MANAGE = {"owner"}
RECORDS = {*READ, "auditor"}
AUDIT = {"owner", "auditor", "calling-auditor"}
ALL_MEMBERS = {holder.name for holder in HOLDERS} - {"left"}
PUBLIC = {holder.name for holder in HOLDERS}
"""Needs no key."""
REFUSED = re.compile(
    r"needs the role|is not a member of the workspace|only for calls of probes|are for the roles? owner"
)
"""What requests without the right get to read."""
BUNDLE = {"slug": "b", "displayName": "B", "description": "", "isEnabled": True}
VALUES = {
    "toolSlug": "t",
    "version": "v1",
    "id": "none",
    "kind": "group",
    "name": "none",
    "handle": "none",
    "question": "none",
    "key": "log.level",
}
"""What stands in place of path parameters: what does not exist. A new bundle for each request."""


class Route(NamedTuple):
    """Who may use a route, and a request to it."""

    allowed: set[str]
    status: int = 200
    """Of the response to those who may use it. 403: servers cannot be changed in a workspace."""
    body: Any = None
    query: dict[str, str] | None = None


TOOL = "/tools/bundles/{bundleID}/tools/{toolSlug}/version/{version}"
ROUTES = {
    "PUT /tools/bundles/{bundleID}": Route(MAKE, 201, BUNDLE),
    "PATCH /tools/bundles/{bundleID}": Route(MAKE, 404, {"isEnabled": False}),
    "DELETE /tools/bundles/{bundleID}": Route(MAKE, 404),
    "GET /tools/bundles": Route(READ),
    "GET /tools/bundles/{bundleID}/export": Route(READ, 404),
    "POST /tools/import": Route(MAKE, 400, {}),
    "POST /tools/import/openapi": Route(MAKE, 400, {}),
    f"PUT {TOOL}": Route(MAKE, 404, python_tool("probes.read")),
    f"PATCH {TOOL}": Route(MAKE, 404, {"isEnabled": False}),
    f"DELETE {TOOL}": Route(MAKE, 404),
    f"GET {TOOL}": Route(READ, 404),
    "GET /tools/tools": Route(READ),
    "GET /tools": Route(READ),
    "GET /tools/tools/search": Route(READ, query={"q": "read"}),
    "GET /tools/search": Route(READ, query={"q": "read"}),
    f"POST {TOOL}/invoke": Route(OWN, 404, {}),
    "POST /tools/call": Route(CALL, 200, {"name": "ot.packs"}),
    "GET /jobs": Route(OWN),
    "GET /jobs/{id}": Route(CALL, 404),
    "POST /jobs/{id}/answers": Route(CALL, 404, {"answers": {"q": {"action": "cancel"}}}),
    "POST /jobs/{id}/cancel": Route(CALL, 404),
    "GET /jobs/{id}/questions/{question}": Route(OWN, 404),
    "GET /healthz": Route(MANAGE, 404),
    "GET /readyz": Route(MANAGE, 404),
    "GET /health": Route(READ),
    "GET /metrics": Route(READ),
    "GET /servers/{name}/quarantine": Route(READ, 404),
    "GET /servers/{name}/tools": Route(READ, 404),
    "POST /servers/{name}/approve": Route(MAKE, 404, {}),
    "POST /run": Route(CALL, 200, {"command": "1"}),
    "POST /code/steps": Route(OWN, 400, {"steps": []}),
    "POST /code/literals": Route(OWN, 200, {"code": "1"}),
    "POST /code/parameters": Route(OWN, 200, {"code": "1", "parameters": []}),
    "GET /signatures": Route(READ),
    "GET /results/{handle}": Route(CALL, 404),
    "GET /usage": Route(READ),
    "GET /access": Route(READ),
    "GET /access/{name}": Route(READ, 404),
    "GET /providers": Route(READ),
    "GET /resources": Route(OWN),
    "GET /resources/templates": Route(OWN),
    "GET /prompts": Route(OWN),
    "GET /resources/read": Route(OWN, 404, query={"uri": "x://y"}),
    "POST /prompts/{name}": Route(OWN, 404, {}),
    "POST /complete": Route(OWN, 400, {}),
    "GET /activity": Route(RECORDS),
    "GET /activity/{id}": Route(RECORDS, 404),
    "GET /servers": Route(READ),
    "POST /servers/{name}/probe": Route(MAKE, 404),
    "GET /servers/{name}/log": Route(READ, 404),
    "GET /servers/clients": Route(READ, 403),
    "POST /servers/import/preview": Route(MAKE, 403, {}),
    "POST /servers/import": Route(MAKE, 403, {}),
    "GET /servers/{name}/settings": Route(READ, 403),
    "PUT /servers/{name}/settings": Route(MAKE, 403, {}),
    "PATCH /servers/{name}": Route(MAKE, 403, {"enabled": False}),
    "DELETE /servers/{name}": Route(MAKE, 403),
    "GET /servers/{name}": Route(READ, 404),
    "POST /servers/{name}/login": Route(MAKE, 403),
    "POST /servers/{name}/instructions/approve": Route(MAKE, 404, {"pin": "x"}),
    "POST /chat": Route(OWN, 400, {"text": "hi", "provider": "none"}),
    "GET /sessions": Route(OWN),
    "GET /sessions/{id}": Route(OWN, 404),
    "PATCH /sessions/{id}": Route(OWN, 404, {"title": "x"}),
    "DELETE /sessions/{id}": Route(OWN, 404),
    "GET /login": Route(PUBLIC),
    "POST /login": Route(PUBLIC, 400, {}),
    "POST /logout": Route(PUBLIC, 204),
    "GET /me": Route(ALL_MEMBERS),
    "GET /members": Route(MANAGE),
    "PUT /members/{kind}/{id}": Route(MANAGE, 400, {"role": "auditor"}),
    "DELETE /members/{kind}/{id}": Route(MANAGE, 404),
    "GET /grants": Route(MANAGE),
    "POST /grants": Route(
        MANAGE, 201, {"kind": "service", "member": "owner-of-the-tests", "effect": "ask", "pattern": "x.*"}
    ),
    "DELETE /grants/{id}": Route(MANAGE, 404),
    "GET /keys": Route(OWN),
    "POST /keys": Route(OWN, 201, {"name": "x"}),
    "DELETE /keys/{id}": Route(OWN, 404),
    "GET /invitations": Route(MANAGE),
    "POST /invitations": Route(MANAGE, 201, {"role": "caller"}),
    "DELETE /invitations/{id}": Route(MANAGE, 404),
    "GET /secrets": Route(OWN),
    "PUT /secrets/{name}": Route(OWN, 400, {"value": "x"}),
    "DELETE /secrets/{name}": Route(OWN, 404),
    "GET /connections": Route(OWN),
    "POST /connections/{server}/login": Route(OWN, 409, {}),
    "POST /connections/callback": Route(OWN, 409, {"state": "x"}),
    "POST /connections/{server}/tools": Route(MAKE, 404),
    "DELETE /connections/{server}": Route(OWN, 404),
    "GET /oauth/grants": Route(OWN),
    "DELETE /oauth/grants/{id}": Route(OWN, 404),
    "GET /audit": Route(AUDIT),
    "GET /audit/export": Route(AUDIT),
}
OTHERS = {
    "GET /keys?everyone=true": Route(MANAGE),
    "POST /keys": Route(MANAGE, 201, {"name": "x", "service": "owner-of-the-tests"}),
    "POST /mcp": Route(CALL, 400, {}),
    "DELETE /mcp": Route(CALL, 400),
    "GET /no-such-route": Route(MANAGE, 404),
    "POST /no-such-route": Route(MANAGE, 404),
    # Routes of a local server.
    "PUT /providers/{name}/key": Route(MANAGE, 404, {"key": "k"}),
    "POST /registry/plan": Route(MAKE, 404, {}),
    "GET /settings": Route(MANAGE, 404),
    "POST /servers/{name}/update/plan": Route(MAKE, 404, {}),
    "PUT /settings/{key}": Route(MANAGE, 404, {"value": "info"}),
    "POST /servers/{name}/update": Route(MAKE, 404, {}),
    "GET /servers/{name}/update": Route(READ, 404),
    "DELETE /settings/{key}": Route(MANAGE, 404),
    "GET /registry/servers": Route(MANAGE, 404, query={"search": "x"}),
    "DELETE /providers/{name}/key": Route(MANAGE, 404),
    "POST /registry/install": Route(MAKE, 404, {}),
    "PUT /providers/default": Route(MANAGE, 404, {"name": "openai"}),
    "GET /settings/{key}": Route(MANAGE, 404),
    "PUT /secrets/SHARED": Route(MAKE, 200, {"value": "x", "of": "workspace"}),
    "DELETE /secrets/none?of=workspace": Route(MAKE, 404),
    "POST /connections/x/login": Route(MAKE, 409, {"of": "workspace"}),
    "DELETE /connections/x?of=workspace": Route(MAKE, 404),
    # The last part of a path may look like that of another route.
    "PUT /tools/bundles/{bundleID}/tools/{toolSlug}/version/invoke": Route(
        MAKE, 404, python_tool("probes.read")
    ),
    "PATCH /tools/bundles/{bundleID}/tools/{toolSlug}/version/invoke": Route(MAKE, 404, {"isEnabled": False}),
    "DELETE /tools/bundles/{bundleID}/tools/{toolSlug}/version/invoke": Route(MAKE, 404),
    "GET /tools/bundles/{bundleID}/tools/{toolSlug}/version/invoke": Route(READ, 404),
    "PUT /tools/bundles/invoke": Route(MAKE, 400, BUNDLE),
    "PUT /members/service/invoke": Route(MANAGE, 200, {"role": "auditor"}),
    "DELETE /members/service/run": Route(MANAGE, 404),
}
"""What is no route of the document, or has two rights."""


@async_fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory):
    async with open_world(tmp_path_factory.mktemp("routes"), {"w": HOLDERS}, {"w": {}}) as world:
        yield world


@pytest.mark.guards("member-rights")
async def test_every_route_is_in_the_table():
    threads = Threads()
    paths = create_hosted_api(threads).openapi()["paths"]
    threads.close()
    found = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert found == set(ROUTES)


@pytest.mark.guards("member-rights")
async def test_routes_are_for_the_roles_of_the_table(world):
    table = [(name, route) for routes in (ROUTES, OTHERS) for name, route in routes.items()]
    wrong = await asyncio.gather(*(check_route(world, name, route) for name, route in table))
    if any(wrong):
        pytest.fail("\n".join(line for lines in wrong for line in lines))


async def check_route(world, name, route):
    """Return a line for each role that gets another response than the table says."""
    method, _, path = name.partition(" ")
    fields = {"json": route.body} if route.body is not None else {}
    lines = []
    for holder in HOLDERS:
        filled = re.sub(r"\{(\w+)\}", lambda match: VALUES.get(match[1]) or new_id(), path)
        filled += f"?{urlencode(route.query)}" if route.query else ""
        response = await world.request("w", holder.name, method, filled, **fields)
        is_refused = response.status_code == 403 and REFUSED.search(response.json()["detail"]) is not None
        is_allowed = holder.name in route.allowed
        if is_refused is is_allowed or (is_allowed and response.status_code != route.status):
            expected = route.status if is_allowed else "a refusal"
            got = f"{response.status_code} {response.text[:200]}"
            lines.append(f"{name} by {holder.name}: expected {expected}, not {got}")
    return lines
