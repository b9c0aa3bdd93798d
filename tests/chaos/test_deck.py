"""The schedules of the chaos suite: the same for a seed each time, and no fault is left out."""

from collections import Counter

from chaos.deck import FAULTS_PER_SEED, LAST, deal, schedule
from chaos.faults import FAULTS

NAMES = list(FAULTS)


def test_each_fault_comes_at_least_five_times_in_thirty_seeds():
    drawn = Counter(name for seed in range(1, 31) for name in deal(seed, NAMES))
    assert set(drawn) == set(NAMES)
    assert min(drawn.values()) >= 5


def test_faults_of_a_seed_differ_and_are_the_same_each_time():
    for seed in range(1, 31):
        hand = deal(seed, NAMES)
        assert len(set(hand)) == FAULTS_PER_SEED
        assert hand == deal(seed, NAMES)


def test_fault_after_which_others_are_not_possible_is_the_last():
    hands = [deal(seed, NAMES) for seed in range(1, 31)]
    assert any(LAST[0] in hand for hand in hands)
    assert all(hand[-1] == LAST[0] for hand in hands if LAST[0] in hand)


def test_schedule_fits_into_the_run_and_depends_on_the_seed():
    plan = schedule(3, NAMES[:4], 60)
    assert plan == schedule(3, NAMES[:4], 60)
    assert plan != schedule(4, NAMES[:4], 60)
    assert all(fault.start >= 0 and fault.start + fault.seconds <= 80 for fault in plan)
    assert [fault.name for fault in plan] == NAMES[:4]
