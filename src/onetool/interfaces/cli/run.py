"""`onetool run`: run code that calls tools."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.runtime.runtime import CodeResult, Runtime

from .call import EXIT_CODES, allow_option
from .code_input import read_code
from .command import json_option, print_json, stdout, terminal_safe, with_runtime
from .media import content_json, save_media, save_option
from .question_prompt import asked_on_terminal


@click.command()
@click.argument("code", required=False)
@click.option(
    "-f", "--file", "file", type=click.Path(exists=True, dir_okay=False), help="Read CODE from FILE."
)
@allow_option
@save_option
@json_option
def run(
    code: str | None,
    file: str | None,
    allow: frozenset[str] | None,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Run Python CODE that can call any tool. The value of the last line is the result.

    `-` reads CODE from stdin. The code runs in a sandbox with no file or network access: it can only call
    tools. A large result is stored and summarized; --json prints all of it. Of an image, a sound or a file,
    the type, size and handle are printed; --save writes them to files.

    \b
    Examples:
      onetool run 'time.now()["iso"]'
      onetool run '[f["path"] for f in fs.list_dir(path=".") if f["type"] == "file"]'
      onetool run -f report.py
      onetool run 'browser.screenshot()' --save pictures
    """
    if (code is None) == (file is None):
        raise click.UsageError("Pass either CODE or --file. Example: onetool run 'time.now()'")
    text = read_code(code, file)
    # A model that works in a shell uses one session for the lifetime of the shell.
    session = os.environ.get("ONETOOL_SESSION") or f"shell-{os.getppid()}"
    caller = Caller(interface="cli", session=session, allowed=allow, default_effect=Effect.ALLOW)
    result, output, content = with_runtime(lambda runtime: _run(runtime, text, caller))
    if as_json:
        print_json(result.to_json() | content)
    elif result.error is not None:
        click.echo(terminal_safe(result.printed, stdout()), nl=False, file=stdout())
        click.echo(terminal_safe(f"Error: {result.error.message}", sys.stderr), err=True)
    elif output:
        click.echo(terminal_safe(output, stdout()), file=stdout())
    save_media(result.media, "run", directory)
    if result.error is not None:
        raise SystemExit(EXIT_CODES[result.error.reason])


async def _run(runtime: Runtime, code: str, caller: Caller) -> tuple[CodeResult, str, dict[str, Any]]:
    async with asked_on_terminal(runtime, caller, "run", {"command": code}) as caller:
        result = await runtime.run(code, caller)
    content = await content_json(runtime, result.media, "run")
    return result, "" if result.error else (await runtime.state.model_output.render_run(result)).text, content
