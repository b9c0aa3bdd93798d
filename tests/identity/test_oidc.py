"""Login at an OpenID provider: the flow, against a certified provider, and against one that misbehaves."""

import time
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx2
import pytest

from onetool.domain.errors import SignInFailed, SignInUnavailable
from onetool.domain.identity.person import Identity
from onetool.identity.oidc import OidcProvider, OidcSettings, challenge
from onetool.identity.provider_documents import RETRY_S, ProviderDocuments
from onetool.testing.http_stub import HttpStub, StubResponse
from support.oidc_provider import CLIENT, PUBLIC_CLIENT, PUBLIC_URL, OidcServer
from support.openid_stub import OpenIdStub

ANNA = {"sub": "anna-1", "email": "anna@example.com", "name": "Anna", "groups": ["ops", "dev"]}
SCOPES = "openid profile email groups"


def settings(issuer, client=CLIENT, **fields):
    return OidcSettings(issuer=issuer, redirect_uri=f"{PUBLIC_URL}/auth/callback", **client | fields)


def query(url):
    return dict(parse_qsl(urlsplit(url).query))


async def log_in(server, provider, person=ANNA):
    start = await provider.begin()
    return await provider.finish(start.attempt, query(await server.authorize(start.url, person)))


@pytest.fixture
def stub():
    with OpenIdStub() as stub:
        yield stub


@pytest.mark.parametrize("client", [CLIENT, PUBLIC_CLIENT], ids=["confidential", "public"])
async def test_person_logs_in_at_a_certified_provider(oidc, client):
    provider = OidcProvider(settings(oidc.issuer, client, scopes=SCOPES, groups_claim="groups"))
    identity = await log_in(oidc, provider)
    assert identity == Identity(oidc.issuer, "anna-1", "anna@example.com", "Anna", ("dev", "ops"))


async def test_claims_of_the_id_token_are_used():
    with OidcServer(thin_id_tokens=False) as server:
        provider = OidcProvider(settings(server.issuer, scopes=SCOPES, groups_claim="groups"))
        identity = await log_in(server, provider)
        assert (identity.email, identity.groups) == ("anna@example.com", ("dev", "ops"))


async def test_groups_are_ignored_unless_a_claim_is_configured(oidc):
    assert (await log_in(oidc, OidcProvider(settings(oidc.issuer, scopes=SCOPES)))).groups == ()


async def test_every_login_has_new_random_values_and_pkce(oidc):
    provider = OidcProvider(settings(oidc.issuer))
    first, second = await provider.begin(), await provider.begin()
    assert not set(first.attempt) & set(second.attempt)
    sent = query(first.url)
    assert sent["code_challenge_method"] == "S256"
    assert sent["code_challenge"] == challenge(first.attempt.verifier)
    assert sent["response_type"] == "code"
    assert (sent["state"], sent["nonce"]) == first.attempt[:2]
    assert first.attempt.verifier not in first.url


async def test_provider_refuses_a_code_without_its_verifier(oidc):
    """A stolen code is useless without the verifier, which never leaves the sealed cookie."""
    provider = OidcProvider(settings(oidc.issuer))
    start = await provider.begin()
    response = query(await oidc.authorize(start.url, ANNA))
    form = {
        "grant_type": "authorization_code",
        "code": response["code"],
        "redirect_uri": f"{PUBLIC_URL}/auth/callback",
    }
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        reply = await client.post(
            f"{oidc.issuer}/token", data=form, auth=("onetool", "client+secret%3A+%2B%25%26")
        )
    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_grant")
    wrong = start.attempt._replace(verifier="another-verifier-of-at-least-43-characters-length")
    start = await provider.begin()
    response = query(await oidc.authorize(start.url, ANNA))
    with pytest.raises(SignInFailed, match="does not accept the code"):
        await provider.finish(wrong._replace(state=start.attempt.state), response)


async def test_code_can_be_used_once(oidc):
    provider = OidcProvider(settings(oidc.issuer))
    start = await provider.begin()
    response = query(await oidc.authorize(start.url, ANNA))
    await provider.finish(start.attempt, response)
    with pytest.raises(SignInFailed, match="it was used"):
        await provider.finish(start.attempt, response)


@pytest.mark.guards("person-login")
async def test_state_of_another_login_is_refused(oidc):
    provider = OidcProvider(settings(oidc.issuer))
    mine, theirs = await provider.begin(), await provider.begin()
    response = query(await oidc.authorize(theirs.url, ANNA))
    for changed in (response, response | {"state": ""}, {"code": response["code"]}):
        with pytest.raises(SignInFailed, match="another login"):
            await provider.finish(mine.attempt, changed)


@pytest.mark.guards("person-login")
async def test_response_of_another_provider_is_refused(oidc):
    """The mix-up attack: a provider that announces `iss` must name itself, and no one else."""
    provider = OidcProvider(settings(oidc.issuer))
    start = await provider.begin()
    response = query(await oidc.authorize(start.url, ANNA))
    assert response["iss"] == oidc.issuer
    without = {name: value for name, value in response.items() if name != "iss"}
    for changed in (response | {"iss": "https://attacker.example"}, response | {"iss": ""}, without):
        with pytest.raises(SignInFailed, match="does not come from the provider"):
            await provider.finish(start.attempt, changed)


async def test_wrong_issuer_is_refused_even_if_the_provider_announces_none(stub):
    start = await stub.provider().begin()
    with pytest.raises(SignInFailed, match="does not come from the provider"):
        await stub.provider().finish(start.attempt, {**stub.response(start), "iss": "https://else.example"})
    assert stub.count("/token") == 0


async def test_wrong_client_secret_is_reported_without_the_secret(oidc):
    provider = OidcProvider(settings(oidc.issuer, client_secret="hunter2"))
    with pytest.raises(SignInUnavailable, match="invalid_client") as caught:
        await log_in(oidc, provider)
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(settings(oidc.issuer, client_secret="hunter2"))


async def test_secret_is_sent_in_the_form_if_the_provider_accepts_nothing_else(stub):
    stub.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    await stub.log_in()
    (request,) = stub.requests("/token")
    assert parse_qs(request.body.decode())["client_secret"] == ["a secret"]
    assert "authorization" not in {name.lower() for name in request.headers}


async def test_provider_without_a_known_way_to_authenticate_is_refused(stub):
    stub.metadata["token_endpoint_auth_methods_supported"] = ["private_key_jwt"]
    with pytest.raises(SignInUnavailable, match="neither client_secret_basic"):
        await stub.log_in()


@pytest.mark.parametrize(
    "change",
    [
        {"issuer": "https://attacker.example"},
        {"issuer": None},
        {"token_endpoint": "http://tokens.example/token"},
        {"token_endpoint": "https://user:password@tokens.example/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": 7},
        {"userinfo_endpoint": "ftp://people.example"},
    ],
    ids=str,
)
async def test_invalid_configuration_of_the_provider_is_refused(stub, change):
    stub.metadata |= change
    with pytest.raises(SignInUnavailable, match="OpenID configuration"):
        await stub.provider().begin()


@pytest.mark.parametrize(
    "response",
    [
        StubResponse("no JSON"),
        StubResponse([1]),
        StubResponse({}, 500),
        StubResponse({}, 302, {"Location": "http://169.254.169.254/"}),
        StubResponse("x" * (2**18 + 1)),
    ],
    ids=["text", "list", "500", "redirect", "large"],
)
async def test_unusable_documents_are_refused(stub, response):
    stub.responses["/.well-known/openid-configuration"] = response
    with pytest.raises(SignInUnavailable, match="OpenID configuration"):
        await stub.provider().begin()


async def test_provider_that_is_away_is_not_asked_again_for_a_moment():
    now = 1_000.0
    with HttpStub({}) as stub:
        issuer = stub.url
        documents = ProviderDocuments(issuer, clock=lambda: now)
        provider = OidcProvider(settings(issuer), documents)
        for _ in range(3):
            with pytest.raises(SignInUnavailable, match="status 404"):
                await provider.begin()
        assert len(stub.requests) == 1
        now += RETRY_S
        with pytest.raises(SignInUnavailable):
            await provider.begin()
        assert len(stub.requests) == 2


async def test_documents_are_fetched_once(stub):
    provider = stub.provider()
    await stub.log_in(provider)
    await stub.log_in(provider)
    assert (stub.count("/.well-known/openid-configuration"), stub.count("/keys")) == (1, 1)


async def test_userinfo_about_another_person_is_refused(stub):
    stub.claims.pop("email")
    stub.responses["/userinfo"] = StubResponse({"sub": "someone else", "email": "boss@example.com"})
    with pytest.raises(SignInFailed, match="another person"):
        await stub.log_in()


@pytest.mark.parametrize(
    "groups", [{"a": 1}, [1], [""], ["a\0b"], ["x" * 256], ["g"] * 1_001], ids=lambda v: str(v)[:9]
)
async def test_unusable_groups_are_refused(stub, groups):
    stub.claims["roles"] = groups
    with pytest.raises(SignInFailed, match="Claim 'roles'"):
        await stub.log_in(stub.provider(groups_claim="roles"))


@pytest.mark.parametrize(("claim", "expected"), [("ops", ("ops",)), ([], ()), (["b", "a", "b"], ("a", "b"))])
async def test_groups_come_from_the_configured_claim(stub, claim, expected):
    stub.claims |= {"https://example.com/teams": claim, "groups": ["unrelated"]}
    identity = await stub.log_in(stub.provider(groups_claim="https://example.com/teams"))
    assert identity.groups == expected


async def test_texts_of_the_provider_are_made_harmless(stub):
    stub.claims |= {"email": ["no text"], "name": "A\nn\0na" + "x" * 500}
    identity = await stub.log_in()
    assert identity.email == ""
    assert identity.name == ("Anna" + "x" * 500)[:200]


async def test_login_without_a_code_or_without_an_id_token_fails(stub):
    provider = stub.provider()
    start = await provider.begin()
    with pytest.raises(SignInFailed, match="no code"):
        await provider.finish(start.attempt, {"state": start.attempt.state})
    stub.responses["/token"] = StubResponse({"access_token": "x", "expires": time.time()})
    with pytest.raises(SignInFailed, match="no ID token"):
        await stub.log_in(provider)


async def test_missing_groups_are_not_taken_for_no_groups(stub):
    """Otherwise a person would lose the groups that are denied something."""
    stub.claims.pop("groups", None)
    assert (await stub.log_in(stub.provider(groups_claim="groups"))).groups is None
    stub.claims["groups"] = []
    assert (await stub.log_in(stub.provider(groups_claim="groups"))).groups == ()
