"""What clients find at the authorization server before they have a token: metadata, registration, delays."""

import httpx2
import pytest
from starlette.requests import Request

from interfaces.rest.oauth_world import PUBLIC, REDIRECT_URI, OAuthWorld
from onetool.bootstrap.api_keys import ApiKeyAuthenticator
from onetool.bootstrap.authorization import WorkspaceGrants, authorization_parts
from onetool.bootstrap.login_settings import ClientSettings, login_settings
from onetool.interfaces.cli.hosted import hosted_people
from onetool.interfaces.rest.auth.wrong_tokens import FREE_ATTEMPTS, WrongTokens
from onetool.interfaces.rest.hosted import HostedApp
from onetool.interfaces.rest.oauth.tokens import TokenEndpoints
from support.oauth_browser import REDIRECT_URI as LOOPBACK_URI

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_metadata_describes_the_server(oauth):
    url = f"/.well-known/oauth-authorization-server/w/{oauth.slug}"
    async with oauth.browser() as client:
        response = await client.get(url)
        issuer = f"{PUBLIC}/w/{oauth.slug}"
        assert response.json() == {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/oauth/authorize",
            "token_endpoint": f"{issuer}/oauth/token",
            "revocation_endpoint": f"{issuer}/oauth/revoke",
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "scopes_supported": ["mcp"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": True,
        }
        assert (await client.post(url)).status_code == 405
        protected = await client.get(f"/.well-known/oauth-protected-resource/w/{oauth.slug}/mcp")
        assert protected.json()["authorization_servers"] == [issuer]
        assert protected.json()["scopes_supported"] == ["mcp"]
        for slug in ("", "a/b", "A", 'a"b', "a" * 64):
            path = f"/.well-known/oauth-authorization-server/w/{slug}"
            assert (await client.get(path)).status_code == 404, slug


async def test_without_the_switch_there_is_no_authorization_server(oauth):
    on = oauth.app
    async with oauth.logged_in() as browser:
        tokens = await oauth.tokens(browser)
        people = hosted_people(oauth.parts, settings_without_switch())
        oauth.app = HostedApp(
            oauth.workspaces,
            authenticate=ApiKeyAuthenticator(oauth.parts).authenticate,
            status=oauth.parts.status,
            threads=oauth.parts.threads,
            people=people,
        )
        assert await oauth.use(tokens["access_token"]) == 401
        assert (await oauth.refresh(tokens["refresh_token"])).status_code == 401
        async with oauth.browser() as client:
            url = f"/.well-known/oauth-authorization-server/w/{oauth.slug}"
            assert (await client.get(url)).status_code == 404
        oauth.app = on


def settings_without_switch():
    return login_settings(
        {
            "ONETOOL_OIDC_ISSUER": "https://login.example",
            "ONETOOL_OIDC_CLIENT_ID": "onetool",
            "ONETOOL_PUBLIC_URL": PUBLIC,
            "ONETOOL_AUTHORIZATION_SERVER": "off",
        }
    )


async def test_clients_register_only_if_the_operator_allows_it(oauth):
    path, document = f"/w/{oauth.slug}/oauth/register", {"redirect_uris": [LOOPBACK_URI]}
    async with oauth.browser() as client:
        assert (await client.post(path, json=document)).status_code == 404
    on = OAuthWorld(oauth.parts, oauth.url, "https://login.example", ONETOOL_CLIENT_REGISTRATION="on")
    on.slug = oauth.slug
    with on.stub:
        client_id = await register_and_use(on, path, document)
    async with oauth.logged_in() as browser:
        off = await oauth.ask(browser, client_id=client_id, redirect_uri=LOOPBACK_URI)
        assert off.status_code == 400, "the operator has changed their mind"


async def register_and_use(on, path, document):
    """Let clients register, and return the id of one that was allowed."""
    async with on.browser() as client:
        metadata = await client.get(f"/.well-known/oauth-authorization-server/w/{on.slug}")
        assert metadata.json()["registration_endpoint"] == f"{PUBLIC}{path}"
        sent = {
            **document,
            "client_name": "Desk\u202etop",
            "token_endpoint_auth_method": "client_secret_post",
        }
        created = await client.post(path, json=sent)
        assert created.status_code == 201
        body = created.json()
        assert (body["client_name"], body["token_endpoint_auth_method"]) == ("Desktop", "none")
        assert "client_secret" not in body
    async with on.browser() as client:
        for wrong in (None, [], {}, {"redirect_uris": ["http://evil.com/cb"]}):
            refused = await client.post(path, json=wrong)
            assert refused.json()["error"] == "invalid_client_metadata", wrong
        long = {"redirect_uris": [f"{LOOPBACK_URI}/{'x' * 400}"] * 3}
        assert (await client.post(path, json=long)).json()["error"] == "invalid_client_metadata"
    async with on.browser() as client:
        assert (await client.post(path, content=b"{")).json()["error"] == "invalid_client_metadata"
    async with on.logged_in() as browser:
        code = await on.code(browser, client_id=body["client_id"], redirect_uri=LOOPBACK_URI)
        fields = {"client_id": body["client_id"], "redirect_uri": LOOPBACK_URI}
        assert (await on.redeem(code, **fields)).status_code == 200
        other = await on.ask(browser, client_id=body["client_id"], redirect_uri=REDIRECT_URI)
        assert other.status_code == 400
        changed = await on.ask(browser, client_id=f"{body['client_id'][:-2]}AA", redirect_uri=LOOPBACK_URI)
        assert changed.status_code == 400
    return body["client_id"]


def endpoints(oauth, wrong_tokens):
    """Return an app with the endpoints for clients of one address."""
    clients = authorization_parts(oauth.parts, ClientSettings()).clients
    found = TokenEndpoints(PUBLIC, WorkspaceGrants(oauth.parts), clients.register, wrong_tokens)

    async def app(scope, receive, send):
        response = await found.respond(Request(scope, receive), oauth.slug, scope["path"])
        await response(scope, receive, send)

    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=PUBLIC)


async def test_guesses_count_as_wrong_tokens(oauth):
    for form, is_guess in (
        ({"grant_type": "refresh_token", "refresh_token": "otr_x"}, True),
        ({"grant_type": "refresh_token", "refresh_token": "otr_x", "client_secret": "x"}, True),
        ({"grant_type": "refresh_token"}, False),
    ):
        wrong_tokens = WrongTokens()
        async with endpoints(oauth, wrong_tokens) as client:
            response = await client.post("/oauth/token", data={**form, "client_id": oauth.client_id})
            assert response.status_code in (400, 401)
        assert wrong_tokens.address_count == is_guess, form


async def test_one_address_registers_many_clients_only_slowly(oauth):
    wrong_tokens = WrongTokens(first_delay_s=0.001)
    async with endpoints(oauth, wrong_tokens) as client:
        for _ in range(FREE_ATTEMPTS + 2):
            created = await client.post("/oauth/register", json={"redirect_uris": [LOOPBACK_URI]})
            assert created.status_code == 201
    assert wrong_tokens.add("127.0.0.1") > 0.001
