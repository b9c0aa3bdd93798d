"""How an API wants to be asked: security schemes as the auth of an HTTP tool, with names for its secrets."""

from typing import Any, NamedTuple
from urllib.parse import urljoin

from onetool.domain.texts import cut

from .document import Document, Unusable, items, mapping, words
from .names import UniqueNames, secret_from
from .servers import read_server

LONGEST = 200
MANY = 20
"""Alternatives that are looked at."""


class Auth(NamedTuple):
    """The auth of a request, and what it needs from the operator."""

    auth: dict[str, str] | None
    secrets: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class Security:
    """The schemes of one document; a scheme's secrets have the same names in all of its tools."""

    def __init__(self, document: Document, slug: str) -> None:
        self._document, self._slug = document, slug
        self._schemes = mapping(mapping(document.root.get("components")).get("securitySchemes"))
        self._names: dict[tuple[str, str], str] = {}
        self._taken = UniqueNames("_", LONGEST)

    def auth_of(self, operation: dict[str, Any], server_url: str) -> Auth:
        """Return the auth of the first alternative that a tool can use.

        Raises Unusable when there is none.
        """
        alternatives = items(operation.get("security", self._document.root.get("security")))
        problems = []
        for alternative in map(mapping, alternatives[:MANY]):
            try:
                return self._alternative(alternative, server_url)
            except Unusable as error:
                problems.append(str(error))
        if problems:
            raise Unusable("; ".join(dict.fromkeys(problems)))
        return Auth(None)

    def _alternative(self, alternative: dict[str, Any], server_url: str) -> Auth:
        if len(alternative) > 1:
            raise Unusable(f"it needs {len(alternative)} security schemes at once; a tool has one")
        for name, scopes in alternative.items():
            if name not in self._schemes:
                raise Unusable(f"its security scheme {cut(name, 80)!r} is not in the document")
            return self._scheme(name, self._document.resolve(self._schemes[name]), items(scopes), server_url)
        return Auth(None)

    def _scheme(self, name: str, scheme: dict[str, Any], scopes: list[Any], server_url: str) -> Auth:
        kind, way = scheme.get("type"), words(scheme.get("scheme")).lower()
        if kind == "http" and way == "bearer":
            return self._filled({"type": "bearer"}, token=self._bearer(name))
        if kind == "http" and way == "basic":
            username, password = self._name(name, "USERNAME"), self._name(name, "PASSWORD")
            return self._filled({"type": "basic"}, username=username, password=password)
        if kind == "apiKey" and scheme.get("in") in ("header", "query"):
            known = {"type": "apiKey", "in": scheme["in"], "name": words(scheme.get("name"))}
            return self._filled(known, value=self._name(name, ""))
        flow = mapping(scheme.get("flows")).get("clientCredentials")
        if kind == "oauth2" and isinstance(flow, dict):
            return self._client_credentials(name, flow, scopes, server_url)
        shown = " ".join(str(part) for part in (kind, way or scheme.get("in") or "") if part)
        raise Unusable(f"its security scheme {cut(name, 80)!r} ({cut(shown, 80)}) cannot be used by a tool")

    def _client_credentials(
        self, name: str, flow: dict[str, Any], scopes: list[Any], server_url: str
    ) -> Auth:
        token_url = read_server(urljoin(server_url + "/", words(flow.get("tokenUrl"))))
        scope = " ".join(str(scope) for scope in scopes)
        known = {"type": "oauth2", "tokenUrl": token_url.url, "scope": scope}
        client, secret = self._name(name, "CLIENT_ID"), self._name(name, "CLIENT_SECRET")
        auth = self._filled(known, clientId=client, clientSecret=secret)
        return auth._replace(hosts=(token_url.host,))

    def _filled(self, known: dict[str, str], **secrets: str) -> Auth:
        return Auth(
            known | {field: f"${{{name}}}" for field, name in secrets.items()}, tuple(secrets.values())
        )

    def _bearer(self, scheme: str) -> str:
        others = [
            name
            for name, one in self._schemes.items()
            if name != scheme and words(mapping(one).get("scheme")).lower() == "bearer"
        ]
        return self._name(scheme if others else "", "TOKEN")

    def _name(self, scheme: str, part: str) -> str:
        """The name of a secret: never that of another scheme's."""
        if (scheme, part) not in self._names:
            made = secret_from(*filter(None, (self._slug, scheme, part)))
            self._names[scheme, part] = self._taken.take(made)
        return self._names[scheme, part]
