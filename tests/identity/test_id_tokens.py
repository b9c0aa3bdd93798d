"""ID tokens: only those that the issuer has signed for this client and this login are valid."""

import base64
import hashlib
import hmac
import json
from functools import partial

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from onetool.domain.errors import SignInFailed, SignInUnavailable
from onetool.identity.id_tokens import token_hash
from onetool.identity.provider_documents import MIN_AGE_S, ProviderDocuments
from onetool.testing.http_stub import StubResponse
from support.openid_stub import EC_KEY, OTHER_KEY, RSA_KEY, OpenIdStub, public_jwk, sign

FAR_FUTURE = 10**11
PUBLIC_PEM = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.fixture
def stub():
    with OpenIdStub() as stub:
        yield stub


def encode(part):
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")


def sign_with_public_key(claims):
    """HS256 with the public key as the secret: valid for a verifier that lets the token choose."""
    signed = encode({"alg": "HS256", "kid": "rsa"}) + b"." + encode(claims)
    signature = hmac.digest(PUBLIC_PEM, signed, hashlib.sha256)
    return (signed + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


def unsigned(claims, algorithm="none"):
    return b".".join((encode({"alg": algorithm, "kid": "rsa"}), encode(claims), b"")).decode()


def resigned(claims):
    """Claims that were changed after they were signed."""
    head, _, signature = sign(claims).split(".")
    return f"{head}.{encode(claims | {'sub': 'someone else'}).decode()}.{signature}"


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"),
    [(RSA_KEY, "RS256", "rsa"), (RSA_KEY, "PS512", "rsa"), (EC_KEY, "ES256", "ec"), (RSA_KEY, "RS384", None)],
)
async def test_token_with_a_key_of_the_provider_is_valid(stub, key, algorithm, kid):
    stub.sign = partial(sign, key=key, algorithm=algorithm, kid=kid)
    assert (await stub.log_in()).subject == "anna-1"


@pytest.mark.guards("person-login")
@pytest.mark.parametrize(
    "forge",
    [
        partial(sign, key=OTHER_KEY),
        unsigned,
        partial(unsigned, algorithm="RS256"),
        partial(unsigned, algorithm=["RS256"]),
        partial(unsigned, algorithm=None),
        sign_with_public_key,
        resigned,
        partial(sign, key=EC_KEY, algorithm="ES256", kid="rsa"),
        partial(sign, key=OTHER_KEY, kid="other"),
        lambda claims: "no.token.at-all",
        lambda claims: "",
        lambda claims: "x" * 100_001,
    ],
    ids=[
        "another key", "none", "no signature", "list as algorithm", "no algorithm", "public key as secret",
        "changed", "key of another type", "unknown key", "garbage", "empty", "long",
    ],
)  # fmt: skip
async def test_token_that_the_provider_has_not_signed_is_refused(stub, forge):
    stub.sign = forge
    with pytest.raises(SignInFailed, match=r"ID token of the provider is not valid") as caught:
        await stub.log_in()
    assert not isinstance(caught.value, SignInUnavailable)


@pytest.mark.guards("person-login")
@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "https://attacker.example"}, "issuer"),
        ({"iss": None}, "iss"),
        ({"aud": "another-client"}, "[Aa]udience"),
        ({"aud": ["another-client", "third"]}, "[Aa]udience"),
        ({"aud": None}, "aud"),
        ({"aud": ["onetool", "another-client"]}, "azp"),
        ({"aud": ["onetool", "another-client"], "azp": "another-client"}, "azp"),
        ({"azp": "another-client"}, "azp"),
        ({"nonce": "that of another login"}, "nonce"),
        ({"nonce": None}, "nonce"),
        ({"nonce": 7}, "nonce"),
        ({"exp": 1}, "expired"),
        ({"exp": None}, "exp"),
        ({"exp": float("inf")}, "exp"),
        ({"iat": FAR_FUTURE}, "iat"),
        ({"iat": None}, "iat"),
        ({"nbf": FAR_FUTURE}, "nbf"),
        ({"sub": None}, "sub"),
        ({"sub": 7}, "[Ss]ubject"),
        ({"at_hash": "of another access token"}, "at_hash"),
        ({"at_hash": 7}, "at_hash"),
    ],
    ids=str,
)
async def test_token_for_someone_else_is_refused(stub, claims, reason):
    stub.claims |= claims
    if "sub" in claims and claims["sub"] == 7:  # PyJWT does not sign such a token
        header = {"alg": "RS256", "kid": "rsa"}
        stub.sign = lambda claims: jwt.api_jws.encode(json.dumps(claims).encode(), RSA_KEY, "RS256", header)
    with pytest.raises(SignInFailed, match=f"not valid: .*{reason}"):
        await stub.log_in()


@pytest.mark.parametrize("subject", ["", "x" * 256, "a\nb"])
async def test_subject_that_is_no_id_is_refused(stub, subject):
    stub.claims["sub"] = subject
    with pytest.raises(SignInFailed, match="id of the person"):
        await stub.log_in()


async def test_several_audiences_are_accepted_if_the_token_was_made_for_this_client(stub):
    stub.claims |= {"aud": ["onetool", "another-client"], "azp": "onetool"}
    assert await stub.log_in()


@pytest.mark.parametrize(("key", "algorithm", "kid"), [(RSA_KEY, "RS256", "rsa"), (RSA_KEY, "RS512", "rsa")])
async def test_hash_of_the_access_token_is_checked_with_the_algorithm_of_the_token(stub, key, algorithm, kid):
    stub.sign = partial(sign, key=key, algorithm=algorithm, kid=kid)
    stub.claims["at_hash"] = token_hash(stub.access_token, algorithm)
    assert await stub.log_in()


def test_hash_of_an_access_token_is_that_of_the_specification():
    """OpenID Connect Core 1.0, appendix A.4."""
    token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
    assert token_hash(token, "RS256") == "77QmUPtjPfzWtF2AnpK9RQ"


async def test_eddsa_is_accepted(stub):
    key = ed25519.Ed25519PrivateKey.generate()
    stub.keys = [public_jwk(key, "EdDSA", kid="ed")]
    stub.sign = partial(sign, key=key, algorithm="EdDSA", kid="ed")
    stub.claims["at_hash"] = token_hash(stub.access_token, "EdDSA")
    assert await stub.log_in()


async def test_new_key_of_the_provider_is_fetched_once_within_a_while(stub):
    now = 1_000.0
    documents = ProviderDocuments(stub.issuer, clock=lambda: now)
    first = [key["kid"] for key in await documents.keys()]
    stub.keys.append(public_jwk(OTHER_KEY, "RS256", kid="new"))
    assert [key["kid"] for key in await documents.keys(again=True)] == first, "just fetched"
    now += MIN_AGE_S
    assert [key["kid"] for key in await documents.keys()] == first
    assert [key["kid"] for key in await documents.keys(again=True)] == [*first, "new"]
    assert stub.count("/keys") == 2


@pytest.mark.parametrize("change", [{"use": "enc"}, {"alg": "RS512"}, {"kty": "EC"}, {"n": "!"}, {"n": None}])
async def test_key_that_is_not_for_such_tokens_is_not_used(stub, change):
    stub.keys[0] |= change
    with pytest.raises(SignInFailed, match="not valid"):
        await stub.log_in()


async def test_token_without_a_key_id_needs_a_provider_with_one_key(stub):
    stub.keys.append(public_jwk(OTHER_KEY, "RS256", kid="second"))
    stub.sign = partial(sign, kid=None)
    with pytest.raises(SignInFailed, match="several keys fit"):
        await stub.log_in()


async def test_short_rsa_key_is_refused(stub):
    key = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    stub.keys = [public_jwk(key, "RS256", kid="short")]
    token = jwt.PyJWS(options={"enforce_minimum_key_length": False})
    stub.sign = lambda claims: token.encode(json.dumps(claims).encode(), key, "RS256", {"kid": "short"})
    with pytest.warns(jwt.InsecureKeyLengthWarning), pytest.raises(SignInFailed, match="not valid"):
        await stub.log_in()


@pytest.mark.parametrize("body", [{"keys": 7}, {}, {"keys": [{}] * 101}], ids=["no list", "nothing", "many"])
async def test_unusable_key_set_is_refused(stub, body):
    stub.responses["/keys"] = StubResponse(body)
    with pytest.raises(SignInUnavailable, match="key set"):
        await stub.log_in()
