"""The page of every command, from the commands themselves."""

import re
from collections.abc import Iterator

import click

from onetool.doors.cli.main import cli

from .markdown import MADE, code, page, table

ABOUT = f"""Every command knows `--help`. Exit codes: 0 it went well, 1 what was asked for failed, 2 it
was asked wrongly. An answer that does not go to a terminal is JSON, as with `--json`; of `run` and
`config show` only with `--json`. {MADE}"""
ROOT = {"help_option_names": ["-h", "--help"]}


def pages() -> dict[str, str]:
    """The page, by its place."""
    return {"reference/cli.md": page("Command line", ABOUT, *commands(cli, "onetool", None))}


def commands(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    """One section for each command, groups before what they hold."""
    context = click.Context(command, parent=parent, info_name=name, **ROOT)  # type: ignore[arg-type]
    yield section(command, context)
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None and not found.hidden:
                yield from commands(found, inner, context)


def section(command: click.Command, context: click.Context) -> str:
    """Usage, what it does, options, examples."""
    path = context.command_path
    depth = "##" if path.count(" ") < 2 else "###"
    told, examples = _parts(command)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    parts = [f"{depth} {path}", *told, f"    {usage}", options(command)]
    if examples:
        parts.append("```text\n" + examples + "\n```")
    return "\n\n".join(part for part in parts if part)


def options(command: click.Command) -> str:
    """The options as a table; nothing for a command without any."""
    shown = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    rows = [(_names(one), code(_default(one)), _meaning(one)) for one in shown]
    return table(("option", "default", "meaning"), rows) if rows else ""


def _names(option: click.Option) -> str:
    value = "" if option.is_flag or isinstance(option.type, click.Choice) else f" {_metavar(option)}"
    return code(", ".join(option.opts) + value)


def _metavar(option: click.Option) -> str:
    return option.metavar or option.type.name.upper()


def _default(option: click.Option) -> str:
    value = option.default
    return str(value) if isinstance(value, str | int | float) and not option.is_flag else ""


def _meaning(option: click.Option) -> str:
    said = re.sub(r"\s*\[default: .*\]$", _other_default, option.help or "")
    chosen = option.type.choices if isinstance(option.type, click.Choice) else ()
    return " ".join([said, *([f"One of {', '.join(map(code, chosen))}."] if chosen else [])])


def _other_default(found: re.Match[str]) -> str:
    """Keep a default that only words can say."""
    words = found[0].strip()[len("[default: ") : -1]
    return f" Else {words}." if " " in words else ""


def _parts(command: click.Command) -> tuple[list[str], str]:
    """What a command says of itself in paragraphs, and its examples."""
    texts = [text for text in (command.help, command.epilog) if text]
    blocks = [block for text in texts for block in re.split(r"\n\s*\n|\n(?=\x08)", text.strip("\n"))]
    told, examples = [], ""
    for block in blocks:
        lines = [line for line in block.replace("\x08", "").splitlines() if line.strip()]
        if lines and lines[0].strip() in ("Example:", "Examples:"):
            examples = _dedent(lines[1:])
        elif "\x08" in block:
            told.append("```text\n" + _dedent(lines) + "\n```")
        elif lines:
            told.append(" ".join(line.strip() for line in lines))
    return told, examples


def _dedent(lines: list[str]) -> str:
    least = min(len(line) - len(line.lstrip()) for line in lines)
    return "\n".join(line[least:].rstrip() for line in lines)
