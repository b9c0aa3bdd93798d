"""What happened in a task: the calls, the answer, and the figures."""

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.token_counts import Tokenizer
from onetool.domain.code.sandbox import IMPORTABLE_MODULES

RESULTS = Path(__file__).parent / "results"
FIND = "find_tools"
HOME = "/home/user"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call of the model, and what it got back."""

    turn: int
    name: str
    args: Any
    """The arguments; a text if they are not valid JSON."""
    reply: str
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of a task."""

    success: bool
    first_right: bool
    """The first program that uses a tool, or the first call of one, did not fail."""
    round_trips: int
    """Turns with calls."""
    calls: int
    failed_calls: int
    definitions: int
    """Tokens of the instructions and the tools, which every turn reads."""
    results: int
    """Tokens of all results."""
    written: int
    """Tokens of the calls and the answer."""
    tokens: int
    """The definitions in every turn, and the results."""


@dataclass(slots=True, kw_only=True)
class Transcript:
    """The record of one task."""

    task: str
    mode: str
    provider: str
    model: str
    system: str
    tools: str
    """The definitions as JSON."""
    prompt: str
    root: str
    """The directory of the task, which differs on every machine. Written as HOME."""
    calls: list[CallRecord] = field(default_factory=list)
    answer: str = ""
    error: str = ""
    """Why the model did not finish, or an empty string."""

    def figures(self, success: bool, tokenizer: Tokenizer) -> Figures:
        """Return the figures."""
        definitions = tokenizer.count(self.system) + tokenizer.count(self.tools)
        results = sum(tokenizer.count(call.reply) for call in self.calls)
        round_trips = len({call.turn for call in self.calls})
        written = tokenizer.count(self.answer) + sum(
            tokenizer.count(json.dumps(call.args, ensure_ascii=False)) for call in self.calls
        )
        return Figures(
            success=success,
            first_right=is_first_right(self.mode, self.calls),
            round_trips=round_trips,
            calls=len(self.calls),
            failed_calls=sum(call.failed for call in self.calls),
            definitions=definitions,
            results=results,
            written=written,
            tokens=definitions * (round_trips + 1) + results,
        )

    def write(self, figures: Figures, unit: str, folder: Path = RESULTS) -> Path:
        """Write the record as JSON lines, and return the file. The definitions are left out."""
        start = {key: getattr(self, key) for key in ("task", "mode", "provider", "model", "system", "prompt")}
        lines: list[Mapping[str, Any]] = [{"type": "start", **start, "unit": unit}]
        lines += [{"type": "call", **asdict(call)} for call in self.calls]
        lines.append({"type": "answer", "text": self.answer, "error": self.error})
        lines.append({"type": "figures", **asdict(figures)})
        file = folder / f"{self.provider}-{self.mode}" / f"{self.task}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        file.write_text(text.replace(self.root, HOME), encoding="utf-8")
        return file


def is_first_right(mode: str, calls: Sequence[CallRecord]) -> bool:
    """Whether the first program that uses a tool, or the first call of one, did not fail."""
    first = next((call for call in calls if _uses_tool(mode, call)), None)
    return first is not None and not first.failed


def _uses_tool(mode: str, call: CallRecord) -> bool:
    """Whether a call does more than look for tools. A program that is not Python counts."""
    if mode != "run":
        return call.name != FIND
    return called_tools(str(call.args.get("command", ""))) != set()


def called_tools(program: str) -> set[str] | None:
    """Return the tools that a program calls, without those that only describe tools. None: not Python.

    >>> sorted(called_tools("rows = db.query(sql='x')\\nrows.sort()\\not.find(query='y')"))
    ['db.query']
    """
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    own = {"ot", *IMPORTABLE_MODULES, *_bound_names(tree)}
    return {
        f"{node.func.value.id}.{node.func.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id not in own
    }


def _bound_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
