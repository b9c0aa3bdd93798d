"""`onetool ask`: ask a model that can call tools."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from onetool.conversation.conversation import AskRequest, ignore_event
from onetool.conversation.lifespan import open_conversation
from onetool.conversation.result import AskResult
from onetool.domain.calls.caller import Caller, ask_user
from onetool.domain.calls.effect import Effect
from onetool.domain.chat.transcript import InvalidSession
from onetool.domain.errors import SettingsError
from onetool.runtime.runtime import Runtime

from .call import allow_option
from .command import json_option, mask, print_json, stdout, use_json, with_runtime
from .completion import session_names
from .question_prompt import asked_on_terminal
from .start_progress import StartProgress

if TYPE_CHECKING:
    from .ask_view import AskView

LAST = "last"
WITH_TOOLS = "--with-tools"
BOOLEANS = ("true", "false")
VALUE_WORDS = (*BOOLEANS, "yes", "no", "on", "off", "1", "0")
"""Words after `--with-tools` that were meant as its value. All but true and false are usage errors."""
STOP_REASONS = {
    "length": "The response is incomplete: the model reached its output limit.",
    "refused": "The model refused to continue.",
    "calls": "The model requested tools that are not available.",
}


class FlagOrValueOption(click.Command):
    """A command whose `--with-tools` option is a flag unless a word such as `false` follows."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Expand the bare option to `--with-tools=true`, so that it does not consume the question."""
        end = args.index("--") if "--" in args else len(args)
        followers = [*args[1:end], ""]
        expanded = [
            f"{WITH_TOOLS}=true" if arg == WITH_TOOLS and follower.lower() not in VALUE_WORDS else arg
            for arg, follower in zip(args[:end], followers, strict=True)
        ]
        return super().parse_args(ctx, expanded + args[end:])


@click.command(cls=FlagOrValueOption)
@click.argument("words", nargs=-1, required=True, metavar="QUESTION")
@click.option("--provider", metavar="NAME", help="Model provider.  [default: see onetool auth status]")
@click.option(
    "--model", metavar="NAME", help="Model to use. For the scripted provider, the path to a script file."
)
@click.option(
    "--session",
    metavar="NAME",
    shell_complete=session_names,
    help='Session to continue or create. Use "last" for the most recent one.',
)
@click.option(
    "--new-session", is_flag=True, help="Start a new session. With --session: fail if it already exists."
)
@click.option(
    WITH_TOOLS,
    type=click.Choice(BOOLEANS, case_sensitive=False),
    default="true",
    show_default=True,
    help="Offer tools to the model.",
)
@click.option(
    "--tools",
    "toolset",
    type=click.Choice(["auto", "all", "search"]),
    default="auto",
    show_default=True,
    help="Offer every tool (all), or find_tools and run (search). auto uses all if there are few tools.",
)
@allow_option
@click.option("--yes", is_flag=True, help="Run tools that require approval without asking.")
@click.option("-v", "--verbose", is_flag=True, help="Show the results of calls.")
@json_option
def ask(words: tuple[str, ...], as_json: bool, verbose: bool, **options: Any) -> None:
    """Ask a model a QUESTION. The model can call tools. `-` reads the question from stdin.

    \b
    Examples:
      onetool ask "What changed in README.md this week?"
      onetool ask --session work "And who wrote it?"
      onetool ask --provider scripted "What time is it?"
      git diff | onetool ask - --tool-allow fs.read_file
    """
    text = sys.stdin.read() if words == ("-",) else " ".join(words)
    if not text.strip():
        raise click.UsageError("The question is empty.")
    is_json = use_json(as_json)
    progress = StartProgress()
    view = None if is_json else _create_view(verbose, progress)

    async def run(runtime: Runtime) -> AskResult:
        default_effect = Effect.ALLOW if options["yes"] else Effect.ASK
        caller = Caller(interface="ask", default_effect=default_effect, approve=ask_user)
        quiet = (view or progress).paused
        async with asked_on_terminal(runtime, caller, "ask", {"text": text}, quiet) as caller:
            return await _ask(runtime, text, options, view, caller)

    result = with_runtime(run, progress=progress)
    if is_json:
        print_json(result.to_json())
    elif result.failure is None:
        _print_summary(result)
    if result.failure is not None:
        click.echo(f"Error: {mask(str(result.failure))}", err=True)
        click.echo(
            f"The session is stored. Continue with: onetool ask --session {result.session} ...", err=True
        )
        raise SystemExit(1)


async def _ask(
    runtime: Runtime,
    text: str,
    options: Mapping[str, Any],
    view: "AskView | None",
    caller: Caller,
) -> AskResult:
    await _warn_about_unknown_tools(runtime, options["allow"])
    request = AskRequest(
        text=text,
        with_tools=options["with_tools"] == "true",
        allowed=options["allow"],
        choice=options["toolset"],
        default_effect=caller.default_effect,
        approve=caller.approve,
        asker=caller.asker,
        on_step=caller.on_step,
        on_event=view.on_event if view else ignore_event,
    )
    try:
        session = await _session_id(runtime, options["session"], options["new_session"])
        provider, model = options["provider"], options["model"]
        async with open_conversation(runtime, session, provider, model, script=model) as conversation:
            return await conversation.ask(request)
    except (SettingsError, InvalidSession) as error:
        raise click.UsageError(str(error)) from None


async def _session_id(runtime: Runtime, name: str | None, is_new: bool) -> str | None:
    """Return the id of the session to use, or None for a new one with a generated id.

    Raises:
        InvalidSession: There is no last session, or a session that must be new exists.
    """
    if name is None:
        return None
    if name == LAST:
        if is_new:
            raise InvalidSession("--session last and --new-session exclude each other. Omit one of them.")
        page = await runtime.sessions.page(None, 1)
        if not page.items:
            raise InvalidSession("There is no session yet. Omit --session to start one.")
        return page.items[0].id
    records = await runtime.sessions.read(name)
    if is_new and records:
        raise InvalidSession(f"Session {name!r} already exists. Omit --new-session to continue it.")
    return name


async def _warn_about_unknown_tools(runtime: Runtime, allowed: frozenset[str] | None) -> None:
    for name in sorted(allowed or ()):
        if await runtime.state.catalog.find(name) is None:
            click.echo(f"Warning: --tool-allow lists unknown tool {name!r}.", err=True)


def _create_view(verbose: bool, progress: StartProgress) -> "AskView":
    from .ask_view import AskView

    return AskView(verbose, progress)


def _print_summary(result: AskResult) -> None:
    about = "about " if result.is_estimated else ""
    cost = f", {result.cost:.4f} $" if result.cost is not None else ""
    tokens = f"{about}{result.tokens.input} + {result.tokens.output} tokens"
    click.echo(file=stdout())
    if result.stop != "end":
        click.secho(STOP_REASONS[result.stop], fg="yellow", err=True)
    click.secho(
        f"{result.provider} {result.model} · {tokens}{cost} · session {result.session}",
        dim=True,
        err=True,
    )
