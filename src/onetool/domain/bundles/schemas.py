"""Schemas of bundles and tools in the API, in archives and in imports."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from onetool.domain.text.suggestions import did_you_mean

from .bundle import FieldError

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
Text = Annotated[str, Field(max_length=10_000)]
Name = Annotated[str, Field(max_length=200)]


class StrictModel(BaseModel):
    """Base of all schemas: rejects unknown fields and does not convert types."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=False)


class BundleBody(StrictModel):
    """A bundle to create or replace."""

    slug: str = Field(description="Letters, digits and dashes.", examples=["weather"])
    displayName: Name = Field("", description="Name shown in user interfaces.", examples=["Weather"])
    description: Text = ""
    isEnabled: bool = True


class EnabledBody(StrictModel):
    """The enabled flag of a bundle or tool."""

    isEnabled: bool


class BearerAuth(StrictModel):
    """`Authorization: Bearer <token>`."""

    type: Literal["bearer"]
    token: Text = Field(examples=["${API_TOKEN}"])


class BasicAuth(StrictModel):
    """`Authorization: Basic <credentials>`."""

    type: Literal["basic"]
    username: Text
    password: Text


class ApiKeyAuth(StrictModel):
    """An API key in a header or a query parameter."""

    type: Literal["apiKey"]
    location: Literal["header", "query"] = Field("header", alias="in")
    name: Name
    value: Text


class HmacAuth(StrictModel):
    """An HMAC signature of the request."""

    type: Literal["hmac"]
    secret: Text
    algorithm: Literal["sha256", "sha512"] = "sha256"
    encoding: Literal["hex", "base64"] = "hex"
    header: Name = "X-Signature"
    prefix: Name = ""
    timestampHeader: Name = Field(
        "", description="Header for the time of the request in seconds since the epoch. Empty: not sent."
    )
    payload: Text = Field(
        "${method}\n${path}\n${query}\n${timestamp}\n${body}", description="Template of the signed text."
    )


class OAuth2Auth(StrictModel):
    """An OAuth 2.0 access token, cached and refreshed when it expires."""

    type: Literal["oauth2"]
    grant: Literal["client_credentials", "refresh_token"] = "client_credentials"
    tokenUrl: Text
    clientId: Text = ""
    clientSecret: Text = ""
    refreshToken: Text = ""
    scope: Text = ""


Auth = Annotated[BearerAuth | BasicAuth | ApiKeyAuth | HmacAuth | OAuth2Auth, Field(discriminator="type")]


class HttpRequest(StrictModel):
    """An HTTP request. All strings may contain `${placeholders}`, except the host and port of the URL."""

    method: Method = "GET"
    urlTemplate: Text = Field(examples=["https://api.example.com/cities/${city}"])
    query: dict[str, JsonValue] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    body: JsonValue = None
    auth: Auth | None = None
    timeoutMS: int | None = Field(None, ge=1, le=86_400_000)


class HttpResponse(StrictModel):
    """How the response is interpreted."""

    successCodes: list[Annotated[int, Field(ge=100, le=599)]] = Field(
        default_factory=list, description="Status codes that mean success. Empty: 200 to 299."
    )
    errorMode: Literal["fail", "value"] = Field(
        "fail",
        description="Handling of other status codes. `fail`: error. `value`: return status and body.",
    )
    events: Literal["list", "text"] | None = Field(
        None,
        description="Value of a `text/event-stream`, whose events are also passed on as progress while they "
        "arrive. `list`: the events, with `data` and, if sent, `event` and `id`. `text`: their data, joined. "
        "Null: the body as it is.",
    )


class HttpImpl(StrictModel):
    """One request, or several in sequence. Later requests may use `${steps.0.field}` of earlier responses."""

    request: HttpRequest | None = None
    requests: list[HttpRequest] = Field(default_factory=list, max_length=20)
    response: HttpResponse = HttpResponse()
    credentials: Literal["workspace", "person", "either"] = Field(
        "either",
        description="Whose secrets calls of a hosted OneTool use: those of the `workspace`, of the calling "
        "`person`, or `either`: those of the person, in place of all that the workspace has for the tool or "
        "of none of them.",
    )

    @model_validator(mode="after")
    def _check_request_or_requests(self) -> "HttpImpl":
        if (self.request is None) == (not self.requests):
            raise ValueError("specify exactly one of request and requests")
        return self


class PythonImpl(StrictModel):
    """A registered Python function."""

    func: Name = Field(examples=["time.now"])


class StepValue(StrictModel):
    """A fixed `value`, or the path of a value: `args.city` or `weather.items[0].name`."""

    value: JsonValue = None
    path: str | None = Field(None, alias="from", max_length=1_000, examples=["args.city"])

    @model_validator(mode="after")
    def _check_value_or_path(self) -> "StepValue":
        if ("value" in self.model_fields_set) == (self.path is not None):
            raise ValueError("specify exactly one of value and from")
        return self


class StepCondition(StrictModel):
    """When a step runs. Missing values, null, empty texts, lists and objects are empty."""

    path: str = Field(alias="from", max_length=1_000, examples=["weather.alert"])
    check: Literal["present", "empty", "equals", "not_equals"] = Field(alias="is")
    value: JsonValue = None


class StepResult(StrictModel):
    """What a tool made of steps returns."""

    path: str = Field(alias="from", max_length=1_000, examples=["weather.items[0]"])


class CodeStep(StrictModel):
    """A call of a tool. Later steps use its result by its name; it is null if the step is skipped."""

    name: Name = Field(examples=["weather"])
    tool: Name = Field(examples=["web.fetch"])
    args: dict[Name, StepValue] = Field(default_factory=dict, max_length=100)
    when: StepCondition | None = None


Steps = Annotated[list[CodeStep], Field(max_length=50)]


class CodeImpl(StrictModel):
    """A program that calls tools, or the steps from which it is written."""

    program: str | None = Field(
        None,
        max_length=100_000,
        description="Python for the sandbox. The arguments are variables; the last line is the result.",
        examples=["web.fetch(url=url)"],
    )
    steps: Steps | None = None
    result: StepResult | None = Field(None, description="Only with steps. Default: the last step's result.")

    @model_validator(mode="after")
    def _check_program_or_steps(self) -> "CodeImpl":
        if self.program is None and self.steps is None:
            raise ValueError("specify program or steps")
        if self.result is not None and self.steps is None:
            raise ValueError("result is only for tools with steps")
        return self


class ToolLimits(StrictModel):
    """Limits of one tool. Omitted limits use the configured defaults."""

    timeoutMS: int | None = Field(None, ge=1, le=86_400_000)
    maxSentBytes: int | None = Field(None, ge=0)
    maxRespBytes: int | None = Field(None, ge=0)
    maxRetries: int | None = Field(None, ge=0, le=10)
    maxCallsPerMinute: int | None = Field(None, ge=1, le=1_000_000)


class ToolBody(StrictModel):
    """A tool version to create."""

    displayName: Name = ""
    description: Text = ""
    tags: list[Name] = Field(default_factory=list, max_length=50)
    isEnabled: bool = True
    type: Literal["python", "http", "code"]
    argSchema: dict[str, JsonValue] = Field(default={"type": "object", "properties": {}})
    outputSchema: dict[str, JsonValue] | None = None
    pythonImpl: PythonImpl | None = None
    httpImpl: HttpImpl | None = None
    codeImpl: CodeImpl | None = None
    limits: ToolLimits | None = None

    @model_validator(mode="after")
    def _check_impl_matches_type(self) -> "ToolBody":
        impls: dict[str, Any] = {"python": self.pythonImpl, "http": self.httpImpl, "code": self.codeImpl}
        others = [kind for kind, impl in impls.items() if kind != self.type and impl is not None]
        if impls[self.type] is None or others:
            other = others[0] if others else "http" if self.type == "python" else "python"
            raise ValueError(f"a tool of type {self.type!r} requires {self.type}Impl and not {other}Impl")
        return self


KNOWN_FIELDS = frozenset(
    {
        field.alias or name
        for schema in (
            BundleBody,
            ToolBody,
            HttpImpl,
            HttpRequest,
            HttpResponse,
            PythonImpl,
            CodeImpl,
            CodeStep,
            StepCondition,
            StepValue,
            ToolLimits,
            HmacAuth,
            OAuth2Auth,
        )
        for name, field in schema.model_fields.items()
    }
)
"""All field names, for suggestions on a misspelled one."""
PLAIN_PHRASES = {
    "Input should be a valid dictionary or object to extract fields from": "should be a JSON object",
    "Input should be a valid dictionary": "should be a JSON object",
    "Input should be a valid boolean": "should be true or false",
    "Input should be a valid": "should be a",
    "Input should be": "should be",
}
"""Phrases of pydantic and their replacements without Python terms."""
MAX_ERRORS = 5
"""Errors in one message."""


def field_errors(errors: Iterable[Mapping[str, Any]]) -> list[FieldError]:
    """Convert errors of pydantic: the field, the problem and the rejected value."""
    return [FieldError(".".join(str(part) for part in error["loc"]), _describe(error)) for error in errors]


def join_errors(errors: Sequence[FieldError]) -> str:
    """Format errors in one line, each with its path."""
    messages = [f"{error.path or 'the body'}: {error.message}" for error in errors]
    more = f" ({len(messages) - MAX_ERRORS} more)" if len(messages) > MAX_ERRORS else ""
    return "; ".join(messages[:MAX_ERRORS]) + more


def _describe(error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        name = str(error["loc"][-1])
        is_misplaced = name in KNOWN_FIELDS
        return "not allowed here." if is_misplaced else f"unknown field.{did_you_mean(name, KNOWN_FIELDS)}"
    if error["type"] == "missing":
        return "is missing"
    message = str(error["msg"]).removeprefix("Value error, ")
    for phrase, plain in PLAIN_PHRASES.items():
        message = message.replace(phrase, plain)
    value = error.get("input")
    suffix = f", not {value!r:.80}" if isinstance(value, str | int | float | None) else ""
    return f"{message[:1].lower()}{message[1:]}{suffix}"
