"""The schedules of the chaos suite: each seed always has the same one, and no fault is omitted."""

from collections import Counter

from chaos.faults import FAULTS
from chaos.schedule import FAULTS_PER_SEED, LAST, choose_faults, schedule

NAMES = list(FAULTS)


def test_each_fault_comes_at_least_five_times_in_thirty_seeds():
    drawn = Counter(name for seed in range(1, 31) for name in choose_faults(seed, NAMES))
    assert set(drawn) == set(NAMES)
    assert min(drawn.values()) >= 5


def test_faults_of_a_seed_differ_and_are_the_same_each_time():
    for seed in range(1, 31):
        chosen = choose_faults(seed, NAMES)
        assert len(set(chosen)) == FAULTS_PER_SEED
        assert chosen == choose_faults(seed, NAMES)


def test_fault_after_which_others_are_not_possible_is_the_last():
    lists = [choose_faults(seed, NAMES) for seed in range(1, 31)]
    assert any(LAST[0] in chosen for chosen in lists)
    assert all(chosen[-1] == LAST[0] for chosen in lists if LAST[0] in chosen)


def test_schedule_fits_into_the_run_and_depends_on_the_seed():
    plan = schedule(3, NAMES[:4], 60)
    assert plan == schedule(3, NAMES[:4], 60)
    assert plan != schedule(4, NAMES[:4], 60)
    assert all(fault.start >= 0 and fault.start + fault.seconds <= 80 for fault in plan)
    assert [fault.name for fault in plan] == NAMES[:4]
