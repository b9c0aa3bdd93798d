"""An MCP server that requires OAuth, and its authorization server, on two loopback ports."""

import base64
import hashlib
import json
import secrets
from collections import Counter
from contextlib import ExitStack
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from onetool.testing.http_stub import HttpStub, StubResponse

JSON = {"Content-Type": "application/json"}
RESOURCE_METADATA_PATH, SERVER_METADATA_PATH = (
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
)


class OAuthMcpServer:
    """An MCP server and an authorization server, both with configurable faults.

    Refresh tokens are valid for one use. Reuse revokes all tokens, as RFC 9700 recommends.
    """

    def __init__(self):
        self.expires_in = 3600
        self.request_counts = Counter()
        self.responses = {}
        """Responses by path that replace the default: a `StubResponse` or a function of the request."""
        self.resource_metadata_overrides, self.server_metadata_overrides = {}, {}
        """Overrides for the two metadata documents."""
        self.callback_overrides = {}
        """Overrides for the query of the redirect to the client; None removes a parameter."""
        self.secrets = []
        """Every secret issued or received; none may appear in output."""
        self.received_tokens = []
        self.account = "anna"
        """Who is logged in in the browser that opens the login page."""
        self.tools = {}
        """Tools that are listed for an account, in place of the default."""
        self.called_by = []
        """The account of each call."""
        self.accepts_used = False
        """Whether a refresh token is accepted again: some issuers do so for a while after its first use."""
        self._accounts = {}
        self._clients, self._codes = {}, {}
        self._access, self._refresh, self._used = set(), set(), set()

    def __enter__(self):
        with ExitStack() as stack:
            paths = {"/mcp": self._mcp, RESOURCE_METADATA_PATH: self._resource_metadata}
            self._resource = stack.enter_context(HttpStub(self._count_requests(paths)))
            paths = {
                SERVER_METADATA_PATH: self._server_metadata,
                "/register": self._register,
                "/authorize": self._authorize,
                "/token": self._token,
            }
            self._issuer = stack.enter_context(HttpStub(self._count_requests(paths)))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    @property
    def url(self):
        return f"{self._resource.url}/mcp"

    @property
    def issuer(self):
        return self._issuer.url

    def expire_access_tokens(self):
        """Make all access tokens invalid, as if they had expired."""
        self._access.clear()

    def lose_next_refresh(self):
        """Issue tokens at the next refresh, but close the connection in place of a response."""

        def lose(request):
            del self.responses["/token"]
            self._token(request)
            raise ConnectionAbortedError

        self.responses["/token"] = lose

    def revoke_all_tokens(self):
        """Make all access and refresh tokens invalid."""
        self._access.clear()
        self._refresh.clear()

    def _count_requests(self, paths):
        def wrap(path, default):
            def respond(request):
                self.request_counts[path] += 1
                override = self.responses.get(path)
                if override is None:
                    return default(request)
                return override(request) if callable(override) else override

            return respond

        return {path: wrap(path, default) for path, default in paths.items()}

    def _resource_metadata(self, request):
        default = {"resource": self.url, "authorization_servers": [self.issuer], "scopes_supported": ["all"]}
        return StubResponse({**default, **self.resource_metadata_overrides})

    def _server_metadata(self, request):
        default = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        return StubResponse(
            {
                name: value
                for name, value in {**default, **self.server_metadata_overrides}.items()
                if value is not None
            }
        )

    def _register(self, request):
        client = json.loads(request.body) | {"client_id": secrets.token_hex(8)}
        self._clients[client["client_id"]] = client
        return StubResponse(client, 201)

    def _authorize(self, request):
        query = dict(parse_qsl(urlsplit(request.path).query))
        client = self._clients[query["client_id"]]
        if query["redirect_uri"] not in client["redirect_uris"] or query["resource"] != self.url:
            return StubResponse("no", 400)
        code = self._new_secret("code")
        self._codes[code] = query
        self._accounts[code] = self.account
        callback = {"code": code, "state": query["state"], "iss": self.issuer, **self.callback_overrides}
        callback = {name: value for name, value in callback.items() if value is not None}
        return StubResponse("", 302, {"Location": f"{query['redirect_uri']}?{urlencode(callback)}"})

    def _token(self, request):
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        self.request_counts[form["grant_type"]] += 1
        is_valid = self._redeem_code(form) if "code" in form else self._redeem_refresh(form)
        if not is_valid or form["client_id"] not in self._clients or form["resource"] != self.url:
            return StubResponse({"error": "invalid_grant"}, 400)
        access, refresh = self._new_secret("access"), self._new_secret("refresh")
        account = self._accounts[form.get("code") or form["refresh_token"]]
        self._accounts |= {access: account, refresh: account}
        self._access.add(access)
        self._refresh.add(refresh)
        tokens = {"access_token": access, "token_type": "bearer", "expires_in": self.expires_in}
        return StubResponse(tokens | {"refresh_token": refresh})

    def _redeem_code(self, form):
        query = self._codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        self.secrets.append(form["code_verifier"])
        return (
            query and challenge == query["code_challenge"] and form["redirect_uri"] == query["redirect_uri"]
        )

    def _redeem_refresh(self, form):
        token = form["refresh_token"]
        if self.accepts_used and token in self._used:
            return True
        if token in self._used:
            self.request_counts["reused"] += 1
            self.revoke_all_tokens()
        self._used.add(token)
        is_valid = token in self._refresh
        self._refresh.discard(token)
        return is_valid

    def accept_anyone(self):
        """Accept requests without a token."""
        self._access.add("")
        self._accounts[""] = "anyone"

    def _new_secret(self, kind):
        self.secrets.append(f"{kind}-{secrets.token_hex(12)}")
        return self.secrets[-1]

    def _mcp(self, request):
        headers = {name.lower(): value for name, value in request.headers.items()}
        token = headers.get("authorization", "").removeprefix("Bearer ")
        self.received_tokens.append(token)
        if token not in self._access:
            challenge = f'Bearer resource_metadata="{self._resource.url}{RESOURCE_METADATA_PATH}"'
            return StubResponse({"error": "invalid_token"}, 401, {"WWW-Authenticate": challenge})
        if request.method != "POST":
            return StubResponse("", 405)
        message = json.loads(request.body)
        if "id" not in message:
            return StubResponse("", 202)
        return StubResponse({"jsonrpc": "2.0", "id": message["id"], "result": self._result(message, token)})

    def _result(self, message, token):
        account = self._accounts[token]
        if message["method"] == "tools/list" and account in self.tools:
            return {"tools": self.tools[account]}
        if message["method"] == "tools/call":
            self.called_by.append(account)
        return _result(message)


def _result(message):
    if message["method"] == "initialize":
        server_info = {"name": "protected", "version": "1"}
        version = message["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {}, "serverInfo": server_info}
    if message["method"] == "tools/list":
        return {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
    return {"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}
