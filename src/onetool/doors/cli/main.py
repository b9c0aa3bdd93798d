"""`onetool` on the command line. A sub-command is imported only when it is called."""

import os
import sys
from importlib import import_module
from typing import Any

import click

from onetool.version import __version__

COMMANDS = {
    "tools": ("onetool.doors.cli.tools:tools", "List, describe, call and export tools."),
    "run": ("onetool.doors.cli.run:run", "Run code that calls tools."),
    "ask": ("onetool.doors.cli.ask:ask", "Ask a model that uses the tools."),
    "sessions": ("onetool.doors.cli.sessions:sessions", "List and show conversations."),
    "auth": ("onetool.doors.cli.auth:auth", "Give chat models their keys, and choose one."),
    "search": ("onetool.doors.cli.search:search", "Search tools by words."),
    "bundles": ("onetool.doors.cli.bundles:bundles", "Keep tools in bundles: list, switch, export, import."),
    "help": ("onetool.doors.cli.ot:show_help", "Explain a tool, a pack, a snippet, or search for one."),
    "packs": ("onetool.doors.cli.ot:packs", "List the packs."),
    "snippets": ("onetool.doors.cli.ot:snippets", "List the snippets."),
    "check": ("onetool.doors.cli.ot:check", "Check what tools need: programs, libraries, secrets."),
    "stats": ("onetool.doors.cli.ot:stats", "Show how often tools were called, and what was saved."),
    "mcp": ("onetool.doors.cli.mcp:mcp", "Serve an MCP client over stdin and stdout."),
    "servers": ("onetool.doors.cli.servers:servers", "Put other MCP servers behind OneTool."),
    "serve": ("onetool.doors.cli.serve:serve", "Serve tools over REST."),
    "scaffold": ("onetool.doors.cli.scaffold:scaffold", "Write the beginning of a pack."),
    "doctor": ("onetool.doors.cli.doctor:doctor", "Try every part, and say what would mend it."),
    "init": ("onetool.doors.cli.init:init", "Write a first configuration."),
    "config": ("onetool.doors.cli.config:config", "Show and check the settings."),
    "completion": ("onetool.doors.cli.completion:completion", "Let the shell complete commands and names."),
    "trust": ("onetool.doors.cli.trust:trust", "Let this project's settings and packs be used."),
}
EXAMPLES = """
\b
Examples:
  onetool init
  onetool tools list
  onetool tools invoke tools.echo --args '{"message": "hi"}'
  onetool run 'time.now()["iso"]'
  onetool help read a file
"""


class LazyGroup(click.Group):
    """Knows its commands by name and help; loads one when it is wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which help shows them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command."""
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Name the nearest command when there is none of this name."""
        is_typed = bool(args) and not ctx.resilient_parsing  # not half a word that a shell completes
        if is_typed and not args[0].startswith("-") and args[0] not in COMMANDS:
            from onetool.domain.nearest import did_you_mean

            ctx.fail(f"No such command {args[0]!r}.{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete commands without importing any, and options."""
        from click.shell_completion import CompletionItem

        begun = [(name, text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=text) for name, text in begun), *options]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="onetool %(version)s")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error", "critical"]),
    help="What goes to stderr.  [default: log.level of the settings]",
)
@click.pass_context
def cli(ctx: click.Context, log_level: str | None) -> None:
    """One place for every tool a language model uses."""
    ctx.obj = {"log_level": log_level}


def main() -> None:
    """Run the command line; exit with 0, 1 when what was asked for failed, or 2 when it was asked wrongly."""
    try:
        cli.main(prog_name="onetool", standalone_mode=True)
    except SystemExit as end:
        _leave(end.code if isinstance(end.code, int) else 1)
    except (OSError, UnicodeDecodeError) as error:  # not a broken pipe: click has ended on that
        click.echo(f"Error: {_sentence(error)}", err=True)
        _leave(1)


def _sentence(error: OSError | UnicodeDecodeError) -> str:
    """What the system has refused, in one line, without the bytes that it was about."""
    if isinstance(error, UnicodeDecodeError):
        return f"not {error.encoding.upper()} text (byte {error.start})."
    where = f"{os.fsdecode(error.filename)!r}: " if isinstance(error.filename, str | bytes) else ""
    return f"{where}{error.strerror or str(error) or type(error).__name__}."


def _leave(status: int) -> None:
    """End the process without waiting for threads that a tool has left behind."""
    session = sys.modules.get("onetool.doors.cli.session")
    for stream in (sys.stdout, sys.stderr, *([session.answers()] if session else [])):
        try:
            stream.flush()
        except OSError:  # the reader is gone
            status = status or 1
    os._exit(status)
