"""Search quality compared with plain BM25, and detection of poisoned descriptions."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.figures import Figure, Table
from benchmarks.given_data import SERVERS, TASKS, MissingData, read
from benchmarks.options import Options
from benchmarks.rankings import PlainBm25, Query, Ranking, WordsAndSemantic, qualities
from onetool.domain.injection.scanner import scan
from onetool.domain.search.tool_index import SearchEntry, ToolIndex
from onetool.embeddings.bert_embedder import BertEmbedder

RankingFactory = Callable[[Sequence[SearchEntry]], Ranking]
GRADED = ("recall@1", "recall@3", "recall@5", "recall@10", "MRR", "nDCG@10")
HITS = ("hit@1", "hit@5", "MRR")
NOTE = "Each cell is the ratio to plain BM25, followed by both values; 1.000 is the best possible value."


async def measure(options: Options) -> list[Table]:
    """Measure search quality and the prompt injection scanner."""
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
        except MissingData as missing:
            tables.append(missing.table(title))
    return tables


def graded(options: Options, rankings: Mapping[str, RankingFactory], title: str, note: str) -> Table:
    """Rank queries for which the relevance of each tool is known."""
    tools, golden = read(options, "discovery/tools.json", "discovery/golden.json")
    entries = [
        _entry(t["tool_id"], t["server"], t["tool"], t["description"], t["schema"]) for t in tools["tools"]
    ]
    queries = [
        (
            query["query"],
            {label["tool_id"]: label["relevance"] for label in query["labels"] if label["relevance"]},
        )
        for query in golden["queries"]
    ]
    rows = _rows(f"{len(queries)} queries, {len(entries)} tools", entries, queries, rankings, GRADED)
    return Table(title, note, ("data", "ranking", *GRADED), rows)


def tasks(options: Options, rankings: Mapping[str, RankingFactory], title: str, note: str) -> Table:
    """Rank steps of tasks and whole tasks against the tools that they need."""
    servers, all_tasks = read(options, SERVERS, TASKS)
    entries = [
        _entry(f"{s['server']}:{t['name']}", s["server"], t["name"], t["description"], t["inputSchema"])
        for s in servers
        for t in s["tools"]
    ]
    solvable = [(task, dict.fromkeys(task["relevant"], 1)) for task in all_tasks if task["relevant"]]
    steps = [(step, needed) for task, needed in solvable for step in task["steps"]]
    questions = [(task["question"], needed) for task, needed in solvable]
    table = Table(title, note, ("data", "ranking", *HITS))
    table.rows += _rows(f"{len(steps)} steps, {len(entries)} tools", entries, steps, rankings, HITS)
    table.rows += _rows(f"{len(questions)} whole tasks", entries, questions, rankings, HITS)
    return table


def poisoned(options: Options, rankings: Mapping[str, RankingFactory], title: str, note: str) -> Table:
    """Scan labeled descriptions and the descriptions of real servers."""
    (descriptions,) = read(options, "poisoning/descriptions.json")
    counts: Counter[tuple[bool, bool]] = Counter(
        (entry["label"] == "malicious", bool(scan(entry["description"]))) for entry in descriptions["entries"]
    )
    bad, good = (counts[is_bad, True] + counts[is_bad, False] for is_bad in (True, False))
    rows = [
        ("poisoned descriptions", counts[True, True], bad),
        ("harmless descriptions", counts[False, True], good),
    ]
    (servers,) = read(options, SERVERS)
    real = [tool for server in servers for tool in server["tools"]]
    rows.append(
        ("tools of real servers", sum(any(map(scan, _descriptions(tool))) for tool in real), len(real))
    )
    return Table(
        title,
        "Descriptions that the scanner flags: it should flag all of the first row and none of the others.",
        ("data", "flagged", "total"),
        list(rows),
    )


def _rankings(options: Options) -> tuple[dict[str, RankingFactory], str]:
    """Return the rankings to measure and a note for the table."""
    rankings: dict[str, RankingFactory] = {"words": ToolIndex}
    if options.model is None:
        return (
            rankings,
            f"{NOTE} Semantic search was skipped: set ONETOOL_TEST_MODEL to the directory of a model.",
        )
    embedder = BertEmbedder(options.model, options.cache / "embedder")
    try:
        embedder.index(())
    except (ImportError, FileNotFoundError) as error:
        return rankings, f"{NOTE} Semantic search was skipped: {error}"
    return {**rankings, "words and semantic": partial(WordsAndSemantic, embedder)}, NOTE


def _rows(
    data: str,
    entries: Sequence[SearchEntry],
    queries: Sequence[Query],
    rankings: Mapping[str, RankingFactory],
    metrics: Sequence[str],
) -> list[Sequence[Any]]:
    plain = qualities(PlainBm25(entries), queries)
    rows = list[Sequence[Any]]()
    for name, create in rankings.items():
        ours = qualities(create(entries), queries)
        rows.append((data, name, *(Figure(plain[metric], ours[metric], "part") for metric in metrics)))
    return rows


def _entry(key: str, server: str, name: str, description: str | None, schema: Any) -> SearchEntry:
    parameters = list((schema or {}).get("properties", {}))
    return SearchEntry(
        key=key, name=name, description=description or "", parameters=parameters, tags=[server]
    )


def _descriptions(definition: Any) -> Iterator[str]:
    """Yield all descriptions in a definition, including those of parameters."""
    for key, value in definition.items() if isinstance(definition, dict) else enumerate(definition):
        if key == "description" and isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from _descriptions(value)
