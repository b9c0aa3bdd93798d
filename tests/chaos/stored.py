"""What an installation contains after a run, read from the database itself."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg

from chaos.installation import Place
from chaos.users import BUNDLE

UNEQUAL_COUNTERS = """
select id, coalesce(counted, 0), coalesce(recorded, 0) from
    (select t.id, c.calls as counted from onetool.tools t left join onetool.tool_counters c
     on c.workspace_id = t.workspace_id and c.tool_id = t.id
     where t.workspace_id = %(id)s and t.pack = %(pack)s and t.slug = %(tool)s) as tool,
    lateral (select count(*) as recorded from onetool.calls
     where workspace_id = %(id)s and tool_id = tool.id) as calls
"""
UNRESOLVED = """
select tool, coalesce(reason, ''), count(*) from onetool.calls
where workspace_id = %s and tool like %s and coalesce(tool_id, '') = '' group by tool, reason
"""
IDLE = """
select count(*) from pg_stat_activity
where state like 'idle in transaction%' and state_change < now() - interval '2 s'
"""
WAKE_UPS = """
select args ->> 'job', format('%s: %s, attempts %s, next %s', id, status, attempts, scheduled_at)
from queue.procrastinate_jobs where queue_name = 'calls'
"""
CONNECTIONS = """
select usename, count(*) from pg_stat_activity where usename like 'onetool%' group by usename
"""


@dataclass
class Stored:
    """The contents of all workspaces."""

    things: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """Values by workspace, subject and target."""
    audit: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Entries by workspace, action and target."""
    jobs: dict[tuple[str, str], str] = field(default_factory=dict)
    """Status by workspace and id."""
    wake_ups: dict[str, list[str]] = field(default_factory=dict)
    """Rows of the queue, by job. Those of jobs that workers have claimed are deleted."""
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Records by workspace and id."""
    counters: list[tuple[str, str, int, int]] = field(default_factory=list)
    """Workspace, tool, its counter, and its records."""
    unresolved: Counter[str] = field(default_factory=Counter)
    """Records of calls whose tool exists but was not found, by name and reason."""
    idle_transactions: int = 0
    connections: dict[str, dict[str, int]] = field(default_factory=dict)
    """Numbers by cluster and login."""


def read_stored(urls: Mapping[str, str], places: Iterable[Place]) -> Stored:
    """Read everything that the invariants are about, from all clusters."""
    stored, all_places = Stored(), list(places)
    for cluster, url in urls.items():
        with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
            for place in all_places:
                if place.cluster == cluster:
                    _read_things(connection, place, stored)
                    _read_records(connection, place, stored)
            for job, text in connection.execute(WAKE_UPS.encode()).fetchall():
                stored.wake_ups.setdefault(job, []).append(f"{cluster} {text}")
            ((idle,),) = connection.execute(IDLE.encode()).fetchall()
            stored.idle_transactions += idle
            stored.connections[cluster] = dict(connection.execute(CONNECTIONS.encode()).fetchall())
    return stored


def _read_things(connection: psycopg.Connection, place: Place, stored: Stored) -> None:
    for subject, (query, value_of) in THINGS.items():
        for target, *columns in connection.execute(query.encode(), (place.id,)).fetchall():
            if (value := value_of(*columns)) is not None:
                stored.things[place.slug, subject, target] = value


def _alias(document: str) -> str | None:
    return next(iter(json.loads(document).get("aliases", {})), None)


TOOLS = (
    "select bundle_id || '/' || slug || '/' || version, body from onetool.tools where workspace_id = %s",
    lambda body: json.loads(body)["description"].split(" ")[0],
)
THINGS: dict[str, tuple[str, Callable[..., str | None]]] = {
    "bundle": (
        "select id, body from onetool.bundles where workspace_id = %s and not deleted",
        lambda body: json.loads(body)["displayName"],
    ),
    "tool": TOOLS,
    "version": TOOLS,
    "secret": (
        "select name, hosts from onetool.secrets where workspace_id = %s",
        lambda hosts: hosts[0],
    ),
    "member": (
        "select id, patterns from onetool.members where workspace_id = %s",
        lambda patterns: "".join(patterns[:1]),
    ),
    "grant": (
        "select member || ' ' || pattern, effect from onetool.grants where workspace_id = %s",
        lambda effect: effect,
    ),
    "settings": (
        """
        select 'settings', document from onetool.settings where workspace_id = %s
        order by version desc limit 1
        """,
        _alias,
    ),
}


def _read_records(connection: psycopg.Connection, place: Place, stored: Stored) -> None:
    def rows(query: str) -> list[Any]:
        return connection.execute(query.encode(), (place.id,)).fetchall()

    for action, target in rows("select action, target from onetool.audit where workspace_id = %s"):
        stored.audit[place.slug, action, target] += 1
    for id, status in rows("select id, status from onetool.jobs where workspace_id = %s"):
        stored.jobs[place.slug, id] = status
    for (id,) in rows("select id from onetool.calls where workspace_id = %s"):
        stored.calls[place.slug, id] += 1
    for tool in ("rec", "get"):
        values = {"id": place.id, "pack": BUNDLE, "tool": tool}
        for _, counted, recorded in connection.execute(UNEQUAL_COUNTERS.encode(), values).fetchall():
            stored.counters.append((place.slug, tool, counted, recorded))
    for tool, reason, count in connection.execute(UNRESOLVED.encode(), (place.id, f"{BUNDLE}.%")).fetchall():
        stored.unresolved[f"{tool} {reason}"] += count
