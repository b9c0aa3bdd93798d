"""Records as JSON, for the CLI and REST."""

from collections.abc import Sequence
from typing import Any

from .record import CallRecord


def record_json(record: CallRecord) -> dict[str, Any]:
    """Return a record without its body."""
    return {
        "id": record.id,
        "parent": record.parent,
        "kind": record.kind,
        "tool": record.tool,
        "version": record.version,
        "interface": record.interface,
        "client": record.client,
        "profile": record.profile,
        "session": record.session,
        "source": record.source,
        "startedAt": record.started,
        "endedAt": record.ended,
        "durationMs": record.duration_ms,
        "ok": record.ok,
        "code": record.code,
        "reason": record.reason,
        "decision": record.decision,
        "bytesIn": record.bytes_in,
        "bytesOut": record.bytes_out,
    }


def tree_json(records: Sequence[CallRecord], id: str) -> dict[str, Any]:
    """Return the record with this id, with its body and, in `calls`, the calls that it made.

    records: the call and the calls inside it. Those whose caller is missing are left out.
    """
    nodes = {record.id: record_json(record) | _body(record) for record in records}
    for record in records:
        if record.id != id and record.parent in nodes:
            nodes[record.parent]["calls"].append(nodes[record.id])
    return nodes[id]


def _body(record: CallRecord) -> dict[str, Any]:
    return {"arguments": record.arguments, "result": record.result, "calls": []}
