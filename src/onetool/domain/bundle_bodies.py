"""What may be written about a bundle and a tool: the shapes of the API, of archives and of imports."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from .nearest import did_you_mean

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
Text = Annotated[str, Field(max_length=10_000)]
Name = Annotated[str, Field(max_length=200)]


class Shape(BaseModel):
    """An unknown field is an error, and so is a text where a number belongs."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=False)


class BundleBody(Shape):
    """A bundle as a client writes it."""

    slug: str = Field(description="Letters, digits and dashes.", examples=["weather"])
    displayName: Name = Field("", description="For people.", examples=["Weather"])
    description: Text = ""
    isEnabled: bool = True


class Switch(Shape):
    """The one thing of a stored tool that changes."""

    isEnabled: bool


class Bearer(Shape):
    """`Authorization: Bearer <token>`."""

    type: Literal["bearer"]
    token: Text = Field(examples=["${API_TOKEN}"])


class Basic(Shape):
    """`Authorization: Basic <...>`."""

    type: Literal["basic"]
    username: Text
    password: Text


class ApiKey(Shape):
    """A key in a header or in the query."""

    type: Literal["apiKey"]
    location: Literal["header", "query"] = Field("header", alias="in")
    name: Name
    value: Text


class Hmac(Shape):
    """A signature of the request, made with a secret."""

    type: Literal["hmac"]
    secret: Text
    algorithm: Literal["sha256", "sha512"] = "sha256"
    encoding: Literal["hex", "base64"] = "hex"
    header: Name = "X-Signature"
    prefix: Name = ""
    timestampHeader: Name = Field(
        "", description="Header that carries the seconds since the epoch; empty for none."
    )
    payload: Text = Field(
        "${method}\n${path}\n${query}\n${timestamp}\n${body}", description="What is signed."
    )


class OAuth2(Shape):
    """A token that is fetched, kept, and renewed when it is over."""

    type: Literal["oauth2"]
    grant: Literal["client_credentials", "refresh_token"] = "client_credentials"
    tokenUrl: Text
    clientId: Text = ""
    clientSecret: Text = ""
    refreshToken: Text = ""
    scope: Text = ""


Auth = Annotated[Bearer | Basic | ApiKey | Hmac | OAuth2, Field(discriminator="type")]


class HttpRequest(Shape):
    """One request; every text may hold `${placeholders}`, save the host."""

    method: Method = "GET"
    urlTemplate: Text = Field(examples=["https://api.example.com/cities/${city}"])
    query: dict[str, JsonValue] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    body: JsonValue = None
    auth: Auth | None = None
    timeoutMS: int | None = Field(None, ge=1, le=86_400_000)


class HttpResponse(Shape):
    """How an answer is taken."""

    successCodes: list[Annotated[int, Field(ge=100, le=599)]] = Field(
        default_factory=list, description="Statuses that are no failure; empty: 200 to 299."
    )
    errorMode: Literal["fail", "value"] = Field(
        "fail", description="`fail`: another status is an error. `value`: it is a value with status and body."
    )


class HttpImpl(Shape):
    """One request, or several in order: later ones may use `${steps.0.field}` of earlier answers."""

    request: HttpRequest | None = None
    requests: list[HttpRequest] = Field(default_factory=list, max_length=20)
    response: HttpResponse = HttpResponse()

    @model_validator(mode="after")
    def _one_of_both(self) -> "HttpImpl":
        if (self.request is None) == (not self.requests):
            raise ValueError("give either request or requests")
        return self


class PythonImpl(Shape):
    """A function that is registered here."""

    func: Name = Field(examples=["time.now"])


class Limits(Shape):
    """Bounds of one tool; what is not given is the operator's default."""

    timeoutMS: int | None = Field(None, ge=1, le=86_400_000)
    maxSentBytes: int | None = Field(None, ge=0)
    maxRespBytes: int | None = Field(None, ge=0)
    maxRetries: int | None = Field(None, ge=0, le=10)
    maxCallsPerMinute: int | None = Field(None, ge=1, le=1_000_000)


class ToolBody(Shape):
    """A tool version as a client writes it."""

    displayName: Name = ""
    description: Text = ""
    tags: list[Name] = Field(default_factory=list, max_length=50)
    isEnabled: bool = True
    type: Literal["python", "http"]
    argSchema: dict[str, JsonValue] = Field(default={"type": "object", "properties": {}})
    outputSchema: dict[str, JsonValue] | None = None
    pythonImpl: PythonImpl | None = None
    httpImpl: HttpImpl | None = None
    limits: Limits | None = None

    @model_validator(mode="after")
    def _implementation_of_its_type(self) -> "ToolBody":
        given: dict[str, Any] = {"python": self.pythonImpl, "http": self.httpImpl}
        other = "http" if self.type == "python" else "python"
        if given[self.type] is None or given[other] is not None:
            raise ValueError(f"a tool of type {self.type!r} has {self.type}Impl, and only that")
        return self


KNOWN = frozenset(
    {
        field.alias or name
        for shape in (
            BundleBody,
            ToolBody,
            HttpImpl,
            HttpRequest,
            HttpResponse,
            PythonImpl,
            Limits,
            Hmac,
            OAuth2,
        )
        for name, field in shape.model_fields.items()
    }
)
"""Every field that there is, for whoever has misspelt one."""
PLAINER = {
    "Input should be a valid dictionary or object to extract fields from": "should be a JSON object",
    "Input should be a valid dictionary": "should be a JSON object",
    "Input should be a valid boolean": "should be true or false",
    "Input should be a valid": "should be a",
    "Input should be": "should be",
}
"""What pydantic says, in words that need no Python."""
MANY = 5
"""How many mistakes are told at once."""


def tell_mistakes(errors: Iterable[Mapping[str, Any]]) -> str:
    """Say what pydantic found wrong: where, what it holds, what would be right."""
    problems = [_mistake(error) for error in errors]
    more = f" ({len(problems) - MANY} more)" if len(problems) > MANY else ""
    return "; ".join(problems[:MANY]) + more


def _mistake(error: Mapping[str, Any]) -> str:
    path = ".".join(str(part) for part in error["loc"]) or "the body"
    if error["type"] == "extra_forbidden":
        name = str(error["loc"][-1])
        wrong = "does not belong here." if name in KNOWN else f"unknown field.{did_you_mean(name, KNOWN)}"
        return f"{path}: {wrong}"
    if error["type"] == "missing":
        return f"{path}: is missing"
    message = str(error["msg"]).removeprefix("Value error, ")
    for said, plain in PLAINER.items():
        message = message.replace(said, plain)
    held = error.get("input")
    shown = f", not {held!r:.80}" if isinstance(held, str | int | float | None) else ""
    return f"{path}: {message[:1].lower()}{message[1:]}{shown}"
