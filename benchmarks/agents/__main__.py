"""Let a model do the tasks, and write transcripts and the table of results."""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from benchmarks.agents import servers
from benchmarks.agents.checks import passes
from benchmarks.agents.home import temporary_home
from benchmarks.agents.mcp_client import open_client
from benchmarks.agents.provider_run import check_provider, run_task
from benchmarks.agents.results_page import write_page
from benchmarks.agents.session import MODES
from benchmarks.agents.tasks import Task, load_solutions, load_tasks, select
from benchmarks.agents.transcript import RESULTS
from benchmarks.token_counts import Tokenizer
from onetool.domain.errors import SettingsError

HOW_TO_START = """\
To get going, store an API key and run this again:
  onetool auth login anthropic
  python -m benchmarks.agents --provider anthropic --mode all
Or use a model on this machine: --provider ollama --model NAME.
To do a task without an API: python -m benchmarks.agents.session start TASK MODE"""


async def measure(args: argparse.Namespace, tasks: Sequence[Task]) -> int:
    """Do each task in each mode. Return the exit code."""
    try:
        await check_provider(args.provider, args.model)
    except SettingsError as error:
        print(f"{error}\n{HOW_TO_START}", file=sys.stderr)
        return 2
    tokenizer, entries = Tokenizer(), servers.load_entries()
    for mode in MODES if args.mode == "all" else [args.mode]:
        for task in tasks:
            transcript, figures = await run_task(task, mode, entries, args.provider, args.model, tokenizer)
            if transcript.error and not transcript.calls:
                print(f"{transcript.error}\n{HOW_TO_START}", file=sys.stderr)
                return 1
            transcript.write(figures, tokenizer.name)
            write_page()
            outcome = "success" if figures.success else f"no success {transcript.error}".strip()
            print(f"{mode:6} {task.id}: {outcome}, {figures.round_trips} round trips", flush=True)
    print(f"Wrote {RESULTS.name}/README.md.")
    return 0


async def check_solutions(tasks: Sequence[Task]) -> int:
    """Run the stored solution of each task, whose result is the answer. Return the exit code."""
    entries, solutions, failed = servers.load_entries(), load_solutions(), 0
    for task in tasks:
        with temporary_home(task, entries) as home:
            async with open_client(home, "run") as client:
                reply = await client.call_tool("run", {"command": solutions[task.id]})
            success = not reply.failed and passes(task.checks, home.root, reply.text)
        failed += not success
        print(f"{task.id}: {'success' if success else f'no success: {reply.text}'}", flush=True)
    print(f"{len(tasks) - failed} of {len(tasks)} solutions succeed.")
    return 1 if failed else 0


def main() -> int:
    """Do the tasks that the options select."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agents", description=__doc__)
    parser.add_argument("--provider", help="a provider of onetool ask")
    parser.add_argument("--model", help="its model; the default is that of the provider")
    parser.add_argument("--mode", choices=(*MODES, "all"), default="all")
    parser.add_argument("--tasks", default="", help="ids, separated by commas; all by default")
    parser.add_argument("--solutions", action="store_true", help="run the stored solutions, without a model")
    args = parser.parse_args()
    try:
        tasks = select(load_tasks(), filter(None, args.tasks.split(",")))
    except ValueError as error:
        parser.error(str(error))
    return asyncio.run(check_solutions(tasks) if args.solutions else measure(args, tasks))


if __name__ == "__main__":
    sys.exit(main())
