"""Runs of the chaos suite: one seed after the other, with a line of results for each."""

import asyncio
import json
import random
import subprocess
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from chaos.fault import Fault
from chaos.faults import FAULTS
from chaos.installation import Template, delete_root, new_root, run_installation
from chaos.invariants import Evidence, Violation, Window, check_all
from chaos.ledger import Ledger, RevokedKey, now
from chaos.processes import OneToolProcess, ServerProcess, Usage
from chaos.schedule import LAST, PlannedFault, choose_faults, schedule
from chaos.stored import Stored, read_stored
from chaos.traffic import Workload
from onetool.domain.jobs.job import ENDED
from onetool.storage.postgres.clusters import HOME
from support.paths import PROJECT
from support.postgres import WEST

RECOVERY_S = 90.0
"""Seconds after the last fault within which everything must work again."""
WORKSPACES = 3
SAMPLE_S, MAX_SAMPLES = 5.0, 60
MORE_FILES, MORE_THREADS, MORE_RSS, MORE_TASKS = 32, 24, 100.0, 40
"""How much more a process may use than before, once it is idle again. RSS in MB.

Most of the files are connections to both clusters, which stay open for later requests.
"""
FILES_OF_CHILD = 3
"""Pipes to a process that runs code, which stays for the next run."""
EXPIRE = """
update onetool.job_owners set lease_until = now() - interval '1 s'
where workspace_id = any(%s) and lease_until < now() + interval '75 s'
"""
"""Running processes renew their leases of 90 s every 15 s: only leases of killed processes are older."""
OPEN_JOBS = """
select status, count(*) from onetool.jobs where workspace_id = any(%s) and status <> all(%s) group by status
"""


@dataclass
class SeedResult:
    """What is recorded of one run."""

    seed: int
    revision: str
    seconds: float
    faults: list[dict[str, Any]] = field(default_factory=list)
    requests: dict[str, dict[str, int]] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    duration_s: float = 0.0


class SeedRun:
    """One seed: traffic with its faults, then the invariants."""

    def __init__(self, seed: int, seconds: float, plan: Sequence[PlannedFault]) -> None:
        self.seed, self.plan = seed, plan
        self.result = SeedResult(seed, revision(), seconds)
        self.ledger, self.windows = Ledger(), list[Window]()
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(self, template: Template, root: Path) -> SeedResult:
        """Run everything, and return the result."""
        started, names = now(), [planned.name for planned in self.plan]
        async with run_installation(
            template,
            root,
            with_standby="database promoted" in names,
            with_clock="clock step" in names,
        ) as installation:
            self.installation = installation
            self._note("started", started)
            await self._create_places()
            workload = Workload(installation, self.ledger, self.seed)
            try:
                await workload.prepare()
                self._note("prepared", started)
                before = await self._usages()
                await self._run_traffic(workload)
                self._note("traffic ended", started)
                await self._recover(workload)
                await workload.end_sessions()
                await self._compare_usage(before)
                await self._check_revoked(workload)
                await self._check(workload)
                self._note("checked", started)
            except Exception as error:
                self._add("run", "".join(traceback.format_exception(error))[-1_400:])
            finally:
                await workload.close()
        self.result.requests = self.ledger.counts()
        self.result.duration_s = round(now() - started, 1)
        return self.result

    def _note(self, phase: str, started: float) -> None:
        self.result.figures.setdefault("phases", {})[phase] = round(now() - started, 1)

    async def _create_places(self) -> None:
        for number in range(WORKSPACES):
            bad = {"bad": {"url": f"{self.installation.upstream.url}/hostile-mcp/x"}} if number == 1 else {}
            await self.installation.create_place(WEST if number == 1 else HOME, **bad)

    async def _run_traffic(self, workload: Workload) -> None:
        self._started = now()
        running = asyncio.create_task(workload.run())
        sampling = asyncio.create_task(self._sample())
        faults = [asyncio.create_task(self._inject(planned, workload)) for planned in self.plan]
        try:
            await asyncio.sleep(self.result.seconds)
            for result in await asyncio.gather(*faults, return_exceptions=True):
                if isinstance(result, BaseException):
                    self._add("run", f"a fault failed: {result!r}")
        finally:
            sampling.cancel()
            workload.stop()
            await running

    async def _sample(self) -> None:
        """Record the memory of the processes from time to time."""
        samples = self.result.figures["rss_mb"] = list[list[float]]()
        while True:
            running = [process for process in self.installation.processes.values() if process.is_running]
            samples.append([round(now() - self._started), *(process.usage().rss_mb for process in running)])
            await asyncio.sleep(max(SAMPLE_S, self.result.seconds / MAX_SAMPLES))

    async def _inject(self, planned: PlannedFault, workload: Workload) -> None:
        rng = random.Random(f"{self.seed}/{planned.name}")
        fault: Fault = FAULTS[planned.name](self.installation, workload, rng)
        entry: dict[str, Any] = asdict_fault(planned)
        self.result.faults.append(entry)
        await asyncio.sleep(planned.start)
        async with self._locks[fault.group]:
            if not fault.is_possible():
                entry["skipped"] = True
                return
            start = now()
            try:
                await fault.inject()
                await asyncio.sleep(planned.seconds)
            finally:
                await fault.heal()
        end = now()
        entry |= {
            "target": " ".join(filter(None, (fault.target, getattr(fault, "owner", "") or ""))),
            "from": round(start - self._started, 2),
            "to": round(end - self._started, 2),
            "row": fault.row,
        }
        self.windows.append(
            Window(
                fault.name,
                start,
                end + fault.grace_s,
                fault.allows,
                fault.delays_records,
                fault.stopped,
                fault.stopped_at,
                fault.lost_s,
            )
        )

    async def _recover(self, workload: Workload) -> None:
        """Wait until all processes are ready, all jobs have ended and all records are written."""
        started, problems = now(), ["not asked"]
        while problems and now() < started + RECOVERY_S:
            await asyncio.sleep(0.5)
            problems = [problem async for problem in self._problems(workload)]
        self.result.figures["recovery_s"] = round(now() - started, 1)
        for problem in problems:
            self._add("recovery", problem)

    async def _problems(self, workload: Workload) -> Any:
        for process in self.installation.processes.values():
            if not process.is_running:
                yield f"{process.name} has ended: {process.log_end()}"
        for server in self.installation.servers:
            if (status := await server.status()) != "ok":
                yield f"{server.name} says {status!r}"
            for place in self.installation.places:
                client = workload.client(place, "flush")
                reply = await client.request("flush", "GET", "/activity", server=server, expected=("503",))
                await client.close()
                if reply.status != 200:
                    yield f"activity at {server.name}: {reply.status} {reply.text}"
        open_jobs = await asyncio.to_thread(self._open_jobs)
        if open_jobs:
            yield f"jobs that have not ended: {open_jobs}"

    def _open_jobs(self) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for cluster, url in self.installation.urls.items():
            places = [place.id for place in self.installation.places if place.cluster == cluster]
            with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
                connection.execute(EXPIRE.encode(), (places,))
                rows = connection.execute(OPEN_JOBS.encode(), (places, list(ENDED))).fetchall()
            counts.update(dict(rows))
        return counts

    async def _usages(self) -> dict[str, tuple[Usage, int]]:
        """Return what each process uses, and how many tasks it has."""
        processes = self.installation.processes
        return {name: (process.usage(), await process.tasks()) for name, process in processes.items()}

    async def _compare_usage(self, before: dict[str, tuple[Usage, int]]) -> None:
        after = await self._usages()
        self.result.figures["usage"] = {
            name: [[*usage, tasks] for usage, tasks in (before[name], after[name])] for name in before
        }
        for name, (old, old_tasks) in before.items():
            (new, tasks), process = after[name], self.installation.processes[name]
            if new.files > old.files + MORE_FILES + FILES_OF_CHILD * max(0, new.children - old.children):
                self._add("leaks", f"{name}: {old.files} files before, {new.files} after: {files(process)}")
            if new.threads > old.threads + MORE_THREADS:
                self._add("leaks", f"{name}: {old.threads} threads before, {new.threads} after")
            if new.rss_mb > old.rss_mb + MORE_RSS:
                self._add("leaks", f"{name}: {old.rss_mb} MB before, {new.rss_mb} MB after")
            if tasks > old_tasks + MORE_TASKS:
                self._add("leaks", f"{name}: {old_tasks} tasks before, {tasks} after")

    async def _check_revoked(self, workload: Workload) -> None:
        places = {place.slug: place for place in self.installation.places}

        async def check(revoked: RevokedKey, server: ServerProcess) -> None:
            client = workload.client(places[revoked.place], "revoked")
            reply = await client.request(
                "revoked key", "GET", "/me", key=revoked.text, server=server, expected=("401", "429")
            )
            if reply.status not in (401, 429):
                self._add("revoked keys", f"{server.name} says {reply.status} to a revoked key")
            await client.close()

        newest = self.ledger.revoked[-20:]
        # At once: replies to wrong keys are delayed.
        await asyncio.gather(*(check(key, server) for key in newest for server in self.installation.servers))

    async def _check(self, workload: Workload) -> None:
        stored: Stored = await asyncio.to_thread(
            read_stored, self.installation.urls, self.installation.places
        )
        upstream = self.installation.upstream
        evidence = Evidence(self.ledger, stored, upstream.calls, upstream.keys, self.windows)
        self.result.violations += check_all(evidence)
        lost = [c for c in self.ledger.recorded if not stored.calls[c.place, c.id]]
        in_doubt = [
            change
            for change in self.ledger.changes
            if change.verdict == "unknown"
            and stored.things.get((change.place, change.subject, change.target)) == change.value is not None
        ]
        self.result.figures |= {
            "records": len(self.ledger.recorded),
            "records_lost": len(lost),
            "jobs": dict(Counter(stored.jobs.values())),
            "changes": dict(Counter(change.verdict for change in self.ledger.changes)),
            "unknown_but_stored": len(in_doubt),
            "unresolved": dict(stored.unresolved),
            "connections": stored.connections,
        }

    def _add(self, invariant: str, detail: str) -> None:
        self.result.violations.append(Violation(invariant, detail[:1_500]))


def asdict_fault(planned: PlannedFault) -> dict[str, Any]:
    """Return a planned fault for the results."""
    return {"name": planned.name, "planned": [planned.start, planned.seconds]}


def files(process: OneToolProcess) -> dict[str, int]:
    """Return how many files of each kind a process has open."""
    kinds: Counter[str] = Counter()
    for entry in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            kinds[str(entry.readlink()).partition(":")[0]] += 1
        except OSError:
            continue
    return dict(kinds)


def revision() -> str:
    """Return the revision of the project."""
    command = ["git", "describe", "--always", "--dirty"]
    found = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def run_seeds(
    seeds: Iterable[int], seconds: float, results: Path | None, faults: Sequence[str] | None
) -> list[SeedResult]:
    """Run seeds that are not in the file of results yet, and append their results to it."""
    known = {line["seed"] for line in read_results(results)}
    root, template, found = new_root(), Template(), list[SeedResult]()
    try:
        template.create()
        for seed in seeds:
            if seed in known:
                continue
            names = choose_faults(seed, list(FAULTS)) if faults is None else faults
            run = SeedRun(seed, seconds, schedule(seed, names, seconds))
            result = asyncio.run(run.run(template, root / f"seed-{seed}"))
            found.append(result)
            print_result(result)
            if results:
                store_result(result, results, root / f"seed-{seed}")
            delete_root(root / f"seed-{seed}")
    finally:
        template.close()
        delete_root(root)
    return found


def store_result(result: SeedResult, results: Path, root: Path) -> None:
    """Append a result to a file. If an invariant was violated, also keep what the processes have written."""
    with results.open("a") as file:
        file.write(json.dumps(asdict(result)) + "\n")
    if result.violations:
        keep_logs(root, results.with_suffix(f".seed-{result.seed}"))


def keep_logs(root: Path, folder: Path) -> None:
    """Copy what the processes of a run have written."""
    folder.mkdir(exist_ok=True)
    for log in [*root.glob("*/log"), *root.glob("*.log")]:
        (folder / f"{log.parent.name}-{log.name}").write_bytes(log.read_bytes())


def soak(minutes: float, results: Path | None, faults: Sequence[str] | None) -> SeedResult:
    """Run traffic for a long time, with one of the faults each minute."""
    seconds, root = minutes * 60, new_root()
    names = [] if faults is None else list(faults) * max(1, round(minutes))
    plan = schedule(0, [name for name in names if name not in LAST][: round(minutes)], seconds)
    try:
        result = asyncio.run(SeedRun(0, seconds, plan).run(Template().create(), root / "soak"))
        if not plan:
            result.figures["growth"] = _growth(result.figures["rss_mb"])
        print_result(result)
        if results:
            store_result(result, results, root / "soak")
    finally:
        delete_root(root)
    return result


def _growth(samples: list[list[float]]) -> list[float]:
    """Return the factor by which the memory of each process has grown in the second half of a run."""
    _, *middle = samples[len(samples) // 2]
    _, *last = samples[-1]
    return [round(now / before, 3) for before, now in zip(middle, last, strict=True)]


def read_results(results: Path | None) -> list[dict[str, Any]]:
    """Return the lines of a file of results."""
    if results is None or not results.exists():
        return []
    return [json.loads(line) for line in results.read_text().splitlines()]


def print_result(result: SeedResult) -> None:
    """Print a run in a few lines."""
    total = sum(sum(outcomes.values()) for outcomes in result.requests.values())
    print(f"seed {result.seed}: {total} requests in {result.seconds:.0f} s, {result.duration_s} s in all")
    for fault in result.faults:
        times = "skipped" if fault.get("skipped") else f"{fault.get('from')} - {fault.get('to')} s"
        print(f"  {fault['name']} {fault.get('target', '')}: {times}")
    print(f"  {json.dumps(result.figures)}")
    for violation in result.violations:
        print(f"  VIOLATION {violation.invariant}: {violation.detail}")


def print_summary(lines: Sequence[dict[str, Any]]) -> None:
    """Print how often each fault was injected, and which invariants failed."""
    drawn: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for line in lines:
        drawn.update(fault["name"] for fault in line["faults"] if not fault.get("skipped"))
        failed.update({violation[0] for violation in line["violations"]})
    print(f"{len(lines)} seeds, {sum(1 for line in lines if not line['violations'])} without a violation")
    for name in FAULTS:
        print(f"  {name:24} {drawn[name]:3}")
    for invariant, count in failed.most_common():
        print(f"  failed: {invariant}: {count} seeds")
