"""A store with many records: listings and statistics cost what they return, not what is stored."""

import sqlite3
import time

import pytest

from onetool.domain.activity.record import ActivityFilter
from onetool.domain.activity.rollup import RollUp
from onetool.storage.files.activity import FileActivity
from onetool.threads import Threads
from support.activity import add, record
from support.cpu_time import cpu_seconds

NOW = 1_794_700_000.0
TOOLS, DAYS = 20, 35
FILL = f"""
insert into calls
with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < :count)
select n, printf('id-%d', n), printf('pack.tool%d', n % {TOOLS}), at, at, 'call', '', 'local', 'mcp',
'editor', '', printf('session-%d', n % 1000), 'mcp', 'tool-id', 'current',
iif(n % 50, null, 'raised'), '', 1.5, 20, 200
from (select n, :now - (:count - n) * (86400.0 * {DAYS} / :count) at from numbers)
"""
ROLL_UP = """
insert into hours select cast(ended / 3600 as integer), tool, count(*), count(reason), sum(duration_ms),
max(duration_ms), max(ended), 0, 0 from calls group by 1, 2
"""


async def filled(file, count):
    """Return a store with this many records of the last days, written in bulk."""
    store = FileActivity(file, Threads())
    await store.add([], RollUp())
    with sqlite3.connect(file) as connection:
        connection.execute(FILL, {"count": count, "now": NOW})
        connection.execute(ROLL_UP)
    connection.close()
    return store


async def cost(action):
    """Return the CPU time of the fastest of several attempts."""
    costs = []
    for _ in range(5):
        start = cpu_seconds()
        await action()
        costs.append(cpu_seconds() - start)
    return min(costs)


@pytest.mark.stress
async def test_first_page_and_statistics_of_a_large_store(tmp_path, size):
    """Ten million records cost at most a few times what a tenth of a percent of them costs."""
    count = size(200_000, 10_000_000)
    small = await filled(tmp_path / "small.sqlite3", 10_000)
    large = await filled(tmp_path / "large.sqlite3", count)
    actions = {
        "page": lambda store: store.page(ActivityFilter(), None, 50),
        "failed": lambda store: store.page(ActivityFilter(ok=False, principal="local"), None, 50),
        "all time": lambda store: store.summarize(None),
        "day": lambda store: store.summarize(NOW - 86_400),
        "tree": lambda store: store.tree("id-5000"),
        "add": lambda store: add(store, record("pack.tool1", NOW, id="new")),
    }
    for name, action in actions.items():
        costs = [await cost(lambda store=store, action=action: action(store)) for store in (small, large)]
        start = time.perf_counter()
        await action(large)
        print(f"{name}: {time.perf_counter() - start:.3f} s, {costs[1]:.4f} s of CPU time")
        assert costs[1] < 5 * costs[0] + 0.02, (name, costs)
    assert (await large.summarize(None)).total().calls >= count
    rare = await large.page(ActivityFilter(tool="no.such"), None, 50)
    assert (rare.items, rare.next is None) == ([], False)  # a part of them was searched
    for store in (small, large):
        await store.aclose()
