"""Tools and a prompt of the everything server that ask the client in rounds: protocol 2026-07-28."""

from collections.abc import Awaitable, Callable

import mcp_types as types
from everything_tools import NO_ARGS, Args, Context, Tools, text
from mcp import MCPError
from mcp_types import CLIENT_CAPABILITIES_META_KEY

Ask = Callable[[Context, Args], Awaitable[Args]]


def declared(context: Context) -> Args:
    """Return the capabilities that the client declares with this request."""
    meta = (context.params or {}).get("_meta") or {}
    return meta.get(CLIENT_CAPABILITIES_META_KEY) or {}


def require(context: Context, capabilities: Args) -> None:
    """Check that the client declares capabilities, such as `{"sampling": {}}`.

    Raises:
        MCPError: It does not.
    """
    found = declared(context)
    extensions = found.get("extensions") or {}
    if not (
        found.keys() >= capabilities.keys() and extensions.keys() >= capabilities.get("extensions", {}).keys()
    ):
        data = {"requiredCapabilities": capabilities}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "The client lacks a capability.", data)


def form(message: str, field: str, kind: str = "string") -> Args:
    """Return a request for one field from the user."""
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def prompt(message: str, max_tokens: int) -> Args:
    """Return a request for an answer of the client's model."""
    messages = [{"role": "user", "content": {"type": "text", "text": message}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": max_tokens}}


def ask(requests: Args, state: str = "") -> Args:
    """Return a result that asks the client."""
    sealed = {"requestState": state} if state else {}
    return {"resultType": "input_required", "inputRequests": requests} | sealed


def responses(context: Context) -> Args:
    """Return the responses of the client by the key of the request."""
    return (context.params or {}).get("inputResponses") or {}


ROOTS: Args = {"method": "roots/list", "params": {}}
NAME = form("What is your name?", "name")
CONFIRM = form("Please confirm", "ok", "boolean")
CONTEXT = form("What context should the prompt use?", "context")


def _asking(requests: Args, state: str = "") -> Ask:
    """Return a tool that asks until each request has a response and the state is back."""

    async def call(context: Context, args: Args) -> Args:
        given = responses(context)
        if not given.keys() >= requests.keys() or (context.params or {}).get("requestState", "") != state:
            return ask(requests, state)
        return text(f"{state} {[given[key] for key in requests]}".strip())

    return call


async def elicitation(context: Context, args: Args) -> Args:
    given = responses(context).get("user_name")
    if given is None:
        return ask({"user_name": NAME})
    return text(f"Hello, {(given.get('content') or {}).get('name')}!")


async def multi_round(context: Context, args: Args) -> Args:
    given, state = responses(context), (context.params or {}).get("requestState")
    if state == "asked for the color" and "step2" in given:
        return text(f"Your favorite color is {given['step2']['content']['color']}.")
    if state == "asked for the name" and "step1" in given:
        return ask({"step2": form("Step 2: What is your favorite color?", "color")}, "asked for the color")
    return ask({"step1": form("Step 1: What is your name?", "name")}, "asked for the name")


async def capabilities(context: Context, args: Args) -> Args:
    """Ask only for what the client declares."""
    requests = {"elicitation": NAME, "sampling": prompt("Generate a greeting", 50), "roots": ROOTS}
    return ask({name: requests[name] for name in requests if name in declared(context)}, "asked")


async def missing_capability(context: Context, args: Args) -> Args:
    require(context, {"sampling": {}})
    return text("The client supports sampling.")


async def get_prompt(context: Context) -> Args:
    """Return the messages of the prompt that asks for a context."""
    given = responses(context).get("user_context")
    if given is None:
        return ask({"user_context": CONTEXT})
    content = {"type": "text", "text": f"Use this context: {given['content']['context']}"}
    return {"messages": [{"role": "user", "content": content}]}


MULTIPLE = {"user_name": NAME, "greeting": prompt("Generate a greeting", 50), "client_roots": ROOTS}
PREFIX = "test_input_required_result_"
PROMPT = f"{PREFIX}prompt"
TOOLS: Tools = {
    f"{PREFIX}elicitation": (elicitation, "Ask the user", NO_ARGS),
    f"{PREFIX}sampling": (
        _asking({"capital_question": prompt("What is the capital of France?", 100)}),
        "Ask the client's model",
        NO_ARGS,
    ),
    f"{PREFIX}list_roots": (_asking({"client_roots": ROOTS}), "Ask for the roots", NO_ARGS),
    f"{PREFIX}request_state": (_asking({"confirm": CONFIRM}, "state-ok"), "Ask with a state", NO_ARGS),
    f"{PREFIX}multiple_inputs": (_asking(MULTIPLE, "asked"), "Ask for three inputs", NO_ARGS),
    f"{PREFIX}multi_round": (multi_round, "Ask twice", NO_ARGS),
    f"{PREFIX}tampered_state": (_asking({"confirm": CONFIRM}, "asked"), "Refuse a changed state", NO_ARGS),
    f"{PREFIX}capabilities": (capabilities, "Ask for what the client supports", NO_ARGS),
    "test_missing_capability": (missing_capability, "Require sampling", NO_ARGS),
    "test_streaming_elicitation": (elicitation, "Ask the user", NO_ARGS),
}
