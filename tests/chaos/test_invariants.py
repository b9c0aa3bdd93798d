"""The invariants of the chaos suite: each violation that is planted is found, and a correct run has none."""

import pytest

from chaos.fault import DATABASE_ERRORS
from chaos.invariants import Evidence, Window, check_all
from chaos.ledger import Change, Exchange, Ledger, QueuedJob, RecordedCall
from chaos.stored import Stored

PLACE, OTHER = "w-one", "w-two"


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


def test_lost_write_is_found(evidence):
    evidence.stored.things[PLACE, "bundle", "b1"] = "first"
    assert failed(evidence) == {"acknowledged writes"}


def test_missing_write_is_found(evidence):
    del evidence.stored.things[PLACE, "bundle", "b1"]
    assert failed(evidence) == {"acknowledged writes"}


def test_refused_write_that_is_there_is_found(evidence):
    evidence.stored.things[PLACE, "bundle", "b1"] = "late"
    assert failed(evidence) == {"acknowledged writes"}


def test_write_with_unknown_outcome_may_be_there_or_not(evidence):
    evidence.ledger.changes.append(change("third", "unknown"))
    assert check_all(evidence) == []
    evidence.stored.things[PLACE, "bundle", "b1"] = "third"
    assert check_all(evidence) == []
    evidence.ledger.changes.append(change("fourth"))
    evidence.stored.audit[PLACE, "bundle.change", "b1"] = 3
    assert failed(evidence) == {"acknowledged writes"}


def test_second_winner_is_found(evidence):
    evidence.ledger.changes.append(change("w", "acknowledged", "version", "b1/t/v1", "tool.add"))
    evidence.stored.audit[PLACE, "tool.add", "b1/t/v1"] = 2
    assert "one winner" in failed(evidence)


@pytest.mark.parametrize("count", [1, 3])
def test_missing_and_superfluous_audit_entries_are_found(evidence, count):
    evidence.stored.audit[PLACE, "bundle.change", "b1"] = count
    assert failed(evidence) == {"audit"}


def test_audit_entry_of_no_change_is_found(evidence):
    evidence.stored.audit[PLACE, "bundle.change", "b9"] = 1
    assert failed(evidence) == {"audit"}


def test_thing_without_the_entry_of_its_creation_is_found(evidence):
    evidence.ledger.changes.append(change("q", "unknown", "tool", "b1/q/v1", "tool.add"))
    evidence.stored.things[PLACE, "tool", "b1/q/v1"] = "q"
    assert failed(evidence) == {"audit of creations"}


@pytest.mark.parametrize("status", ["queued", "running", "missing"])
def test_job_that_has_not_ended_is_found(evidence, status):
    evidence.stored.jobs[PLACE, "job-1"] = status
    assert failed(evidence) == {"jobs end"}


def test_second_job_of_a_key_is_found(evidence):
    evidence.ledger.jobs[0].ids.add("job-2")
    evidence.stored.jobs[PLACE, "job-2"] = "lost"
    assert failed(evidence) == {"jobs end"}


def test_double_run_is_found(evidence):
    evidence.upstream["call-1"] = 2
    assert "no call twice" in failed(evidence)


def test_call_that_never_arrived_is_found(evidence):
    evidence.upstream["call-2"] = 0
    assert failed(evidence) == {"no call twice"}


def test_result_of_another_call_is_found(evidence):
    evidence.ledger.others_results.append("call call-2")
    assert failed(evidence) == {"no call twice"}


def test_key_of_another_job_is_found(evidence):
    evidence.upstream_keys["call-1"] = {"job-9"}
    assert failed(evidence) == {"no call twice"}


def test_lost_and_doubled_records_are_found(evidence):
    evidence.stored.calls[PLACE, "record-1"] = 2
    assert failed(evidence) == {"records"}
    evidence.stored.calls[PLACE, "record-1"] = 0
    assert failed(evidence) == {"records"}


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


def test_wrong_counter_is_found(evidence):
    evidence.stored.counters.append((PLACE, "get", 3, 4))
    assert failed(evidence) == {"counters"}


def test_foreign_canary_is_found_in_any_bytes(evidence):
    evidence.ledger.scan(PLACE, "call", b"... canary-one ...")
    assert check_all(evidence) == []
    evidence.ledger.scan(PLACE, "call", b"\x00 canary-two \xff")
    assert failed(evidence) == {"isolation"}


@pytest.mark.parametrize(
    "wrong",
    [
        exchange("500"),
        exchange("503", started=20.0, ended=21.0),
        exchange("call:timeout"),
        exchange("hung"),
        exchange("broken"),
    ],
    ids=lambda found: f"{found.outcome} at {found.started:.0f}",
)
def test_error_that_the_active_fault_does_not_allow_is_found(evidence, wrong):
    evidence.ledger.exchanges.append(wrong)
    assert failed(evidence) == {"errors"}


def test_open_transactions_and_many_connections_are_found(evidence):
    evidence.stored.idle_transactions = 1
    assert failed(evidence) == {"connections"}
    evidence.stored.idle_transactions, evidence.stored.connections = 0, {"west": {"onetool_server": 50}}
    assert failed(evidence) == {"connections"}
