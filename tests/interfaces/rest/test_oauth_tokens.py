"""Tokens of MCP clients under attack: they are for one client, one person, one workspace, and MCP only."""

import asyncio
from urllib.parse import urlencode

import pytest

from interfaces.rest.oauth_world import PUBLIC, REDIRECT_URI, VERIFIER
from onetool.domain.audit.entry import AuditFilter
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import MemberKind
from onetool.storage.postgres.audit import PostgresAudit
from support.oauth_browser import consent_of, parameters
from support.waiting import HANG_S

pytestmark = pytest.mark.asyncio(loop_scope="module")
ACCEPTED = 400
"""Status of an empty message at `/mcp`."""
OTHER_ID = "https://other.example/client.json"
WRONG_CODES = {
    "another client": ({"client_id": OTHER_ID}, "invalid_grant"),
    "another redirect URI": ({"redirect_uri": "http://127.0.0.1/cb"}, "invalid_grant"),
    "another verifier": ({"code_verifier": "w" * 43}, "invalid_grant"),
    "the challenge as verifier": ({"code_verifier": None, "code_challenge": "x"}, "invalid_request"),
    "no verifier": ({"code_verifier": None}, "invalid_request"),
    "a short verifier": ({"code_verifier": "v" * 42}, "invalid_request"),
    "a long verifier": ({"code_verifier": "v" * 129}, "invalid_request"),
    "no client": ({"client_id": None}, "invalid_request"),
    "no redirect URI": ({"redirect_uri": None}, "invalid_request"),
    "no code": ({"code": ""}, "invalid_request"),
    "no grant type": ({"grant_type": None}, "invalid_request"),
    "a password": ({"grant_type": "password"}, "unsupported_grant_type"),
    "client credentials": ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
    "another resource": ({"resource": f"{PUBLIC}/w/other/mcp"}, "invalid_target"),
    "all resources": ({"resource": PUBLIC}, "invalid_target"),
    "a secret": ({"client_secret": "x"}, "invalid_client"),
    "an assertion": ({"client_assertion": "x"}, "invalid_client"),
}
REST_PATHS = [
    ("GET", "/me"),
    ("GET", "/tools/tools"),
    ("POST", "/tools/call"),
    ("POST", "/run"),
    ("POST", "/chat"),
    ("GET", "/keys"),
    ("POST", "/keys"),
    ("GET", "/secrets"),
    ("GET", "/members"),
    ("GET", "/oauth/grants"),
    ("GET", "/activity"),
    ("GET", "/audit"),
    ("GET", "/mcpx"),
    ("POST", "/invitations"),
]


async def until_refused(oauth, token):
    """Wait until the server has heard of a change."""
    async with asyncio.timeout(HANG_S):
        while await oauth.use(token) != 401:
            await asyncio.sleep(0.01)


async def test_client_acts_as_the_person(oauth):
    async with oauth.logged_in() as browser:
        tokens = await oauth.tokens(browser)
        assert tokens.keys() == {"access_token", "token_type", "expires_in", "refresh_token", "scope"}
        assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 3600, "mcp")
        assert await oauth.use(tokens["access_token"]) == ACCEPTED
        assert await oauth.use(tokens["access_token"], "/mcp/x") != 401
        response = await oauth.refresh(tokens["refresh_token"], scope="mcp")
        assert response.headers["cache-control"] == "no-store"
        assert await oauth.use(response.json()["access_token"]) == ACCEPTED


@pytest.mark.guards("person-clients")
async def test_code_is_only_for_what_it_was_made_for(oauth):
    async with oauth.logged_in() as browser:
        code = await oauth.code(browser)
        for what, (changes, error) in WRONG_CODES.items():
            response = await oauth.redeem(code, **changes)
            assert response.status_code == (401 if error == "invalid_client" else 400), what
            assert response.json()["error"] == error, what
        assert (await oauth.redeem(code)).status_code == 200


async def test_form_must_be_a_form_that_is_posted(oauth):
    path = f"/w/{oauth.slug}/oauth/token"
    async with oauth.logged_in() as browser:
        code = await oauth.code(browser)
    form = {"grant_type": "authorization_code", "code": code, "client_id": oauth.client_id}
    form |= {"redirect_uri": REDIRECT_URI, "code_verifier": VERIFIER}
    async with oauth.browser() as client:
        got = await client.get(path, params=form)
        assert (got.status_code, got.headers["allow"]) == (405, "POST")
        assert (await client.post(path, params=form)).json()["error"] == "invalid_request"
        assert (await client.post(path, json=form)).json()["error"] == "invalid_request"
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        for name in form:
            double = urlencode([*form.items(), (name, form[name])])
            response = await client.post(path, content=double, headers=headers)
            assert (response.status_code, response.json()["error"]) == (400, "invalid_request"), name
        basic = await client.post(path, data=form, headers={"Authorization": "Basic Og=="})
        assert (basic.status_code, basic.json()["error"]) == (401, "invalid_client")
        assert "www-authenticate" in basic.headers
        assert (await client.post(path, data={"code": "x" * 20_000})).status_code == 413
        foreign = await client.post(path, data=form, headers={"Origin": "https://evil.com"})
        assert foreign.status_code == 403
    assert (await oauth.redeem(code)).status_code == 200


@pytest.mark.guards("person-clients")
async def test_replayed_code_revokes_its_grant(oauth):
    async with oauth.logged_in() as browser:
        other, code = await oauth.tokens(browser), await oauth.code(browser)
        tokens = (await oauth.redeem(code)).json()
        assert await oauth.use(tokens["access_token"]) == ACCEPTED
        assert (await oauth.redeem(code)).json()["error"] == "invalid_grant"
        await until_refused(oauth, tokens["access_token"])
        assert (await oauth.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
        assert await oauth.use(other["access_token"]) == ACCEPTED
        entries = await audit(oauth)
        assert [entry.action for entry in entries] == ["client.replay", "client.allow", "client.allow"]
        assert [entry.actor for entry in entries] == ["process", browser.person, browser.person]
        assert entries[0].detail["person"] == browser.person


async def audit(oauth):
    async with oauth.contents(oauth.slug) as contents:
        log = PostgresAudit(contents.members._workspace, oauth.parts.threads)
        return (await log.page(AuditFilter(action="client"), None, 100)).items


def change(oauth, assignment, kind):
    """Change tokens as if time had passed, and tell all servers."""
    workspace = oauth.parts.notices.workspace(oauth.parts.directory.find(oauth.slug))
    with workspace.writing("keys") as cursor:
        query = f"update oauth_tokens set {assignment} where workspace_id = %s and kind = '{kind}'"
        cursor.execute(query.encode(), (workspace.workspace,))


async def test_wrong_refresh_is_refused(oauth):
    async with oauth.logged_in() as browser:
        tokens, code = await oauth.tokens(browser), await oauth.code(browser)
    refresh = tokens["refresh_token"]
    attacks = {
        "another client": (refresh, {"client_id": OTHER_ID}, "invalid_grant"),
        "no client": (refresh, {"client_id": None}, "invalid_request"),
        "more scopes": (refresh, {"scope": "mcp admin"}, "invalid_scope"),
        "another scope": (refresh, {"scope": "admin"}, "invalid_scope"),
        "another resource": (refresh, {"resource": f"{PUBLIC}/w/other/mcp"}, "invalid_target"),
        "an access token": (tokens["access_token"], {}, "invalid_grant"),
        "a code": (code, {}, "invalid_grant"),
        "a made-up token": (f"otr_{'a' * 43}", {}, "invalid_grant"),
        "a changed token": (refresh[:-1] + ("A" if refresh[-1] != "A" else "B"), {}, "invalid_grant"),
        "letters outside of ASCII": ("otr_ä\ud800".encode("utf-8", "replace").decode(), {}, "invalid_grant"),
    }
    for what, (token, changes, error) in attacks.items():
        response = await oauth.refresh(token, **changes)
        assert (response.status_code, response.json()["error"]) == (400, error), what
    assert (await oauth.refresh(refresh)).status_code == 200


@pytest.mark.guards("person-clients")
async def test_tokens_of_a_workspace_are_worth_nothing_in_another(oauth):
    other = await oauth.new_workspace()
    async with oauth.logged_in() as browser:
        async with oauth.contents(other) as contents:
            member = (await contents_of(oauth))[0]
            await contents.members.put(member._replace(role=Role.OWNER))
        tokens, code = await oauth.tokens(browser), await oauth.code(browser)
        access, refresh = tokens["access_token"], tokens["refresh_token"]
        for slug in (other, "no-such-workspace"):
            assert await oauth.use(access, slug=slug) == 401
            assert (await oauth.refresh(refresh, slug)).json()["error"] == "invalid_grant"
            assert (await oauth.redeem(code, slug)).json()["error"] == "invalid_grant"
            revoked = await oauth.send("revoke", {"token": refresh, "client_id": oauth.client_id}, slug)
            assert revoked.status_code == 200, "nothing is revealed"
        assert await oauth.use(access) == ACCEPTED
        page = await oauth.ask(browser, other, resource=f"{PUBLIC}/w/{oauth.slug}/mcp")
        assert parameters(page.headers["location"])["error"] == "invalid_target"
        asked = await oauth.ask(browser, other)
        answered = await oauth.answer(browser, consent_of(asked), slug=other)
        assert parameters(answered.headers["location"])["iss"] == f"{PUBLIC}/w/{other}", "no mix-up"


async def contents_of(oauth):
    async with oauth.contents(oauth.slug) as contents:
        return await contents.members.list()


async def test_access_token_is_only_for_mcp(oauth):
    person = await oauth.new_person(oauth.slug, Role.OWNER)
    async with oauth.logged_in(person) as browser:
        tokens = await oauth.tokens(browser)
        access = tokens["access_token"]
        for method, path in REST_PATHS:
            assert await oauth.use(access, path, method) == 401, path
        async with oauth.browser() as client:
            login = await client.post(f"/w/{oauth.slug}/login", json={"token": access})
            assert login.status_code == 401
        async with oauth.browser(access) as client:  # as the cookie of a session
            assert (await client.get(f"/w/{oauth.slug}/me", headers={"Accept": "*/*"})).status_code == 401
        async with oauth.browser() as client:  # in other places than the header
            client.cookies.set("onetool-key", access)
            assert (await client.post(f"/w/{oauth.slug}/mcp", json={})).status_code == 401
            target = f"/w/{oauth.slug}/mcp?access_token={access}"
            assert (await client.post(target, json={})).status_code == 401
        for token in (tokens["refresh_token"], await oauth.code(browser), f"ota_{'a' * 43}", access[:-1], ""):
            assert await oauth.use(token) == 401, token
        assert await oauth.use(access) == ACCEPTED


async def test_expired_access_token_is_refused(oauth):
    async with oauth.logged_in() as browser:
        tokens = await oauth.tokens(browser)
        assert await oauth.use(tokens["access_token"]) == ACCEPTED
        change(oauth, "expires_at = now()", "access")
        await until_refused(oauth, tokens["access_token"])
        assert (await oauth.refresh(tokens["refresh_token"])).status_code == 200


@pytest.mark.parametrize("loss", ["member", "person"])
async def test_client_loses_access_with_its_person(oauth, loss):
    async with oauth.logged_in() as browser:
        tokens, code = await oauth.tokens(browser), await oauth.code(browser)
        assert await oauth.use(tokens["access_token"]) == ACCEPTED
        if loss == "person":
            await oauth.people.disable(browser.person)
        else:
            async with oauth.contents(oauth.slug) as contents:
                await contents.members.remove(MemberKind.PERSON, browser.person)
        await until_refused(oauth, tokens["access_token"])
        assert (await oauth.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
        assert (await oauth.redeem(code)).json()["error"] == "invalid_grant"


async def test_client_revokes_its_tokens(oauth):
    async with oauth.logged_in() as browser:
        tokens = await oauth.tokens(browser)
        refresh = tokens["refresh_token"]
        for form in ({"token": refresh}, {"client_id": oauth.client_id}, {}):
            assert (await oauth.send("revoke", form)).json()["error"] == "invalid_request"
        await oauth.send("revoke", {"token": refresh, "client_id": OTHER_ID})
        assert await oauth.use(tokens["access_token"]) == ACCEPTED
        form = {"token": refresh, "client_id": oauth.client_id, "token_type_hint": "refresh_token"}
        for _ in range(2):
            assert (await oauth.send("revoke", form)).status_code == 200
        await until_refused(oauth, tokens["access_token"])
        entries = await audit(oauth)
        assert (entries[0].action, entries[0].actor) == ("client.revoke", browser.person)


async def test_person_cannot_revoke_the_client_of_another(oauth):
    async with oauth.logged_in() as browser, oauth.logged_in() as other:
        await oauth.tokens(browser)
        path, headers = f"/w/{oauth.slug}/oauth/grants", {"Accept": "*/*"}
        (grant,) = (await browser.get(path, headers=headers)).json()["grants"]
        own_page = {"Origin": PUBLIC, "X-OneTool": "1"}
        assert (await other.get(path, headers=headers)).json() == {"grants": []}
        assert (await other.delete(f"{path}/{grant['id']}", headers=own_page)).status_code == 404
        assert (await browser.delete(f"{path}/{grant['id']}")).status_code == 403, "of another page"
        assert (await browser.delete(f"{path}/{grant['id']}", headers=own_page)).status_code == 204
