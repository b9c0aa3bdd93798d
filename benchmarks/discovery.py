"""Search quality compared with plain BM25, and detection of poisoned descriptions."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.figures import Figure, Table
from benchmarks.given_data import SERVERS, TASKS, MissingData, read
from benchmarks.graded_queries import agreement, load_queries
from benchmarks.options import Options
from benchmarks.rankings import PlainBm25, Query, Ranking, WordsAndSemantic, interval, mean, qualities
from onetool.domain.injection.scanner import scan
from onetool.domain.search.terms import SearchEntry
from onetool.domain.search.tool_index import ToolIndex
from onetool.embeddings.bert_embedder import BertEmbedder

RankingFactory = Callable[[Sequence[SearchEntry]], Ranking]
GRADED = ("recall@1", "recall@3", "recall@5", "recall@10", "MRR", "nDCG@10")
HITS = ("hit@1", "hit@5", "MRR")
NOTE = (
    "Each cell is the ratio to plain BM25, followed by both values and the 95 % interval of ours, by "
    "resampling the queries; 1.000 is the best possible value."
)


async def measure(options: Options) -> list[Table]:
    """Measure search quality and the prompt injection scanner."""
    rankings, note = _rankings(options)
    parts = {
        "Discovery: graded queries": graded,
        "Discovery: own queries": own_queries,
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


def own_queries(options: Options, rankings: Mapping[str, RankingFactory], title: str, note: str) -> Table:
    """Rank the queries that were written for this benchmark."""
    (servers,) = read(options, SERVERS)
    entries, all_queries = _server_entries(servers), load_queries()
    table = Table(
        title,
        f"{note} Cohen's kappa of the two passes of grading is {agreement(all_queries):.2f}. It overstates "
        "the reliability: one author wrote the queries and graded them in both passes. Parameters of the "
        "ranking were chosen with the development queries and the other data, not with the held-out queries. "
        "The synonyms were listed by the author of the queries, who knew the held-out ones, so the gain of "
        "the words there may be overstated.",
        ("data", "ranking", *GRADED),
    )
    for name in ("development", "held-out"):
        queries = [(query.query, query.relevant) for query in all_queries if query.set == name]
        data = f"{len(queries)} {name} queries, {len(entries)} tools"
        table.rows += _rows(data, entries, queries, rankings, GRADED)
    return table


def tasks(options: Options, rankings: Mapping[str, RankingFactory], title: str, note: str) -> Table:
    """Rank steps of tasks and whole tasks against the tools that they need.

    A step is compared with all tools of its task, because the data does not say which tool a step needs.
    """
    servers, all_tasks = read(options, SERVERS, TASKS)
    entries = _server_entries(servers)
    solvable = [(task, dict.fromkeys(task["relevant"], 1)) for task in all_tasks if task["relevant"]]
    steps = [(step, needed) for task, needed in solvable for step in task["steps"]]
    single = [query for task in all_tasks for query in _single_steps(task)]
    questions = [(task["question"], needed) for task, needed in solvable]
    table = Table(title, note, ("data", "ranking", *HITS))
    table.rows += _rows(f"{len(steps)} steps, {len(entries)} tools", entries, steps, rankings, HITS)
    table.rows += _rows(f"{len(single)} steps with one tool each", entries, single, rankings, HITS)
    table.rows += _rows(f"{len(questions)} whole tasks", entries, questions, rankings, HITS)
    return table


def _single_steps(task: Any) -> Iterator[Query]:
    """Yield the steps of a task with as many steps as tools, each with the tool at the same position."""
    if len(task["steps"]) == len(task["tools"]):
        for step, name in zip(task["steps"], task["tools"], strict=True):
            needed = {tool: 1.0 for tool in task["relevant"] if tool.partition(":")[2] == name}
            if needed:
                yield step, needed


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
        figures = (
            Figure(mean(plain[metric]), mean(ours[metric]), "part", interval(ours[metric]))
            for metric in metrics
        )
        rows.append((data, name, *figures))
    return rows


def _server_entries(servers: Any) -> list[SearchEntry]:
    return [
        _entry(f"{s['server']}:{t['name']}", s["server"], t["name"], t["description"], t["inputSchema"])
        for s in servers
        for t in s["tools"]
    ]


def _entry(key: str, server: str, name: str, description: str | None, schema: Any) -> SearchEntry:
    """Return the entry that the catalog search creates for a tool of a server."""
    parameters = list((schema or {}).get("properties", {}))
    return SearchEntry(key=key, name=f"{server}.{name}", description=description or "", parameters=parameters)


def _descriptions(definition: Any) -> Iterator[str]:
    """Yield all descriptions in a definition, including those of parameters."""
    for key, value in definition.items() if isinstance(definition, dict) else enumerate(definition):
        if key == "description" and isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from _descriptions(value)
