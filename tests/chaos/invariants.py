"""What must hold after every run: the ledger of the clients compared with what is stored."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from chaos.ledger import OK, Change, Exchange, Ledger, RecordedCall, shorten
from chaos.stored import Stored
from onetool.domain.jobs.job import ENDED

ACKNOWLEDGED, REFUSED, UNKNOWN = "acknowledged", "refused", "unknown"


class Window(NamedTuple):
    """When a fault was active, until the installation had time to recover."""

    fault: str
    start: float
    end: float
    allows: Callable[[Exchange], bool] = lambda exchange: False
    delays_records: Callable[[str], bool] = lambda place: False
    """Whether records of a workspace wait in the processes."""
    stopped: str = ""
    """The process that has ended."""
    stopped_at: float = 0.0
    lost_s: float = 0.0
    """Age of the records that are lost with the process."""


class Violation(NamedTuple):
    """Something that must not happen."""

    invariant: str
    detail: str


@dataclass
class Evidence:
    """Everything that is compared."""

    ledger: Ledger
    stored: Stored
    upstream: Mapping[str, int] = field(default_factory=dict)
    """How often each call has arrived."""
    upstream_keys: Mapping[str, set[str]] = field(default_factory=dict)
    windows: Sequence[Window] = ()


def check_all(evidence: Evidence) -> list[Violation]:
    """Return all violations."""
    return [
        Violation(name, shorten(detail, 600)) for name, check in CHECKS.items() for detail in check(evidence)
    ]


def find_lost_writes(evidence: Evidence) -> Iterator[str]:
    """The last acknowledged write of each thing is stored, and no refused write is."""
    for (place, subject, target), changes in _by_target(evidence.ledger).items():
        possible = _possible_values(subject, changes)
        value = evidence.stored.things.get((place, subject, target))
        if value not in possible:
            story = [(change.value, change.verdict) for change in changes][-6:]
            yield f"{subject} {target} of {place} is {value!r}, not one of {possible}: {story}"


def _by_target(ledger: Ledger) -> dict[tuple[str, str, str], list[Change]]:
    found: dict[tuple[str, str, str], list[Change]] = defaultdict(list)
    for change in ledger.changes:
        found[change.place, change.subject, change.target].append(change)
    return found


def _possible_values(subject: str, changes: Sequence[Change]) -> set[str | None]:
    winners = {change.value for change in changes if change.verdict == ACKNOWLEDGED}
    if subject == "version" and winners:
        return set(winners)
    possible, late = {None}, set[str | None]()
    for change in changes:
        if change.verdict == ACKNOWLEDGED:
            possible = {change.value}
        elif change.verdict == UNKNOWN:
            possible.add(change.value)
            late |= {change.value} if change.is_hung else set()
    return possible | late


def find_races_with_two_winners(evidence: Evidence) -> Iterator[str]:
    """At most one of several writers of the same version succeeds."""
    for (place, subject, target), changes in _by_target(evidence.ledger).items():
        winners = [change.value for change in changes if change.verdict == ACKNOWLEDGED]
        if subject == "version" and len(winners) > 1:
            yield f"{target} of {place} was acknowledged to {winners}"


def find_wrong_audit(evidence: Evidence) -> Iterator[str]:
    """Each acknowledged change has an entry, and no other change has one."""
    wanted: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for change in evidence.ledger.changes:
        wanted[change.place, change.action, change.audited][change.verdict] += 1
    for (place, action, verdict), count in evidence.ledger.keys.items():
        wanted[place, action, "*"][verdict] += count
    for key, verdicts in wanted.items():
        entries = _entries(evidence.stored, *key)
        least, most = verdicts[ACKNOWLEDGED], verdicts[ACKNOWLEDGED] + verdicts[UNKNOWN]
        most += 1 if key[1:] in UNCOUNTED else 0
        if not least <= entries <= most:
            yield f"{key} has {entries} entries after {dict(verdicts)}"
    known = {(place, action) for place, action, _ in wanted}
    for place, action, target in evidence.stored.audit:
        is_known = (place, action, target) in wanted or (place, action, "*") in wanted
        if (place, action) in known and not is_known and action not in PREPARED:
            yield f"entry {action} {target} of {place} belongs to no change"


UNCOUNTED = {("key.create", "*"), ("settings.replace", "*")}
"""Actions with one more entry, from the creation of the workspace."""
PREPARED = ("bundle.create", "tool.add", "secret.put", "member.put")
"""Actions that also prepare a workspace."""


def _entries(stored: Stored, place: str, action: str, target: str) -> int:
    if target != "*":
        return stored.audit[place, action, target]
    return sum(count for key, count in stored.audit.items() if key[:2] == (place, action))


def find_unaudited_tools(evidence: Evidence) -> Iterator[str]:
    """A tool or version that is never deleted exists if and only if its creation has an audit entry."""
    for (place, subject, target), changes in _by_target(evidence.ledger).items():
        if subject not in ("tool", "version") or any(change.value is None for change in changes):
            continue
        exists = (place, subject, target) in evidence.stored.things
        if exists != (evidence.stored.audit[place, "tool.add", target] == 1):
            yield f"{target} of {place} {'exists' if exists else 'does not exist'}, unlike its audit entry"


def find_unended_jobs(evidence: Evidence) -> Iterator[str]:
    """Each acknowledged job has ended, and each Idempotency-Key has started only one job."""
    for job in evidence.ledger.jobs:
        if len(job.ids) > 1:
            yield f"the key {job.key} of {job.place} started the jobs {job.ids}"
        for id in job.ids:
            status = evidence.stored.jobs.get((job.place, id), "missing")
            if status not in ENDED:
                wake_ups = "; ".join(evidence.stored.wake_ups.get(id, ())) or "none"
                yield f"job {id} of {job.place} is {status}, wake-ups: {wake_ups}"
            elif status == "succeeded" and evidence.upstream.get(job.call, 0) != 1:
                yield f"job {id} succeeded, but its call arrived {evidence.upstream.get(job.call, 0)} times"


def find_repeated_calls(evidence: Evidence) -> Iterator[str]:
    """No call reaches the upstream twice, and one that succeeded has reached it."""
    keys = {job.call: job.ids for job in evidence.ledger.jobs}
    for id, count in evidence.upstream.items():
        if count > 1 and id in evidence.ledger.calls.keys() | keys.keys():
            yield f"call {id} arrived {count} times with the keys {evidence.upstream_keys.get(id)}"
    for id, outcome in evidence.ledger.calls.items():
        if outcome == OK and not evidence.upstream.get(id):
            yield f"call {id} succeeded, but never arrived"
    for text in evidence.ledger.others_results:
        yield f"another result than its own: {text}"
    for id, jobs in keys.items():
        sent = evidence.upstream_keys.get(id, set())
        if jobs and not sent <= jobs:
            yield f"the call of the jobs {jobs} arrived with the keys {sent}"


def find_lost_records(evidence: Evidence) -> Iterator[str]:
    """Each call that was answered is recorded once, except the last ones of a killed process."""
    for call in evidence.ledger.recorded:
        count = evidence.stored.calls[call.place, call.id]
        if count > 1 or (count == 0 and not _may_be_lost(evidence, call)):
            yield f"call {call.id} at {call.server} of {call.place} is recorded {count} times"


def _may_be_lost(evidence: Evidence, call: RecordedCall) -> bool:
    """Return whether a process has ended before it could write a record."""
    delays = [window for window in evidence.windows if window.delays_records(call.place)]
    for window in evidence.windows:
        if window.stopped == call.server and call.ended <= window.stopped_at:
            if window.stopped_at - call.ended <= window.lost_s:
                return True
            if any(other.start - 1 <= window.stopped_at and other.end >= call.ended for other in delays):
                return True
    return False


def find_wrong_counters(evidence: Evidence) -> Iterator[str]:
    """The counter of a tool is the number of its recorded calls."""
    for place, tool, counted, recorded in evidence.stored.counters:
        if counted != recorded:
            yield f"{tool} of {place} has the counter {counted} and {recorded} records"


def find_foreign_canaries(evidence: Evidence) -> Iterator[str]:
    """No workspace receives data of another."""
    for found in evidence.ledger.foreign:
        yield f"{found.kind}: {found.place} has received the canary of {found.of}: {found.body}"


def find_unexplained_errors(evidence: Evidence) -> Iterator[str]:
    """Every error is one that the failure table allows for a fault that was active."""
    groups: dict[tuple[str, str, str], list[Exchange]] = defaultdict(list)
    for exchange in evidence.ledger.unexpected():
        if not any(_explains(window, exchange) for window in evidence.windows):
            groups[exchange.kind, exchange.outcome, exchange.server].append(exchange)
    for (kind, outcome, server), found in groups.items():
        active = {
            window.fault
            for window in evidence.windows
            if window.start <= found[0].ended and window.end >= found[0].started
        }
        took = max(exchange.ended - exchange.started for exchange in found)
        yield (
            f"{len(found)} x {kind} at {server}: {outcome} after up to {took:.1f} s, with {sorted(active)}: "
            f"{found[0].detail}"
        )


def _explains(window: Window, exchange: Exchange) -> bool:
    is_active = window.start <= exchange.ended and window.end >= exchange.started
    return is_active and window.allows(exchange)


def find_open_transactions(evidence: Evidence) -> Iterator[str]:
    """No transaction stays open, and the processes have no more connections than documented."""
    if evidence.stored.idle_transactions:
        yield f"{evidence.stored.idle_transactions} transactions are idle"
    for cluster, counts in evidence.stored.connections.items():
        for user, count in counts.items():
            if count > MAX_CONNECTIONS.get(user, 0):
                yield f"{user} has {count} connections to {cluster}"


MAX_CONNECTIONS = {"onetool_server": 2 * 10, "onetool_jobs": 15}
CHECKS: Mapping[str, Callable[[Evidence], Iterator[str]]] = {
    "acknowledged writes": find_lost_writes,
    "one winner": find_races_with_two_winners,
    "audit": find_wrong_audit,
    "audit of creations": find_unaudited_tools,
    "jobs end": find_unended_jobs,
    "no call twice": find_repeated_calls,
    "records": find_lost_records,
    "counters": find_wrong_counters,
    "isolation": find_foreign_canaries,
    "errors": find_unexplained_errors,
    "connections": find_open_transactions,
}
