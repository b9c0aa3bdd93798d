"""Is the right tool found, and are poisoned ones? Ours beside plain BM25, on graded queries and tasks."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.figures import Figure, Table
from benchmarks.given_data import SERVERS, TASKS, Absent, read
from benchmarks.options import Options
from benchmarks.rankings import PlainBm25, Query, Ranking, WordsAndMeaning, qualities
from onetool.domain.finding import Entry, Finder
from onetool.domain.poisoning import scan
from onetool.embeddings.bert_meanings import BertMeanings

Made = Callable[[Sequence[Entry]], Ranking]
GRADED = ("recall@1", "recall@3", "recall@5", "recall@10", "MRR", "nDCG@10")
HITS = ("hit@1", "hit@5", "MRR")
NOTE = "Each cell: how many times plain BM25's value ours is, and both values; 1.000 would be perfect."


async def measure(options: Options) -> list[Table]:
    """How good searches are, and what the scanner of descriptions finds."""
    rankings, note = _rankings(options)
    parts = {
        "Discovery: graded queries": graded,
        "Discovery: real tasks": tasks,
        "Poisoned descriptions": poisoned,
    }
    tables = []
    for title, part in parts.items():
        try:
            tables.append(part(options, rankings, title, note))
        except Absent as absent:
            tables.append(absent.table(title))
    return tables


def graded(options: Options, rankings: Mapping[str, Made], title: str, note: str) -> Table:
    """Rank the graded queries: which tools fit is known, and how well."""
    tools, golden = read(options, "discovery/tools.json", "discovery/golden.json")
    entries = [
        _entry(t["tool_id"], t["server"], t["tool"], t["description"], t["schema"]) for t in tools["tools"]
    ]
    queries = [
        (
            one["query"],
            {label["tool_id"]: label["relevance"] for label in one["labels"] if label["relevance"]},
        )
        for one in golden["queries"]
    ]
    rows = _rows(f"{len(queries)} queries, {len(entries)} tools", entries, queries, rankings, GRADED)
    return Table(title, note, ("what", "who", *GRADED), rows)


def tasks(options: Options, rankings: Mapping[str, Made], title: str, note: str) -> Table:
    """Rank the steps of tasks, and whole tasks, against the tools that they need."""
    servers, asked = read(options, SERVERS, TASKS)
    entries = [
        _entry(f"{s['server']}:{t['name']}", s["server"], t["name"], t["description"], t["inputSchema"])
        for s in servers
        for t in s["tools"]
    ]
    known = [(task, dict.fromkeys(task["relevant"], 1)) for task in asked if task["relevant"]]
    steps = [(step, needed) for task, needed in known for step in task["steps"]]
    questions = [(task["question"], needed) for task, needed in known]
    table = Table(title, note, ("what", "who", *HITS))
    table.rows += _rows(f"{len(steps)} steps, {len(entries)} tools", entries, steps, rankings, HITS)
    table.rows += _rows(f"{len(questions)} whole tasks", entries, questions, rankings, HITS)
    return table


def poisoned(options: Options, rankings: Mapping[str, Made], title: str, note: str) -> Table:
    """Scan descriptions of which it is known whether they are poisoned, and those of real servers."""
    (descriptions,) = read(options, "poisoning/descriptions.json")
    found: Counter[tuple[bool, bool]] = Counter(
        (one["label"] == "malicious", bool(scan(one["description"]))) for one in descriptions["entries"]
    )
    bad, good = (found[is_bad, True] + found[is_bad, False] for is_bad in (True, False))
    rows = [
        ("poisoned descriptions", found[True, True], bad),
        ("honest descriptions", found[False, True], good),
    ]
    (servers,) = read(options, SERVERS)
    real = [tool for server in servers for tool in server["tools"]]
    rows.append(("tools of real servers", sum(any(map(scan, _descriptions(one))) for one in real), len(real)))
    return Table(
        title,
        "How many the scanner flags: of the first all should be, of the others none.",
        ("what", "flagged", "of"),
        list(rows),
    )


def _rankings(options: Options) -> tuple[dict[str, Made], str]:
    """Ours, and a line for the reader."""
    rankings: dict[str, Made] = {"words": Finder}
    if options.model is None:
        return rankings, f"{NOTE} Meaning was left out: name a model's directory in ONETOOL_TEST_MODEL."
    meanings = BertMeanings(options.model, options.cache / "meanings")
    try:
        meanings.learn(())
    except (ImportError, FileNotFoundError) as error:
        return rankings, f"{NOTE} Meaning was left out: {error}"
    return {**rankings, "words and meaning": partial(WordsAndMeaning, meanings)}, NOTE


def _rows(
    what: str,
    entries: Sequence[Entry],
    queries: Sequence[Query],
    rankings: Mapping[str, Made],
    shown: Sequence[str],
) -> list[Sequence[Any]]:
    plain = qualities(PlainBm25(entries), queries)
    rows = list[Sequence[Any]]()
    for who, make in rankings.items():
        ours = qualities(make(entries), queries)
        rows.append((what, who, *(Figure(plain[one], ours[one], "part") for one in shown)))
    return rows


def _entry(key: str, server: str, name: str, description: str | None, schema: Any) -> Entry:
    parameters = list((schema or {}).get("properties", {}))
    return Entry(key=key, name=name, description=description or "", parameters=parameters, tags=[server])


def _descriptions(said: Any) -> Iterator[str]:
    """Every description in a definition, those of parameters included."""
    for key, value in said.items() if isinstance(said, dict) else enumerate(said):
        if key == "description" and isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from _descriptions(value)
