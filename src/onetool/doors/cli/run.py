"""`onetool run`: code that calls tools."""

import os
import sys
from pathlib import Path

import click

from onetool.domain.caller import Caller, grant
from onetool.runtime import CodeResult, Runtime

from .session import answers, fit, json_option, with_runtime, write_json
from .tools import EXIT, allow_option


@click.command()
@click.argument("code", required=False)
@click.option("-f", "--file", "file", type=click.Path(exists=True, dir_okay=False), help="Run a file.")
@allow_option
@json_option
def run(code: str | None, file: str | None, allow: frozenset[str] | None, as_json: bool) -> None:
    """Run CODE, Python in which every pack is there: its last line is the result.

    CODE may be `-` for standard input. It runs in a sandbox without files, network or imports; all it can
    do is call tools. A large result is stored and summed up; `--json` shows all of it.

    \b
    Examples:
      onetool run 'time.now()["iso"]'
      onetool run '[f["path"] for f in fs.list_dir(path=".") if f["type"] == "file"]'
      onetool run -f report.py
    """
    text = _text(code, file)
    # A model that works through a shell has one session as long as that shell lives.
    session = os.environ.get("ONETOOL_SESSION") or f"shell-{os.getppid()}"
    caller = Caller(door="cli", session=session, allowed=allow, approve=grant)
    result, shown = with_runtime(lambda runtime: _run(runtime, text, caller))
    if as_json:
        write_json(result.to_json())
    elif result.error is not None:
        click.echo(fit(result.printed, answers()), nl=False, file=answers())
        click.echo(fit(f"Error: {result.error.message}", sys.stderr), err=True)
    elif shown:
        click.echo(fit(shown, answers()), file=answers())
    if result.error is not None:
        raise SystemExit(EXIT[result.error.reason])


async def _run(runtime: Runtime, code: str, caller: Caller) -> tuple[CodeResult, str]:
    result = await runtime.run(code, caller)
    return result, "" if result.error else await runtime.text_of(result)


def _text(code: str | None, file: str | None) -> str:
    if (code is None) == (file is None):
        raise click.UsageError("Give either CODE or --file. Example: onetool run 'time.now()'")
    if file is None and code != "-":
        return str(code)
    try:
        return Path(file).read_text(encoding="utf-8") if file else sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        name = repr(file) if file else "what came through standard input"
        raise click.ClickException(f"{name} is not UTF-8 text (byte {error.start}).") from None
