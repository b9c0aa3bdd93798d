"""What a server asks during a call, passed on to the caller: forms, pages to open, samples and roots."""

import asyncio
import json
import re
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeVar
from urllib.parse import SplitResult, urlsplit

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.question import Answer, Question, QuestionKind
from onetool.domain.calls.server_task import ServerTask
from onetool.domain.errors import ExecutionError, LoginRequired, Reason, RequestRefused
from onetool.domain.text.json_text import pretty
from onetool.settings.server_schema import ServerSettings

ELICITATION, SAMPLING, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
METHODS = (ELICITATION, SAMPLING, ROOTS)
MAX_ROUNDS = 10
"""Times that a call may be answered with questions, one after the other."""
MAX_AT_ONCE = 8
MAX_REQUEST_BYTES = 2**18
FIRST_WAIT_S, MAX_WAIT_S = 0.05, 5.0
"""Before a call is continued that has asked nothing."""
SECRET_NAME = re.compile(
    r"pass(word|phrase|code)|secret|token|api.?key|private.?key|credential|access.?key|\bpin\b|cvv", re.I
)
URL_REQUIRED = -32042
"""The error of a server whose user must open a page first."""
INPUT_REQUIRED = "input_required"
UNANSWERABLE = "has asked something that its caller cannot be asked"
Sampling = Literal["never", "ask"]
T = TypeVar("T")


class QuestionRefused(ExecutionError):
    """The server must not ask this, or the caller cannot be asked."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.UPSTREAM, message)


class CallQuestions:
    """Answers the questions of one call of a server's tool."""

    def __init__(self, server: str, caller: Caller, *, is_enabled: bool, sampling: Sampling) -> None:
        self._server, self._caller = server, caller
        self.endpoint = ""
        """A digest of the server's URL, if another process can wait for a task of this call."""
        declared = caller.asker.capabilities if is_enabled else {}
        self.capabilities = {
            key: dict(declared[key])
            for key in ("elicitation", "roots", *(["sampling"] if sampling == "ask" else []))
            if isinstance(declared.get(key), Mapping)
        }
        """What the caller can be asked, as the server is told."""
        self.extensions: Mapping[str, Any] = caller.asker.capabilities.get("extensions", {})
        """The extensions of the protocol that the caller supports, as the server is told."""
        self._rounds, self._wait_s = 0, FIRST_WAIT_S
        self.note = ""
        """What the result must say about the questions of the call."""
        self.failure: asyncio.Future[QuestionRefused] = asyncio.get_running_loop().create_future()
        """Why the call must not go on."""
        self.ended = asyncio.Event()

    async def answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the caller and return the result of the server's request.

        Raises:
            QuestionRefused: The caller cannot be asked this.
        """
        try:
            self._count_round()
            question = self._question(method, params)
        except QuestionRefused as error:
            if self.capabilities and not self.failure.done():
                self.failure.set_result(error)
                await self.ended.wait()  # an earlier reply would let the server ask again
            raise
        return await self._ask(question)

    async def answer_requests(self, requests: Any) -> dict[str, Any]:
        """Answer the requests of a task.

        Raises:
            QuestionRefused: The server asks too much, or something that the caller cannot be asked.
        """
        self._count_round()
        if not isinstance(requests, Mapping) or len(requests) > MAX_AT_ONCE:
            message = f"Server {self._server!r} asks more than {MAX_AT_ONCE} questions at a time."
            raise QuestionRefused(message)
        return await self._answer_all(requests)

    async def note_task(self, task: str) -> None:
        """Tell the caller that the server continues the call as a task."""
        if self._caller.on_task is not None:
            await self._caller.on_task(ServerTask(self._server, task, self.endpoint, self.capabilities))

    async def _answer_all(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        questions = {key: replace(self._question_of(request), key=key) for key, request in requests.items()}
        results = await _gather(self._ask(question) for question in questions.values())
        return dict(zip(questions, results, strict=True))

    async def continue_call(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a result of the type `input_required`. Return the parameters of the next request.

        Raises:
            QuestionRefused: The server asks too much, or something that the caller cannot be asked.
        """
        requests = result.get("inputRequests") or {}
        if requests:
            self._wait_s = FIRST_WAIT_S
        else:
            await asyncio.sleep(self._wait_s)
            self._wait_s = min(self._wait_s * 2, MAX_WAIT_S)
        responses = await self.answer_requests(requests)
        state = {"requestState": result["requestState"]} if "requestState" in result else {}
        rest = {key: value for key, value in params.items() if key not in ("inputResponses", "requestState")}
        return rest | ({"inputResponses": responses} if responses else {}) | state

    async def _ask(self, question: Question) -> dict[str, Any]:
        if question.kind == "roots" and (roots := self._caller.asker.roots):
            return {"roots": [{"uri": root.as_uri(), "name": root.name} for root in roots]}
        return _result(question.kind, await self._caller.ask(question))

    async def open_pages(self, error: RequestRefused) -> None:
        """Ask the user to open the pages that an error of the server names. Return if the user did.

        Raises:
            RequestRefused: The error itself, if the user did not, or cannot.
        """
        pages = error.rpc_data.get("elicitations") if isinstance(error.rpc_data, Mapping) else None
        if not isinstance(pages, list) or not 0 < len(pages) <= MAX_AT_ONCE:
            raise error
        params = [page if isinstance(page, Mapping) else {} for page in pages]
        if "url" not in self._caller.asker.kinds:
            why = self._cannot_ask("url", params[0].get("url"))
            raise RequestRefused(f"{error} {why}", error.rpc_code, error.rpc_data)
        questions = [self._question(ELICITATION, {"mode": "url", **page}) for page in params]
        for question in questions:
            if (await self._caller.ask(question)).action != "accept":
                raise error

    async def ask_to_log_in(self, required: LoginRequired) -> None:
        """Ask the user to open the page on which to log in. Return if the user does.

        Raises:
            LoginRequired: The user does not, or cannot be asked.
        """
        if not required.url or "url" not in self._caller.asker.kinds:
            raise required
        params = {"mode": "url", "url": required.url, "message": str(required)}
        question = Question(
            kind="url", message=str(required), server=self._server, url=required.url, params=params
        )
        if (await self._caller.ask(question)).action != "accept":
            raise required

    def _count_round(self) -> None:
        self._rounds += 1
        if self._rounds > MAX_ROUNDS:
            message = f"Server {self._server!r} asks more than {MAX_ROUNDS} times during one call."
            raise QuestionRefused(message)

    def _question_of(self, request: Any) -> Question:
        if not isinstance(request, Mapping) or not isinstance(request.get("method"), str):
            raise QuestionRefused(f"Server {self._server!r} asks something that is not a request.")
        params = request.get("params")
        return self._question(request["method"], params if isinstance(params, Mapping) else {})

    def _question(self, method: str, params: Mapping[str, Any]) -> Question:
        kind = _kind(method, params)
        if kind is None:
            raise QuestionRefused(f"Server {self._server!r} asks {method[:80]!r}, which is not supported.")
        params = self._checked(params)
        message, url = params.get("message"), params.get("url")
        if kind == "url":
            self._check_url(url)
        if kind not in self._caller.asker.kinds or not self._is_declared(kind):
            raise QuestionRefused(self._cannot_ask(kind, url))
        if kind == "form":
            self._check_form(params.get("requestedSchema"))
        return Question(
            kind=kind,
            message=pretty(dict(params)) if kind == "sampling" else str(message or ""),
            server=self._server,
            schema=params.get("requestedSchema") or {} if kind == "form" else {},
            url=str(url or ""),
            params=params,
        )

    def _checked(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return parameters of a limited size, as texts that every client can read."""
        text = json.dumps(params, ensure_ascii=False, default=dict).encode("utf-8", "replace")
        if len(text) > MAX_REQUEST_BYTES:
            message = f"Server {self._server!r} asks a question of more than {MAX_REQUEST_BYTES:,} bytes."
            raise QuestionRefused(message)
        checked: dict[str, Any] = json.loads(text)
        return checked

    def _is_declared(self, kind: QuestionKind) -> bool:
        return ("elicitation" if kind in ("form", "url") else kind) in self.capabilities

    def _cannot_ask(self, kind: QuestionKind, url: Any) -> str:
        if kind == "url":
            host = _split(url).hostname
            return f"Server {self._server!r} wants the user to open a page of {host}, but the client cannot."
        if kind == "sampling":
            setting = f"servers.{self._server}.sampling"
            return f"Server {self._server!r} wants to use the client's model. {setting} decides about it."
        return f"Server {self._server!r} {UNANSWERABLE}."

    def _check_url(self, url: Any) -> None:
        if _split(url).scheme not in ("http", "https"):
            raise QuestionRefused(f"Server {self._server!r} wants the user to open an invalid URL.")

    def _check_form(self, schema: Any) -> None:
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        if not isinstance(properties, Mapping):
            raise QuestionRefused(f"Server {self._server!r} shows a form without fields.")
        for name, field in properties.items():
            titles = [name, field.get("title", "")] if isinstance(field, Mapping) else [name]
            is_secret = isinstance(field, Mapping) and field.get("format") == "password"
            if is_secret or any(SECRET_NAME.search(str(title)) for title in titles):
                raise QuestionRefused(
                    f"Server {self._server!r} asks for a secret in a form (field {str(name)[:80]!r}). "
                    "Servers must use a page of their own for that."
                )


async def _gather(asking: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Wait for all; if one fails, cancel the others, so that no question stays open."""
    tasks = [asyncio.create_task(one) for one in asking]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _split(url: Any) -> SplitResult:
    """Return the parts of a URL; empty ones if it is invalid."""
    try:
        return urlsplit(str(url))
    except ValueError:
        return urlsplit("")


def declared_first(settings: ServerSettings) -> Mapping[str, Any]:
    """Return what a session declares before it is known who will call."""
    if settings.questions == "never":
        return {}
    elicitation: Mapping[str, Any] = {"elicitation": {"form": {}, "url": {}}}
    return {**elicitation, "sampling": {}} if settings.sampling == "ask" else elicitation


def _kind(method: str, params: Mapping[str, Any]) -> QuestionKind | None:
    if method == ELICITATION:
        return "url" if params.get("mode") == "url" else "form"
    found: QuestionKind | None = {SAMPLING: "sampling", ROOTS: "roots"}.get(method)  # type: ignore[assignment]
    return found


def _result(kind: QuestionKind, answer: Answer) -> dict[str, Any]:
    """Return the result of the server's request."""
    if kind in ("form", "url"):
        content = {"content": dict(answer.content)} if answer.action == "accept" and answer.content else {}
        return {"action": answer.action} | (content if kind == "form" else {})
    if answer.action != "accept":
        raise QuestionRefused(f"The client did not answer: {answer.action}.")
    return dict(answer.content or {})
