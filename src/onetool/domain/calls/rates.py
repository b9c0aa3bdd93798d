"""How a rate of calls per minute is applied."""

MINUTE_S = 60.0
BURST_CALLS = 10
BURST_S = 5.0


def burst_of(per_minute: float) -> float:
    """Return how many calls may be made at once: ten, or those of five seconds, but no more than a minute's.

    So a minute has at most that many calls more than the rate. A rate below one call has bursts of one.

    >>> burst_of(0.5), burst_of(2), burst_of(60), burst_of(600)
    (1.0, 2.0, 10.0, 50.0)
    """
    return float(max(1, min(per_minute, BURST_CALLS), per_minute * BURST_S / MINUTE_S))
