"""The reference page of the command line."""

import re
from collections.abc import Iterator

import click

from onetool.interfaces.cli.main import cli

from .markdown import GENERATED, code, page, table

ABOUT = f"""All commands support `--help`. Exit codes: 0 for success, 1 for failure, 2 for a usage error.
If stdout is not a terminal, the output is JSON, as with `--json`. `run` and `config show` print JSON
only with `--json`. {GENERATED}"""
ROOT = {"help_option_names": ["-h", "--help"]}


def pages() -> dict[str, str]:
    """Return the page by its path."""
    return {"reference/cli.md": page("Command line", ABOUT, *commands(cli, "onetool", None))}


def commands(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    """Yield one section for each command, groups before their commands."""
    context = click.Context(command, parent=parent, info_name=name, **ROOT)  # type: ignore[arg-type]
    yield section(command, context)
    if isinstance(command, click.Group):
        for subname in command.list_commands(context):
            subcommand = command.get_command(context, subname)
            if subcommand is not None and not subcommand.hidden:
                yield from commands(subcommand, subname, context)


def section(command: click.Command, context: click.Context) -> str:
    """Return the description, usage, options and examples of a command."""
    path = context.command_path
    depth = "##" if path.count(" ") < 2 else "###"
    paragraphs, examples = _parts(command)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    parts = [f"{depth} {path}", *paragraphs, f"    {usage}", options(command)]
    if examples:
        parts.append("```text\n" + examples + "\n```")
    return "\n\n".join(part for part in parts if part)


def options(command: click.Command) -> str:
    """Return the options as a table, or an empty string if there are none."""
    visible = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    rows = [(_names(option), code(_default(option)), _meaning(option)) for option in visible]
    return table(("option", "default", "description"), rows) if rows else ""


def _names(option: click.Option) -> str:
    value = "" if option.is_flag or isinstance(option.type, click.Choice) else f" {_metavar(option)}"
    return code(", ".join(option.opts) + value)


def _metavar(option: click.Option) -> str:
    return option.metavar or option.type.name.upper()


def _default(option: click.Option) -> str:
    value = option.default
    return str(value) if isinstance(value, str | int | float) and not option.is_flag else ""


def _meaning(option: click.Option) -> str:
    text = re.sub(r"\s*\[default: .*\]$", _described_default, option.help or "")
    choices = option.type.choices if isinstance(option.type, click.Choice) else ()
    return " ".join([text, *([f"One of {', '.join(map(code, choices))}."] if choices else [])])


def _described_default(match: re.Match[str]) -> str:
    """Preserve a default that is a description instead of a value."""
    words = match[0].strip()[len("[default: ") : -1]
    return f" Default: {words}." if " " in words else ""


def _parts(command: click.Command) -> tuple[list[str], str]:
    """Return the paragraphs of a command's help and its examples."""
    texts = [text for text in (command.help, command.epilog) if text]
    blocks = [block for text in texts for block in re.split(r"\n\s*\n|\n(?=\x08)", text.strip("\n"))]
    paragraphs, examples = [], ""
    for block in blocks:
        lines = [line for line in block.replace("\x08", "").splitlines() if line.strip()]
        if lines and lines[0].strip() in ("Example:", "Examples:"):
            examples = _dedent(lines[1:])
        elif "\x08" in block:
            paragraphs.append("```text\n" + _dedent(lines) + "\n```")
        elif lines:
            paragraphs.append(" ".join(line.strip() for line in lines))
    return paragraphs, examples


def _dedent(lines: list[str]) -> str:
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    return "\n".join(line[indent:].rstrip() for line in lines)
