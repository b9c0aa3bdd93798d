"""A stored HTTP tool at work: its requests in order, the last answer is the value."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from onetool.domain.caller import Sent
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.hosts import BadUrl
from onetool.domain.invocation import Invocation
from onetool.domain.placeholders import BadValue
from onetool.domain.templates import requests_of
from onetool.domain.texts import cut
from onetool.network.client import HttpClients
from onetool.settings.secrets import Secret

from .auth import SHOWN, Credentials
from .bodies import Answer
from .exchange import Exchange
from .outgoing import Outgoing, build
from .retry import RETRIES, Pace
from .tokens import Tokens
from .values import Values

MAX_READ = 10 * 1024 * 1024


class HttpTool:
    """Runs one definition that `check_http_impl` has let pass."""

    def __init__(
        self,
        impl: Mapping[str, Any],
        *,
        arg_schema: Mapping[str, Any],
        limits: Mapping[str, Any] | None,
        secrets: Mapping[str, Secret],
        http: HttpClients,
        allowed_hosts: Sequence[str],
        tokens: Tokens,
        pace: Pace | None = None,
    ) -> None:
        self._requests = requests_of(impl)
        self._response: Mapping[str, Any] = impl.get("response") or {}
        self._arg_schema, self._limits, self._secrets = arg_schema, limits or {}, secrets
        self._http, self._allowed_hosts, self._tokens = http, allowed_hosts, tokens
        self._pace = pace or Pace()

    async def run(self, args: Mapping[str, Any], invocation: Invocation) -> Any:
        """Send the requests; return what the last one answered.

        Raises ExecutionError.
        """
        values = Values(args, self._arg_schema, self._secrets)
        exchange = self._exchange(values, invocation.caller.sent)
        end = _earlier(invocation.deadline, self._limits.get("timeoutMS"))
        value: Any = None
        for request in self._requests:
            exchange.deadline = _earlier(end, request.get("timeoutMS"))
            outgoing, answer = await self._send(request, values, exchange)
            value = self._value(outgoing, answer, values)
            if not self._is_wanted(answer.status):
                break
            values.steps.append(value)
        return value

    def _exchange(self, values: Values, sent: Sent | None) -> Exchange:
        retries, most = self._limits.get("maxRetries"), self._limits.get("maxRespBytes")
        return Exchange(
            self._http,
            values,
            self._pace,
            allowed_hosts=self._allowed_hosts,
            attempts=1 + (RETRIES if retries is None else retries),
            max_sent=self._limits.get("maxSentBytes"),
            max_read=MAX_READ if most is None else most,
            sent=sent,
        )

    async def _send(
        self, request: Mapping[str, Any], values: Values, exchange: Exchange
    ) -> tuple[Outgoing, Answer]:
        credentials = Credentials(
            request.get("auth"), values, self._tokens, exchange.deliver, self._pace.wall
        )
        try:
            outgoing = build(request, values)
            async with asyncio.timeout_at(exchange.deadline):
                return await exchange.follow(outgoing, credentials, self._is_wanted)
        except BadValue as error:
            raise values.refusal(error) from None
        except BadUrl as error:
            raise ExecutionError(Reason.HOST_NOT_ALLOWED, values.redact(str(error))) from None
        except TimeoutError:
            problem = f"{outgoing.method} {outgoing.shown} took too long and was given up."
            raise ExecutionError(Reason.TIMEOUT, problem) from None

    def _is_wanted(self, status: int) -> bool:
        wanted = self._response.get("successCodes")
        return status in wanted if wanted else 200 <= status < 300

    def _value(self, outgoing: Outgoing, answer: Answer, values: Values) -> Any:
        """What an answer is worth to the caller."""
        is_wanted = self._is_wanted(answer.status)
        where = f"{outgoing.method} {outgoing.shown} answered"
        if not is_wanted and self._response.get("errorMode", "fail") == "fail":
            said = cut(values.redact(answer.text()), SHOWN)
            raise ExecutionError(Reason.UPSTREAM, f"{where} {answer.status}" + (f": {said}" if said else "."))
        if not answer.is_whole:
            raise ExecutionError(
                Reason.TOO_LARGE_OUT, f"{where} more than {len(answer.content)} bytes, which is maxRespBytes."
            )
        value = answer.value()
        return value if is_wanted else {"status": answer.status, "body": value}


def _earlier(deadline: float, milliseconds: int | None) -> float:
    if milliseconds is None:
        return deadline
    return min(deadline, asyncio.get_running_loop().time() + milliseconds / 1000)
