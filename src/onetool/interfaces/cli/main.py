"""The `onetool` command. Subcommands are imported only when they are used."""

import os
import sys
from importlib import import_module
from typing import Any

import click

from onetool.version import __version__

from .groups import CommandGroup

COMMANDS = {
    "tools": ("tools:tools", "List, describe, call, save and export tools."),
    "call": ("call:call", "Call a tool."),
    "run": ("run:run", "Run code that calls tools."),
    "ask": ("ask:ask", "Ask a model that can call tools."),
    "sessions": ("sessions:sessions", "List, show and delete stored conversations."),
    "auth": ("auth:auth", "Manage API keys and the default chat model provider."),
    "secrets": ("secrets:secrets", "List, set and delete secrets."),
    "search": ("search:search", "Search for tools."),
    "resources": ("contents:resources", "List the resources of MCP servers."),
    "read": ("contents:read", "Read a resource of an MCP server."),
    "prompts": ("contents:prompts", "List the prompts of MCP servers."),
    "prompt": ("contents:prompt", "Print the messages of a prompt."),
    "import": ("import_command:import_command", "Import what others share: APIs, servers, packs, setups."),
    "export": ("export:export", "Export your setup to share it."),
    "bundles": ("bundles:bundles", "Manage bundles of stored tools."),
    "help": ("introspection:show_help", "Show help for a tool, a pack or a snippet, or search for one."),
    "packs": ("introspection:packs", "List packs."),
    "snippets": ("introspection:snippets", "List snippets."),
    "check": ("introspection:check", "Check tool requirements: programs, libraries and secrets."),
    "why": ("access:why", "Explain who may call a tool, and which rule decides."),
    "allow": ("access:allow", "Let tools run without approval."),
    "deny": ("access:deny", "Let tools never run."),
    "profiles": ("profiles:profiles", "List profiles, and show their tokens."),
    "stats": ("introspection:stats", "Show usage statistics."),
    "activity": ("activity:activity", "List and show the calls of all interfaces."),
    "mcp": ("mcp:mcp", "Serve tools to an MCP client over stdio."),
    "up": ("background:up", "Run OneTool in the background, shared by all clients."),
    "down": ("background:down", "Stop OneTool in the background."),
    "status": ("background:status", "Show OneTool in the background, its clients and servers."),
    "servers": ("servers:servers", "List, add and test MCP servers."),
    "serve": ("serve:serve", "Serve the REST API and the web UI."),
    "worker": ("worker:worker", "Run the jobs and the clean-up of a hosted OneTool."),
    "migrate": ("admin:migrate", "Create or update the database of a hosted OneTool."),
    "admin": ("admin:admin", "Manage the workspaces and API keys of a hosted OneTool."),
    "scaffold": ("scaffold:scaffold", "Create a pack from a template."),
    "doctor": ("doctor:doctor", "Find problems and suggest fixes."),
    "upgrade": ("upgrade:upgrade", "Show how to upgrade OneTool."),
    "init": ("init:init", "Create the settings files."),
    "config": ("config:config", "Show and validate settings."),
    "completion": ("completion:completion", "Print a shell completion script."),
    "trust": ("trust:trust", "Trust the settings and packs of the current project."),
}
EXAMPLES = """
\b
Examples:
  onetool init
  onetool tools list
  onetool call fs.list_dir path=.
  onetool run 'time.now()["iso"]'
  onetool help read a file
"""


class LazyGroup(CommandGroup):
    """A group that lists its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names in the order of the help text."""
        return list(COMMANDS)

    def load_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import and return a command."""
        module, _, attribute = COMMANDS[name][0].partition(":")
        command: click.Command = getattr(import_module(f"{__package__}.{module}"), attribute)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete commands and options without importing any command."""
        from click.shell_completion import CompletionItem

        matches = [(name, text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=text) for name, text in matches), *options]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
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
    help="Minimum level of log messages on stderr.  [default: the log.level setting]",
)
@click.pass_context
def cli(ctx: click.Context, log_level: str | None) -> None:
    """One place for every tool a language model uses."""
    ctx.obj = {"log_level": log_level}


def main() -> None:
    """Run the command line. Exit codes: 0 success, 1 failure, 2 usage error."""
    try:
        cli.main(prog_name="onetool", standalone_mode=True)
    except SystemExit as error:
        _exit(error.code if isinstance(error.code, int) else 1)
    except (OSError, UnicodeDecodeError) as error:  # click itself handles broken pipes
        click.echo(f"Error: {_error_message(error)}", err=True)
        _exit(1)


def _error_message(error: OSError | UnicodeDecodeError) -> str:
    """Format a system error as one line, without the bytes that caused it: they may be a secret."""
    if isinstance(error, UnicodeDecodeError):
        return f"not {error.encoding.upper()} text (byte {error.start})."
    filename = f"{os.fsdecode(error.filename)!r}: " if isinstance(error.filename, str | bytes) else ""
    return f"{filename}{error.strerror or str(error) or type(error).__name__}."


def _exit(status: int) -> None:
    """Exit without waiting for threads of abandoned tools."""
    command = sys.modules.get("onetool.interfaces.cli.command")
    for stream in (sys.stdout, sys.stderr, *([command.stdout()] if command else [])):
        try:
            stream.flush()
        except OSError:  # the reader has closed the pipe
            status = status or 1
    os._exit(status)
