"""The invariants of the chaos suite: each violation that is planted is found, and a correct run has none."""

import pytest

from chaos.fault import DATABASE_ERRORS
from chaos.invariants import Evidence, Window, check_all
from chaos.ledger import Change, Exchange, Ledger, QueuedJob, RecordedCall
from chaos.stored import Stored

PLACE, OTHER = "w-one", "w-two"
BUNDLE, JOB, RECORD = (PLACE, "bundle", "b1"), (PLACE, "job-1"), (PLACE, "record-1")


def change(value, verdict="acknowledged", subject="bundle", target="b1", action="bundle.change"):
    return Change(PLACE, subject, target, value, action, target, verdict)


def exchange(outcome, started=10.0, ended=11.0, kind="call http", is_expected=False, server="a"):
    return Exchange(kind, PLACE, server, started, ended, outcome, is_expected)


@pytest.fixture
def evidence():
    """A run in which everything is right."""
    ledger, stored = Ledger(canaries={PLACE: "canary-one", OTHER: "canary-two"}), Stored()
    ledger.changes += [change("first"), change("second"), change("late", "refused")]
    ledger.changes += [
        change(value, verdict, "version", "b1/t/v1", "tool.add")
        for value, verdict in (("x", "acknowledged"), ("y", "refused"), ("z", "refused"))
    ]
    stored.things = {(PLACE, "bundle", "b1"): "second", (PLACE, "version", "b1/t/v1"): "x"}
    stored.audit.update({(PLACE, "bundle.change", "b1"): 2, (PLACE, "tool.add", "b1/t/v1"): 1})
    ledger.keys[PLACE, "key.create", "acknowledged"] = 1
    stored.audit[PLACE, "key.create", "k1"] = 1
    stored.audit[PLACE, "key.create", "k0"] = 1
    ledger.jobs.append(QueuedJob(PLACE, "key", "call-1", {"job-1"}))
    stored.jobs[PLACE, "job-1"] = "succeeded"
    ledger.calls["call-2"] = "ok"
    ledger.recorded.append(RecordedCall(PLACE, "a", "record-1", 5.0))
    stored.calls[PLACE, "record-1"] = 1
    stored.counters.append((PLACE, "rec", 3, 3))
    ledger.exchanges += [exchange("ok", is_expected=True), exchange("503")]
    window = Window("database killed", 9.0, 12.0, lambda found: found.outcome in DATABASE_ERRORS)
    upstream, keys = {"call-1": 1, "call-2": 1}, {"call-1": {"job-1"}, "call-2": {""}}
    return Evidence(ledger, stored, upstream, keys, [window])


def failed(evidence):
    return {violation.invariant for violation in check_all(evidence)}


def test_correct_run_has_no_violation(evidence):
    assert check_all(evidence) == []


PLANTED = {
    "lost write": ({"acknowledged writes"}, lambda run: run.stored.things.update({BUNDLE: "first"})),
    "missing write": ({"acknowledged writes"}, lambda run: run.stored.things.pop(BUNDLE)),
    "refused write": ({"acknowledged writes"}, lambda run: run.stored.things.update({BUNDLE: "late"})),
    "second winner": (
        {"one winner", "audit of creations"},
        lambda run: add(run, change("x", "acknowledged", "version", "b1/t/v1", "tool.add"), entries=2),
    ),
    "missing entry": ({"audit"}, lambda run: run.stored.audit.update({(PLACE, "bundle.change", "b1"): -1})),
    "second entry": ({"audit"}, lambda run: run.stored.audit.update({(PLACE, "bundle.change", "b1"): 1})),
    "entry of no change": (
        {"audit"},
        lambda run: run.stored.audit.update({(PLACE, "bundle.change", "b9"): 1}),
    ),
    "thing without an entry": (
        {"audit of creations"},
        lambda run: add(run, change("q", "unknown", "tool", "b1/q/v1", "tool.add"), entries=0),
    ),
    "job that is queued": ({"jobs end"}, lambda run: run.stored.jobs.update({JOB: "queued"})),
    "job that is running": ({"jobs end"}, lambda run: run.stored.jobs.update({JOB: "running"})),
    "job that is missing": ({"jobs end"}, lambda run: run.stored.jobs.update({JOB: "missing"})),
    "second job of a key": ({"jobs end"}, lambda run: run.ledger.jobs[0].ids.add("job-2")),
    "call that arrives twice": (
        {"no call twice", "jobs end"},
        lambda run: run.upstream.update({"call-1": 2}),
    ),
    "call that never arrives": ({"no call twice"}, lambda run: run.upstream.update({"call-2": 0})),
    "result of another call": (
        {"no call twice"},
        lambda run: run.ledger.others_results.append("call call-2"),
    ),
    "key of another job": ({"no call twice"}, lambda run: run.upstream_keys.update({"call-1": {"job-9"}})),
    "second record": ({"records"}, lambda run: run.stored.calls.update({RECORD: 1})),
    "lost record": ({"records"}, lambda run: run.stored.calls.pop(RECORD)),
    "wrong counter": ({"counters"}, lambda run: run.stored.counters.append((PLACE, "get", 3, 4))),
    "foreign canary": ({"isolation"}, lambda run: run.ledger.scan(PLACE, "call", b"\x00 canary-two \xff")),
    "open transaction": ({"connections"}, lambda run: setattr(run.stored, "idle_transactions", 1)),
    "many connections": (
        {"connections"},
        lambda run: run.stored.connections.update({"west": {"onetool_server": 50}}),
    ),
    **{
        f"{wrong.outcome} at {wrong.started:.0f}": (
            {"errors"},
            lambda run, wrong=wrong: run.ledger.exchanges.append(wrong),
        )
        for wrong in (
            exchange("500"),
            exchange("503", started=20.0, ended=21.0),
            exchange("call:timeout"),
            exchange("hung"),
            exchange("broken"),
        )
    },
}
"""What is wrong in a run: the invariants that it violates, and how it is planted."""


def add(run, change, *, entries):
    """Add a change whose value is stored, with entries of the audit log."""
    run.ledger.changes.append(change)
    run.stored.things[PLACE, change.subject, change.target] = change.value
    run.stored.audit[PLACE, change.action, change.audited] = entries


@pytest.mark.parametrize(("invariants", "plant"), PLANTED.values(), ids=PLANTED)
def test_planted_violation_is_found(evidence, invariants, plant):
    plant(evidence)
    assert failed(evidence) == invariants


def test_write_with_unknown_outcome_may_be_there_or_not(evidence):
    evidence.ledger.changes.append(change("third", "unknown"))
    assert check_all(evidence) == []
    evidence.stored.things[PLACE, "bundle", "b1"] = "third"
    assert check_all(evidence) == []
    evidence.ledger.changes.append(change("fourth"))
    evidence.stored.audit[PLACE, "bundle.change", "b1"] = 3
    assert failed(evidence) == {"acknowledged writes"}


def test_killed_process_may_lose_its_last_records(evidence):
    evidence.stored.calls[PLACE, "record-1"] = 0
    killed = Window("server killed", 5.0, 8.0, stopped="a", stopped_at=5.05, lost_s=1.0)
    evidence.windows = [*evidence.windows, killed]
    assert check_all(evidence) == []
    for wrong in (killed._replace(stopped_at=7.0), killed._replace(stopped="b"), killed._replace(lost_s=0.0)):
        evidence.windows = [*evidence.windows[:-1], wrong]
        assert failed(evidence) == {"records"}


def test_process_that_ends_may_lose_records_that_cannot_be_stored(evidence):
    evidence.stored.calls[PLACE, "record-1"] = 0
    restarted = Window("server restarted", 6.0, 8.0, stopped="a", stopped_at=7.0)
    for delayed, expected in ((PLACE, set()), (OTHER, {"records"})):
        moved = Window(
            "workspace moved", 4.0, 6.5, delays_records=lambda place, delayed=delayed: place == delayed
        )
        evidence.windows = [*evidence.windows[:1], restarted, moved]
        assert failed(evidence) == expected


def test_canary_of_its_own_workspace_is_no_violation(evidence):
    evidence.ledger.scan(PLACE, "call", b"... canary-one ...")
    assert check_all(evidence) == []
