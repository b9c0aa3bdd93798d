"""Tools of a pack that ask the user, for tests with a runtime in memory."""

import asyncio
from typing import Any

from onetool.domain.calls.caller import ApprovalHandler, Caller, never_approve
from onetool.domain.calls.effect import Effect
from onetool.domain.calls.question import Asker, Question
from onetool.domain.identity.principal import LOCAL, Principal
from onetool.domain.jobs.job import Job
from onetool.runtime.active_call import current_call
from onetool.runtime.runtime import Runtime
from onetool.sdk import Media, tool
from support.images import make_png

NAME_FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
IMAGE = make_png()
PAGE = "https://pages.example/sign-in?next=%2F"
FORM_AND_URL = Asker(capabilities={"elicitation": {"form": {}, "url": {}}})


async def ask_form(message: str, schema: dict[str, Any] | None = None) -> str:
    """Ask for a form, as a server does, and return what was answered."""
    caller = current_call().invocation.caller
    if "form" not in caller.asker.kinds:
        return "cannot ask"
    question = Question(kind="form", server="people", message=message, schema=schema or NAME_FORM)
    answer = await caller.ask(question)
    return str(answer.fields) if schema else str(answer.fields.get("name", answer.action))


async def ask_name() -> str:
    """Ask for a name."""
    return await ask_form("What is your name?")


async def ask_two() -> str:
    """Ask for two names, one after the other."""
    return f"{await ask_form('First name?')} {await ask_form('Last name?')}"


async def fill_in(schema: dict[str, Any]) -> str:
    """Ask for a form."""
    return await ask_form("Fill in.", schema)


async def open_page() -> str:
    """Ask the user to open a page."""
    caller = current_call().invocation.caller
    question = Question(kind="url", server="people", message="Sign in.", url=PAGE)
    return (await caller.ask(question)).action


async def draw() -> Media:
    """Ask for a name, and return an image."""
    await ask_form("What is your name?")
    return Media(data=IMAGE, mime_type="image/png")


class AskingTools:
    """The pack `demo`: its tools ask, wait until they are cancelled, or change something."""

    def __init__(self) -> None:
        self.started, self.cancelled, self.changed = asyncio.Event(), asyncio.Event(), 0
        tools = self

        async def wait() -> str:
            """Report progress, and wait forever."""
            current_call().invocation.caller.on_progress(1, 4, "a quarter")
            tools.started.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                tools.cancelled.set()
                raise
            return "never"

        @tool(read_only=False)
        def change(what: str) -> str:
            """Change something."""
            tools.changed += 1
            return f"changed {what}"

        self.packs = {"demo": [ask_name, ask_two, fill_in, open_page, draw, wait, change]}


async def start_job(
    runtime: Runtime,
    name: str,
    principal: Principal = LOCAL,
    args: dict[str, Any] | None = None,
    approve: ApprovalHandler | None = None,
) -> Job:
    """Start a call as a job. Its questions are answered through the job."""
    caller = Caller(
        interface="rest",
        principal=principal,
        asker=FORM_AND_URL,
        default_effect=Effect.ASK if approve else Effect.ALLOW,
        approve=approve or never_approve,
    )
    return await runtime.jobs.start(
        lambda own: runtime.call_tool(name, args or {}, own, "rest"), caller, name, ""
    )
