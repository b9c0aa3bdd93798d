"""Security schemes of an API as the auth of HTTP tools, and the names of their secrets."""

from typing import Any, NamedTuple
from urllib.parse import urljoin

from onetool.domain.text.strings import truncate_middle

from .document import OpenApiDocument, UnusableDocument, as_dict, as_list, as_text
from .names import UniqueNames, secret_from
from .servers import parse_server

MAX_NAME_LENGTH = 200
MAX_ALTERNATIVES = 20


class OperationAuth(NamedTuple):
    """The auth of a request, and the secrets and hosts that the operator must configure for it."""

    auth: dict[str, str] | None
    secrets: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class SecuritySchemes:
    """The security schemes of one document. The secrets of a scheme have the same names in all tools."""

    def __init__(self, document: OpenApiDocument, slug: str) -> None:
        self._document, self._slug = document, slug
        self._schemes = as_dict(as_dict(document.root.get("components")).get("securitySchemes"))
        self._secret_names: dict[tuple[str, str], str] = {}
        self._unique_names = UniqueNames("_", MAX_NAME_LENGTH)

    def auth_for(self, operation: dict[str, Any], server_url: str) -> OperationAuth:
        """Return the auth of the first alternative that is supported.

        Raises:
            UnusableDocument: No alternative is supported.
        """
        alternatives = as_list(operation.get("security", self._document.root.get("security")))
        problems = []
        for alternative in map(as_dict, alternatives[:MAX_ALTERNATIVES]):
            try:
                return self._alternative(alternative, server_url)
            except UnusableDocument as error:
                problems.append(str(error))
        if problems:
            raise UnusableDocument("; ".join(dict.fromkeys(problems)))
        return OperationAuth(None)

    def _alternative(self, alternative: dict[str, Any], server_url: str) -> OperationAuth:
        if len(alternative) > 1:
            raise UnusableDocument(
                f"it requires {len(alternative)} security schemes at once; only one is supported"
            )
        for name, scopes in alternative.items():
            if name not in self._schemes:
                raise UnusableDocument(
                    f"its security scheme {truncate_middle(name, 80)!r} is not in the document"
                )
            scheme = self._document.resolve(self._schemes[name])
            return self._auth_of_scheme(name, scheme, as_list(scopes), server_url)
        return OperationAuth(None)

    def _auth_of_scheme(
        self, name: str, scheme: dict[str, Any], scopes: list[Any], server_url: str
    ) -> OperationAuth:
        kind, http_scheme = scheme.get("type"), as_text(scheme.get("scheme")).lower()
        if kind == "http" and http_scheme == "bearer":
            return self._with_secrets({"type": "bearer"}, token=self._bearer_token_name(name))
        if kind == "http" and http_scheme == "basic":
            username, password = self._secret_name(name, "USERNAME"), self._secret_name(name, "PASSWORD")
            return self._with_secrets({"type": "basic"}, username=username, password=password)
        if kind == "apiKey" and scheme.get("in") in ("header", "query"):
            auth = {"type": "apiKey", "in": scheme["in"], "name": as_text(scheme.get("name"))}
            return self._with_secrets(auth, value=self._secret_name(name, ""))
        flow = as_dict(scheme.get("flows")).get("clientCredentials")
        if kind == "oauth2" and isinstance(flow, dict):
            return self._client_credentials(name, flow, scopes, server_url)
        description = " ".join(str(part) for part in (kind, http_scheme or scheme.get("in") or "") if part)
        raise UnusableDocument(
            f"its security scheme {truncate_middle(name, 80)!r} ({truncate_middle(description, 80)}) "
            f"is not supported for tools"
        )

    def _client_credentials(
        self, name: str, flow: dict[str, Any], scopes: list[Any], server_url: str
    ) -> OperationAuth:
        token_url = parse_server(urljoin(server_url + "/", as_text(flow.get("tokenUrl"))))
        scope = " ".join(str(scope) for scope in scopes)
        auth = {"type": "oauth2", "tokenUrl": token_url.url, "scope": scope}
        client_id = self._secret_name(name, "CLIENT_ID")
        client_secret = self._secret_name(name, "CLIENT_SECRET")
        with_secrets = self._with_secrets(auth, clientId=client_id, clientSecret=client_secret)
        return with_secrets._replace(hosts=(token_url.host,))

    def _with_secrets(self, auth: dict[str, str], **secrets: str) -> OperationAuth:
        placeholders = {field: f"${{{name}}}" for field, name in secrets.items()}
        return OperationAuth(auth | placeholders, tuple(secrets.values()))

    def _bearer_token_name(self, scheme: str) -> str:
        """Return the name of a bearer token. The scheme is part of it only if there are several."""
        others = [
            name
            for name, other in self._schemes.items()
            if name != scheme and as_text(as_dict(other).get("scheme")).lower() == "bearer"
        ]
        return self._secret_name(scheme if others else "", "TOKEN")

    def _secret_name(self, scheme: str, part: str) -> str:
        """Return the name of a secret of a scheme. No other scheme has the same name."""
        if (scheme, part) not in self._secret_names:
            name = secret_from(*filter(None, (self._slug, scheme, part)))
            self._secret_names[scheme, part] = self._unique_names.reserve(name)
        return self._secret_names[scheme, part]
