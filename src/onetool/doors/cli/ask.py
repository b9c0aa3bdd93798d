"""`onetool ask`: a model that uses the tools."""

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from onetool.conversation.answer import Answer
from onetool.conversation.conversation import Question, ignore
from onetool.conversation.opening import open_conversation
from onetool.domain.caller import Approve, grant, refuse
from onetool.domain.errors import SettingsError
from onetool.domain.transcript import BadSession
from onetool.runtime import Runtime

from .completion import session_names
from .session import answers, json_option, masked, wants_json, with_runtime, write_json
from .tools import allow_option

if TYPE_CHECKING:
    from .ask_screen import AskScreen

LAST = "last"
SWITCH = "--with-tools"
STOPPED = {
    "length": "The answer was cut off: the model may write no more at once.",
    "refused": "The model would not go on.",
    "calls": "The model wanted to call tools that it has not.",
}


class BareSwitch(click.Command):
    """A command whose switch may stand alone, in front of the question too: only `=` gives it a value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Say what a bare switch means."""
        return super().parse_args(ctx, [f"{SWITCH}=true" if word == SWITCH else word for word in args])


@click.command(cls=BareSwitch)
@click.argument("words", nargs=-1, required=True, metavar="QUESTION")
@click.option("--provider", metavar="NAME", help="Which chat model.  [default: see onetool auth status]")
@click.option("--model", metavar="NAME", help="Which of its models; for scripted the script's file.")
@click.option(
    "--session",
    metavar="NAME",
    shell_complete=session_names,
    help="Go on with a session, or begin one of this name; or: last.",
)
@click.option(
    "--new-session", is_flag=True, help="Begin a session; with --session, one that is not there yet."
)
@click.option(
    SWITCH, type=click.Choice(["true", "false"]), default="true", show_default=True, help="Offer tools."
)
@click.option(
    "--tools",
    "choice",
    type=click.Choice(["auto", "all", "search"]),
    default="auto",
    show_default=True,
    help="Offer every tool by itself, or find_tools and run.",
)
@allow_option
@click.option("--yes", is_flag=True, help="Let tools change things without asking.")
@click.option("-v", "--verbose", is_flag=True, help="Show arguments and results of calls.")
@json_option
def ask(words: tuple[str, ...], as_json: bool, verbose: bool, **options: Any) -> None:
    """Ask a model a QUESTION that it may answer with the help of tools; - reads it from stdin.

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
    is_json = wants_json(as_json)
    screen = None if is_json else _screen(verbose)

    async def run(runtime: Runtime) -> Answer:
        return await _ask(runtime, text, options, screen)

    answer = with_runtime(run)
    if is_json:
        write_json(answer.to_json())
    elif answer.failure is None:
        _sum_up(answer)
    if answer.failure is not None:
        click.echo(f"Error: {masked(str(answer.failure))}", err=True)
        click.echo(f"What was said so far is kept: onetool ask --session {answer.session} ...", err=True)
        raise SystemExit(1)


async def _ask(runtime: Runtime, text: str, options: Mapping[str, Any], screen: "AskScreen | None") -> Answer:
    await _warn(runtime, options["allow"])
    question = Question(
        text=text,
        with_tools=options["with_tools"] == "true",
        allowed=options["allow"],
        choice=options["choice"],
        approve=grant if options["yes"] else _approval(runtime, screen),
        tell=screen.tell if screen else ignore,
    )
    try:
        session = await _session(runtime, options["session"], options["new_session"])
        provider, model = options["provider"], options["model"]
        async with open_conversation(runtime, session, provider, model, script=model) as talk:
            return await talk.ask(question)
    except (SettingsError, BadSession) as error:
        raise click.UsageError(str(error)) from None


async def _session(runtime: Runtime, wanted: str | None, is_new: bool) -> str | None:
    """The name of the session: one that is there, the last one, or None for a new one."""
    if wanted is None:
        return None
    if wanted == LAST:
        if is_new:
            raise BadSession("The last session is not a new one: leave out --session or --new-session.")
        found = await runtime.threads.run(runtime.sessions.page, None, 1)
        if not found.items:
            raise BadSession("There is no session yet. Leave out --session to begin one.")
        return found.items[0].id
    known = await runtime.threads.run(runtime.sessions.read, wanted)
    if is_new and known:
        raise BadSession(f"There is a session {wanted!r} already. Leave out --new-session to go on with it.")
    return wanted


async def _warn(runtime: Runtime, allowed: frozenset[str] | None) -> None:
    for name in sorted(allowed or ()):
        if await runtime.catalog.find(name) is None:
            click.echo(f"Warning: there is no tool {name!r}; the list names it.", err=True)


def _approval(runtime: Runtime, screen: "AskScreen | None") -> Approve:
    """Ask whoever sits at the terminal; without one nobody can say yes."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return refuse
    from .prompts import Prompts

    return Prompts(runtime.threads, screen.quiet if screen else nullcontext).confirm


def _screen(verbose: bool) -> "AskScreen":
    from .ask_screen import AskScreen

    return AskScreen(verbose)


def _sum_up(answer: Answer) -> None:
    about = "about " if answer.is_estimated else ""
    cost = f", {answer.cost:.4f} $" if answer.cost is not None else ""
    tokens = f"{about}{answer.tokens.input} + {answer.tokens.output} tokens"
    click.echo(file=answers())
    if answer.stop != "end":
        click.secho(STOPPED[answer.stop], fg="yellow", err=True)
    click.secho(
        f"{answer.provider} {answer.model} · {tokens}{cost} · session {answer.session}",
        dim=True,
        err=True,
    )
