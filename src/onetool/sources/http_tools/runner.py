"""The runner of an HTTP tool: it sends the requests in order and returns the last response."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import Invocation
from onetool.domain.errors import ExecutionError, LoginRequired, Reason
from onetool.domain.http.outgoing_check import OutgoingCheck
from onetool.domain.http.placeholders import InvalidValue
from onetool.domain.http.templates import requests_of, secret_names
from onetool.domain.http.urls import InvalidUrl
from onetool.domain.identity.principal import LOCAL
from onetool.domain.secrets.secret import Secret
from onetool.domain.text.strings import truncate_middle
from onetool.domain.tools.schema_args import conform
from onetool.network.backoff import Backoff
from onetool.network.client import HttpClients
from onetool.settings.secrets import Secrets

from .event_stream import ServerEvent
from .placeholder_values import PlaceholderValues
from .request import OutgoingRequest, build
from .request_auth import MAX_ERROR_BODY_LENGTH, RequestAuth
from .response_body import ResponseBody
from .sender import RequestSender
from .token_cache import TokenCache

DEFAULT_RETRIES = 2
MAX_PROGRESS_LENGTH = 2_000
"""Characters of an event that are passed on as progress."""
DEFAULT_MAX_RESPONSE_BYTES = 10 * 1024 * 1024


class HttpToolRunner:
    """Runs one definition that `check_http_impl` accepted."""

    def __init__(
        self,
        impl: Mapping[str, Any],
        *,
        arg_schema: Mapping[str, Any],
        limits: Mapping[str, Any] | None,
        secrets: Secrets,
        http: HttpClients,
        allowed_hosts: Sequence[str],
        tokens: TokenCache,
        backoff: Backoff | None = None,
        secrets_page: str = "",
        is_hosted: bool = False,
    ) -> None:
        """secrets_page: where members write their secrets; empty if there is no such page.

        is_hosted: whether an operator changes the settings, for messages.
        """
        self._is_hosted = is_hosted
        self._credentials, self._secrets_page = impl.get("credentials", "either"), secrets_page
        self._secret_names = sorted(secret_names(impl, arg_schema))
        self._requests = requests_of(impl)
        self._response: Mapping[str, Any] = impl.get("response") or {}
        self._arg_schema, self._limits, self._secrets = arg_schema, limits or {}, secrets
        self._http, self._allowed_hosts, self._tokens = http, allowed_hosts, tokens
        self._backoff = backoff or Backoff()

    async def run(self, args: Mapping[str, Any], invocation: Invocation) -> Any:
        """Send the requests and return the value of the last response.

        Raises:
            ExecutionError: A request cannot be built or sent, or its response is an error.
        """
        own_secrets = self._own_secrets(invocation.caller)
        args = conform(self._arg_schema, dict(args))
        caller, credentials = invocation.caller, invocation.credentials
        values = PlaceholderValues(args, self._arg_schema, self._secrets, credentials, own_secrets)
        # Also secrets that the tool does not use: an earlier response may contain them.
        check = OutgoingCheck(
            self._secrets.values(), caller.own_secrets.values(), credentials, self._secrets.place
        )
        sender = self._make_sender(values, check, invocation)
        deadline = _earlier(invocation.deadline, self._limits.get("timeoutMS"))
        value: Any = None
        for number, request in enumerate(self._requests):
            sender.deadline = _earlier(deadline, request.get("timeoutMS"))
            key = _key_of_request(caller.idempotency_key, number)
            outgoing, response = await self._send(request, values, sender, key)
            value = self._to_value(outgoing, response, values)
            if not self._is_success(response.status):
                break
            values.steps.append(value)
        return value

    def _own_secrets(self, caller: Caller) -> Mapping[str, Secret]:
        """Return the secrets of the caller that are used.

        They replace all secrets of the workspace that the tool needs, or none: a caller must not choose, say,
        the account for which a token of the workspace is used.

        Raises:
            LoginRequired: The tool needs secrets of the caller, and one is missing.
        """
        own = caller.own_secrets
        if self._credentials == "workspace":
            return {}
        missing = [name for name in self._secret_names if name not in own]
        if missing and self._credentials == "person" and caller.principal.id != LOCAL.id:
            message = (
                f"The tool is called with secrets of each member. Yours are missing: {', '.join(missing)}."
            )
            raise LoginRequired(message, self._secrets_page)
        shared = self._secrets.names
        if self._credentials == "person" or not shared.intersection(missing):
            return own
        return {name: secret for name, secret in own.items() if name not in shared}

    def _make_sender(
        self, values: PlaceholderValues, check: OutgoingCheck, invocation: Invocation
    ) -> RequestSender:
        events = count(1)

        def on_event(event: ServerEvent) -> None:
            invocation.report_progress(next(events), None, truncate_middle(event.data, MAX_PROGRESS_LENGTH))

        retries, max_response = self._limits.get("maxRetries"), self._limits.get("maxRespBytes")
        return RequestSender(
            self._http,
            values,
            check,
            self._backoff,
            allowed_hosts=self._allowed_hosts,
            attempts=1 + (DEFAULT_RETRIES if retries is None else retries),
            max_request_bytes=self._limits.get("maxSentBytes"),
            max_response_bytes=DEFAULT_MAX_RESPONSE_BYTES if max_response is None else max_response,
            on_event=on_event,
            on_request=invocation.caller.on_request,
            is_hosted=self._is_hosted,
        )

    async def _send(
        self, request: Mapping[str, Any], values: PlaceholderValues, sender: RequestSender, key: str
    ) -> tuple[OutgoingRequest, ResponseBody]:
        auth = RequestAuth(
            request.get("auth"), values, self._tokens, sender.send_token_request, self._backoff.wall_clock
        )
        try:
            outgoing = build(request, values).with_idempotency_key(key)
            async with asyncio.timeout_at(sender.deadline):
                return await sender.send(outgoing, auth, self._is_success)
        except InvalidValue as error:
            raise values.to_execution_error(error) from None
        except InvalidUrl as error:
            raise ExecutionError(Reason.HOST_NOT_ALLOWED, values.redact(str(error))) from None
        except TimeoutError:
            message = f"{outgoing.method} {outgoing.label} timed out."
            raise ExecutionError(Reason.TIMEOUT, message) from None

    def _is_success(self, status: int) -> bool:
        codes = self._response.get("successCodes")
        return status in codes if codes else 200 <= status < 300

    def _to_value(self, outgoing: OutgoingRequest, response: ResponseBody, values: PlaceholderValues) -> Any:
        """Return the value of a response.

        Raises:
            ExecutionError: The response is an error, too large, or labelled as JSON and is not.
        """
        is_success = self._is_success(response.status)
        prefix = f"{outgoing.method} {outgoing.label} returned"
        if not is_success and self._response.get("errorMode", "fail") == "fail":
            body = truncate_middle(values.redact(response.text()), MAX_ERROR_BODY_LENGTH)
            message = f"{prefix} {response.status}" + (f": {body}" if body else ".")
            raise ExecutionError(Reason.UPSTREAM, message)
        if not response.is_complete:
            message = f"{prefix} more than {len(response.content)} bytes, the limit set by maxRespBytes."
            raise ExecutionError(Reason.TOO_LARGE_OUT, message)
        try:
            value = response.value(self._response.get("events"))
        except ValueError as error:
            if is_success:
                message = f"{prefix} a body that is labelled {response.content_type!r}, but is {error}"
                raise ExecutionError(Reason.BAD_OUTPUT, values.redact(message)) from None
            value = response.text()  # an error page of a proxy
        return value if is_success else {"status": response.status, "body": value}


def _key_of_request(key: str, number: int) -> str:
    """Return the idempotency key of a request: several requests of a tool are not the same one."""
    return f"{key}-{number + 1}" if key and number else key


def _earlier(deadline: float, milliseconds: int | None) -> float:
    if milliseconds is None:
        return deadline
    return min(deadline, asyncio.get_running_loop().time() + milliseconds / 1000)
