"""People at a hosted server: they log in, use the workspaces of which they are members, and are invited."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from random import randint
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
import pytest

from onetool.bootstrap.people import SESSION_CACHE_S
from onetool.domain.identity.principal import OPERATOR
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.storage.postgres.invitations import PostgresInvitations
from onetool.storage.postgres.members import PostgresMembers
from onetool.storage.postgres.people import PostgresPeople
from support.hosted_process import HostedProcess
from support.oidc_provider import login_variables
from support.waiting import HANG_S

pytestmark = pytest.mark.linux  # uses several loopback addresses
JSON_RESPONSE = "application/problem+json"


@pytest.fixture(scope="session")
def site(tmp_path_factory, installation, oidc):
    """Return a hosted server at which people log in, for the tests of one worker."""
    root = tmp_path_factory.mktemp("people")
    with HostedProcess(root, installation=installation, **login_variables(oidc.issuer)) as server:
        yield server


@pytest.fixture
def workspace(installation):
    return installation.create_workspace("")


@pytest.fixture
def members(workspace, threads):
    return PostgresMembers(workspace.stored, threads)


def new_browser(url, **fields):
    """Return a browser on a machine of its own: wrong credentials of an address are delayed."""
    address = f"127.{randint(1, 254)}.{randint(1, 254)}.{randint(1, 254)}"
    transport = httpx2.AsyncHTTPTransport(local_address=address)
    return httpx2.AsyncClient(base_url=url, transport=transport, timeout=HANG_S, **fields)


@pytest.fixture
def log_in(site, oidc):
    """Return a function that opens a browser in which a person has logged in."""

    @asynccontextmanager
    async def open_browser(path="", **claims):
        person = {"sub": f"sub-{uuid4().hex}", "email": "anna@example.com", "name": "Anna", **claims}
        own_page = {"Origin": site.origin, "X-OneTool": "1"}
        async with new_browser(site.origin + path, headers=own_page) as browser:
            begun = await browser.get(f"{site.origin}/auth/login", params={"next": "/w/a/"})
            back = urlsplit(await oidc.authorize(begun.headers["location"], person))
            response = await browser.get(f"{site.origin}{back.path}?{back.query}")
            assert (response.status_code, response.headers["location"]) == (303, "/w/a/")
            shown = await browser.get(f"{site.origin}/auth/session")
            browser.person = shown.json()["person"]["id"]
            yield browser

    return open_browser


async def add(members, person, role):
    await members.put(Member(MemberKind.PERSON, person, role))


async def call(browser):
    return await browser.post("/tools/call", json={"name": "tools.echo", "args": {"message": "hi"}})


async def status_becomes(browser, status):
    """Wait until a server has noticed a change of members."""
    for _ in range(2_000):
        if (response := await browser.get("/me")).status_code == status:
            return response
    raise AssertionError(response.text)


async def test_member_calls_tools_as_themselves(log_in, workspace, members):
    async with log_in(workspace.path) as browser:
        await add(members, browser.person, Role.CALLER)
        assert (await browser.get("/me")).json()["principal"] == browser.person
        response = await call(browser)
        assert (response.status_code, response.json()["value"]) == (200, "hi")
        (record,) = (await browser.get("/activity")).json()["records"]
        assert record["tool"] == "tools.echo"
        assert (await browser.get("/members")).status_code == 403, "the role decides"


async def test_someone_else_cannot_see_that_a_workspace_exists(log_in, workspace):
    async with log_in() as browser:
        name = workspace.slug
        exists = await browser.get(f"/w/{name}/me")
        unknown = await browser.get(f"/w/{name[::-1]}/me")
        assert exists.status_code == unknown.status_code == 401
        assert exists.text.replace(name, "X") == unknown.text.replace(name[::-1], "X")


@pytest.mark.guards("person-login")
async def test_person_with_the_address_of_a_member_is_no_member(log_in, workspace, members):
    async with log_in(workspace.path, email="boss@example.com") as boss:
        await add(members, boss.person, Role.OWNER)
        assert (await boss.get("/me")).status_code == 200
    async with log_in(workspace.path, email="boss@example.com") as impostor:
        assert (await impostor.get("/me")).status_code == 401


@pytest.mark.guards("member-rights")
@pytest.mark.parametrize(("loss", "status"), [("member", 401), ("person", 403)])
async def test_access_is_lost_at_once(log_in, workspace, members, installation, threads, loss, status):
    """By a member who is removed, and by a person who is disabled."""
    async with log_in(workspace.path) as browser:
        await add(members, browser.person, Role.CALLER)
        assert (await call(browser)).status_code == 200
        if loss == "member":
            await members.remove(MemberKind.PERSON, browser.person)
        else:
            await PostgresPeople(installation.database, threads).disable(browser.person)
        await status_becomes(browser, status)
        assert (await call(browser)).status_code == status
    assert SESSION_CACHE_S <= 30


async def test_groups_of_the_provider_are_members(log_in, workspace, members, installation):
    group = f"group-{uuid4().hex}"
    async with log_in(workspace.path, groups=[group, "other"]) as browser:
        assert (await browser.get("/me")).status_code == 401
        with installation.database.transaction() as cursor:
            cursor.execute("select id from home.groups where name = %s", (group,))
            ((id,),) = cursor.fetchall()
        await members.put(Member(MemberKind.GROUP, str(id), Role.MAKER))
        assert (await browser.get("/me")).json()["roles"] == ["maker"]
    async with log_in(workspace.path, groups=["other"]) as browser:
        assert (await browser.get("/me")).status_code == 401


async def test_session_does_not_stand_in_for_a_wrong_key(log_in, workspace, members):
    async with log_in(workspace.path) as browser:
        await add(members, browser.person, Role.OWNER)
        for header in ("Bearer otk_wrong", "Bearer", "Basic YTpi"):
            assert (await browser.get("/me", headers={"Authorization": header})).status_code == 401
        key = {"Authorization": f"Bearer {workspace.key}"}
        assert (await browser.get("/me", headers=key)).json()["principal"] == "anna"


async def test_session_comes_before_a_key_in_a_cookie(log_in, workspace, members):
    """Another site of the domain may have set the key, to get what the person stores."""
    async with log_in(workspace.path) as browser:
        browser.cookies.set("onetool-key", workspace.key)
        assert (await browser.get("/me")).json()["principal"] != browser.person
        await add(members, browser.person, Role.CALLER)
        async with asyncio.timeout(HANG_S):
            while (await browser.get("/me")).json().get("principal") != browser.person:
                await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {"X-OneTool": ""}),
        ("POST", {"Sec-Fetch-Site": "cross-site"}),
        ("POST", {"Sec-Fetch-Site": "same-site"}),
        ("GET", {"Sec-Fetch-Site": "cross-site"}),
        ("POST", {"Origin": "https://attacker.example"}),
    ],
    ids=str,
)
async def test_other_sites_cannot_use_the_session(log_in, workspace, members, method, headers):
    async with log_in(workspace.path) as browser:
        await add(members, browser.person, Role.OWNER)
        for path in ("/tools/call", "/invitation"):
            if path == "/invitation" and method == "GET":
                continue
            response = await browser.request(method, path, json={}, headers=headers)
            assert response.status_code == 403, response.text


async def test_page_of_a_workspace_knows_of_the_session_and_ends_it(log_in, workspace, members):
    async with log_in(workspace.path) as browser:
        assert (await browser.get("/login")).json()["loggedIn"] is False
        await add(members, browser.person, Role.CALLER)
        assert (await browser.get("/login")).json()["loggedIn"] is True
        foreign = await browser.post("/logout", headers={"Sec-Fetch-Site": "cross-site"})
        assert "onetool-session" not in str(foreign.headers)
        assert (await browser.get("/login")).json()["loggedIn"] is True
        cookies = dict(browser.cookies)
        assert (await browser.post("/logout")).status_code == 204
        assert "onetool-session" not in browser.cookies
        browser.cookies.update(cookies)
        assert (await browser.get("/me")).status_code == 401


async def test_owner_invites_a_person(log_in, workspace, members):
    async with log_in(workspace.path) as owner, log_in(workspace.path) as invited:
        await add(members, owner.person, Role.OWNER)
        body = {"role": "maker", "note": "Bert"}
        created = await owner.post("/invitations", json=body)
        assert created.status_code == 201
        secret = created.json()["secret"]
        accepted = await invited.post("/invitation", json={"secret": secret})
        assert (accepted.status_code, accepted.json()) == (
            200,
            {"workspace": workspace.slug, "role": "maker"},
        )
        assert (await invited.get("/me")).json()["roles"] == ["maker"]
        entries = (await owner.get("/audit", params={"action": "invitation"})).json()["entries"]
        assert [(entry["action"], entry["actor"]) for entry in entries] == [
            ("invitation.accept", invited.person),
            ("invitation.create", owner.person),
        ]
        assert secret not in str(entries)
        (listed,) = (await owner.get("/invitations")).json()["invitations"]
        assert listed["acceptedBy"] == invited.person
        assert secret not in (await owner.get("/invitations")).text
        assert (await owner.delete(f"/invitations/{listed['id']}")).status_code == 404
        async with log_in(workspace.path) as late:
            assert (await late.post("/invitation", json={"secret": secret})).status_code == 404
            assert (await late.get("/me")).status_code == 401
        again = (await owner.post("/invitations", json={})).json()
        response = await invited.post("/invitation", json={"secret": again["secret"]})
        assert (response.status_code, response.json()["detail"][:16]) == (409, "You are a member")
        assert (await owner.delete(f"/invitations/{again['id']}")).status_code == 204


async def test_invited_person_sees_the_role_before_accepting(log_in, site, workspace, members):
    """And why an invitation cannot be accepted any more."""
    async with log_in(workspace.path) as owner, log_in(workspace.path) as invited:
        await add(members, owner.person, Role.OWNER)

        async def invite():
            created = (await owner.post("/invitations", json={"role": "maker"})).json()
            return created["id"], {"secret": created["secret"], "accept": False}

        _, preview = await invite()
        for _ in range(2):
            seen = await invited.post("/invitation", json=preview)
            assert (seen.status_code, seen.json()) == (200, {"workspace": workspace.slug, "role": "maker"})
        assert (await invited.get("/me")).status_code == 401, "nothing is accepted"
        assert (await invited.post("/invitation", json=preview | {"accept": True})).status_code == 200
        seen = await invited.post("/invitation", json=preview)
        assert (seen.status_code, seen.json()["detail"]) == (
            409,
            "The invitation was accepted already. Ask for a new one.",
        )
        id, preview = await invite()
        assert (await owner.delete(f"/invitations/{id}")).status_code == 204
        seen = await invited.post("/invitation", json=preview)
        assert (seen.status_code, seen.json()["detail"][:29]) == (404, "There is no such invitation: ")
        unknown = await invited.post(f"{site.origin}/w/nothing-here/invitation", json=preview)
        assert unknown.text == seen.text
        assert (await invited.post("/invitation", json=preview | {"accept": "no"})).status_code == 400


async def test_expired_invitation_says_so(log_in, workspace, threads):
    async with log_in(workspace.path) as invited:
        invitations = PostgresInvitations(workspace.stored, threads)
        created = await invitations.create(Role.CALLER, (), "", timedelta(days=-1), OPERATOR.id)
        seen = await invited.post("/invitation", json={"secret": created.secret, "accept": False})
        assert (seen.status_code, seen.json()["detail"]) == (
            409,
            "The invitation has expired. Ask for a new one.",
        )


async def test_invitation_reveals_no_workspace_and_needs_a_login(log_in, site, workspace):
    async with log_in() as browser:
        wrong = {"secret": "oti_" + "a" * 43}
        exists = await browser.post(f"/w/{workspace.slug}/invitation", json=wrong)
        unknown = await browser.post("/w/nothing-here/invitation", json=wrong)
        assert (exists.status_code, exists.text) == (unknown.status_code, unknown.text) == (404, exists.text)
        path = f"/w/{workspace.slug}/invitation"
        assert (await browser.get(path)).status_code == 405
        for body in (b"", b"[]", b'{"secret": 7}'):
            assert (await browser.post(path, content=body)).status_code == 400
        assert (await browser.post(path, content=b" " * 5_000)).status_code == 413
        browser.cookies.clear()
        assert (await browser.post(path, json=wrong)).status_code == 401


def test_server_starts_while_the_provider_is_away_and_allows_its_public_host(tmp_path, installation):
    variables = login_variables("http://127.0.0.1:1") | {"ONETOOL_PUBLIC_URL": "https://tools.example.com"}
    html = {"Accept": "text/html"}
    with HostedProcess(tmp_path, installation=installation, **variables) as server:
        assert server.client.get("/me").status_code == 200
        with httpx2.Client(base_url=server.origin, trust_env=False, verify=False) as browser:
            response = browser.get("/auth/login", headers=html)
            assert response.status_code == 503
            assert "The OpenID configuration cannot be read" in response.text
            for host, status in (("tools.example.com", 401), ("attacker.example", 403)):
                assert browser.get("/auth/session", headers={"Host": host}).status_code == status


def test_wrong_variable_stops_the_start_with_one_line(tmp_path, installation):
    variables = login_variables("login.example.com")
    server = HostedProcess(tmp_path, installation=installation, **variables).start()
    server.process.wait(HANG_S)
    server.stop()
    assert server.exit_code == 2
    assert server.errors.read_text() == (
        "Error: ONETOOL_OIDC_ISSUER must be an https URL, such as https://login.example.com.\n"
    )


async def test_without_a_provider_there_is_no_login(hosted_server):
    async with new_browser(hosted_server.origin) as browser:
        for path in ("/auth/login", "/auth/callback", "/auth/session"):
            response = await browser.get(path)
            assert (response.status_code, response.headers["content-type"]) == (404, JSON_RESPONSE)
