"""A protected MCP server and its authorization server, on two ports of loopback, with faults to choose."""

import base64
import hashlib
import json
import secrets
from collections import Counter
from contextlib import ExitStack
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from onetool.testing.http_stub import HttpStub, Reply

JSON = {"Content-Type": "application/json"}
PRM, ASM = "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"


class Protected:
    """Refresh tokens are good for one use; whoever uses one twice loses everything, as is good practice."""

    def __init__(self):
        self.expires_in = 3600
        self.asked = Counter()
        self.replies = {}
        """What is answered in place of the usual: by path, a Reply or a function of the request."""
        self.resource_metadata, self.metadata = {}, {}
        """What is said otherwise in the two documents."""
        self.tampered = {}
        """What the browser is sent back with otherwise."""
        self.secrets = []
        """Everything that must never be seen."""
        self.seen_tokens = []
        self._clients, self._codes = {}, {}
        self._access, self._refresh, self._used = set(), set(), set()

    def __enter__(self):
        with ExitStack() as stack:
            paths = {"/mcp": self._mcp, PRM: self._describe_resource}
            self._resource = stack.enter_context(HttpStub(self._counted(paths)))
            paths = {
                ASM: self._describe,
                "/register": self._register,
                "/authorize": self._authorize,
                "/token": self._token,
            }
            self._issuer = stack.enter_context(HttpStub(self._counted(paths)))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *raised):
        self._stack.close()

    @property
    def url(self):
        return f"{self._resource.url}/mcp"

    @property
    def issuer(self):
        return self._issuer.url

    def forget_access(self):
        """As if the time of all access tokens had passed."""
        self._access.clear()

    def forget_everything(self):
        self._access.clear()
        self._refresh.clear()

    def _counted(self, paths):
        def answer(path, usual):
            def reply(request):
                self.asked[path] += 1
                other = self.replies.get(path)
                return usual(request) if other is None else other(request) if callable(other) else other

            return reply

        return {path: answer(path, usual) for path, usual in paths.items()}

    def _describe_resource(self, request):
        usual = {"resource": self.url, "authorization_servers": [self.issuer], "scopes_supported": ["all"]}
        return Reply({**usual, **self.resource_metadata})

    def _describe(self, request):
        usual = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        return Reply({name: value for name, value in {**usual, **self.metadata}.items() if value is not None})

    def _register(self, request):
        client = json.loads(request.body) | {"client_id": secrets.token_hex(8)}
        self._clients[client["client_id"]] = client
        return Reply(client, 201)

    def _authorize(self, request):
        asked = dict(parse_qsl(urlsplit(request.path).query))
        client = self._clients[asked["client_id"]]
        if asked["redirect_uri"] not in client["redirect_uris"] or asked["resource"] != self.url:
            return Reply("no", 400)
        code = self._secret("code")
        self._codes[code] = asked
        back = {"code": code, "state": asked["state"], "iss": self.issuer, **self.tampered}
        back = {name: value for name, value in back.items() if value is not None}
        return Reply("", 302, {"Location": f"{asked['redirect_uri']}?{urlencode(back)}"})

    def _token(self, request):
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        self.asked[form["grant_type"]] += 1
        is_good = self._is_code(form) if "code" in form else self._is_refresh(form)
        if not is_good or form["client_id"] not in self._clients or form["resource"] != self.url:
            return Reply({"error": "invalid_grant"}, 400)
        access, refresh = self._secret("access"), self._secret("refresh")
        self._access.add(access)
        self._refresh.add(refresh)
        given = {"access_token": access, "token_type": "bearer", "expires_in": self.expires_in}
        return Reply(given | {"refresh_token": refresh})

    def _is_code(self, form):
        asked = self._codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        self.secrets.append(form["code_verifier"])
        return (
            asked and challenge == asked["code_challenge"] and form["redirect_uri"] == asked["redirect_uri"]
        )

    def _is_refresh(self, form):
        token = form["refresh_token"]
        if token in self._used:
            self.asked["reused"] += 1
            self.forget_everything()
        self._used.add(token)
        is_good = token in self._refresh
        self._refresh.discard(token)
        return is_good

    def _secret(self, kind):
        self.secrets.append(f"{kind}-{secrets.token_hex(12)}")
        return self.secrets[-1]

    def _mcp(self, request):
        headers = {name.lower(): value for name, value in request.headers.items()}
        token = headers.get("authorization", "").removeprefix("Bearer ")
        self.seen_tokens.append(token)
        if token not in self._access:
            where = f'Bearer resource_metadata="{self._resource.url}{PRM}"'
            return Reply({"error": "invalid_token"}, 401, {"WWW-Authenticate": where})
        if request.method != "POST":
            return Reply("", 405)
        message = json.loads(request.body)
        if "id" not in message:
            return Reply("", 202)
        return Reply({"jsonrpc": "2.0", "id": message["id"], "result": _result(message)})


def _result(message):
    if message["method"] == "initialize":
        about = {"name": "protected", "version": "1"}
        version = message["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {}, "serverInfo": about}
    if message["method"] == "tools/list":
        return {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
    return {"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}
