"""A call and the calls inside it as a tree, for terminals."""

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from onetool.domain.activity.record import CallRecord

from .command import mask, stdout


def print_tree(records: Sequence[CallRecord], id: str) -> None:
    """Print a call with its times, sizes, arguments and result, and below it the calls that it made."""
    trees = {record.id: Tree(_label(record, is_outermost=record.id == id)) for record in records}
    for record in records:
        if record.id != id and record.parent in trees:
            trees[record.parent].add(trees[record.id])
    Console(file=stdout()).print(trees[id], soft_wrap=True)


def _label(record: CallRecord, *, is_outermost: bool) -> Text:
    """Return the facts of a call. The caller of those inside it is the same."""
    started = datetime.fromtimestamp(record.started, UTC).astimezone()
    label = Text()
    label.append(mask(record.tool), "bold cyan")
    label.append(f"  {record.reason.value if record.reason else 'ok'}", "red" if record.reason else "green")
    label.append(f"  {record.duration_ms:.1f} ms  {record.bytes_in} bytes in, {record.bytes_out} out", "dim")
    caller = {
        "from": f"{record.interface} {record.client}".strip(),
        "session": record.session,
        "profile": record.profile,
    }
    facts = {
        "id": record.id,
        "started": started.isoformat(sep=" ", timespec="milliseconds"),
        **(caller if is_outermost else {}),
        "decision": record.decision,
        "arguments": record.arguments,
        "result": record.result,
    }
    for name, value in facts.items():
        if value:
            label.append(f"\n{name}: ", "dim")
            label.append(mask(value))
    return label
