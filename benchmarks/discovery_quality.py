"""`python -m benchmarks.discovery_quality --data DIR`: is the right tool found, and are poisoned ones?

DIR holds graded queries (`discovery`), tasks with the tools they need (`livemcp`) and poisoned and honest
descriptions (`poisoning`); what is absent is passed over with a line. Plain BM25 stands beside ours, and so
does meaning with words where `--model DIR` names a model and the extra `semantic` is installed.
"""

import argparse
import json
import math
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from onetool.catalog.discovery import CANDIDATES
from onetool.domain.finding import Entry, Finder
from onetool.domain.finding_mix import mix, text_of
from onetool.domain.poisoning import scan
from onetool.embeddings.bert_meanings import BertMeanings
from onetool.ports import Meanings

CUTS = (1, 3, 5, 10)
DEPTH = max(CUTS)
Query = tuple[str, Mapping[str, int]]
"""What is asked, and the grade of each tool that answers it."""


class Ranking(Protocol):
    """Whatever ranks tools for a query."""

    def find(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Return keys with scores, the best first."""
        ...


class PlainBm25:
    """The textbook: all words of a tool in one bag, no stems, no fields."""

    K1, B = 1.2, 0.75

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._keys = [entry.key for entry in entries]
        self._bags = [Counter(_bag(entry)) for entry in entries]
        self._usual = sum(map(Counter.total, self._bags)) / len(self._bags)
        having = Counter(word for bag in self._bags for word in bag)
        total = len(entries)
        self._rarity = {word: math.log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in having.items()}

    def find(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Return keys with scores, the best first."""
        wanted = re.findall(r"\w+", query.lower())
        scored = [(-self._score(bag, wanted), index) for index, bag in enumerate(self._bags)]
        return [(self._keys[index], -score) for score, index in sorted(scored)[:limit] if score]

    def _score(self, bag: Counter[str], wanted: Sequence[str]) -> float:
        length = self.K1 * (1 - self.B + self.B * bag.total() / self._usual)
        return sum(self._rarity[w] * bag[w] * (self.K1 + 1) / (bag[w] + length) for w in wanted if w in bag)


class WordsAndMeaning:
    """What discovery answers with once the meanings are learnt."""

    def __init__(self, meanings: Meanings, entries: Sequence[Entry]) -> None:
        self._entries, self._finder = entries, Finder(entries)
        self._nearest = meanings.learn([text_of(entry) for entry in entries])

    def find(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Return keys with scores, the best first."""
        by_words = [key for key, _ in self._finder.find(query, CANDIDATES)]
        near = [(self._entries[place].key, near) for place, near in self._nearest(query, CANDIDATES)]
        return [(key, 1 / place) for place, key in enumerate(mix(by_words, near, limit), 1)]


RANKINGS: dict[str, Callable[[Sequence[Entry]], Ranking]] = {"onetool": Finder, "plain BM25": PlainBm25}


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--data", type=Path, required=True, help="directory with discovery, livemcp, poisoning"
    )
    parser.add_argument("--model", type=Path, help="directory of the embedding model")
    given = parser.parse_args()
    _add_meaning(given.model)
    data: Path = given.data
    for part, files in PARTS:
        missing = [name for name in files if not (data / name).is_file()]
        if missing:
            print(f"skipped: {data / missing[0]} is not there")
            continue
        part(*(json.loads((data / name).read_text("utf-8")) for name in files))
    return 0


def _add_meaning(model: Path | None) -> None:
    if model is None:
        print("skipped: words and meaning (give --model DIR; onetool search install-model fetches one)\n")
        return
    meanings = BertMeanings(model, Path(tempfile.gettempdir()) / "onetool-discovery-quality")
    try:
        meanings.learn(())
    except (ImportError, FileNotFoundError) as error:
        print(f"skipped: words and meaning ({error})\n")
    else:
        RANKINGS["words and meaning"] = partial(WordsAndMeaning, meanings)


def graded(tools: Any, golden: Any) -> None:
    """Rank the graded queries: which tools fit is known, and how well."""
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
    _table(f"discovery: {len(queries)} graded queries, {len(entries)} tools", entries, queries)


def tasks(servers: Any, asked: Any) -> None:
    """Rank the steps of tasks, and whole tasks, against the tools that they need."""
    entries = [
        _entry(f"{s['server']}:{t['name']}", s["server"], t["name"], t["description"], t["inputSchema"])
        for s in servers
        for t in s["tools"]
    ]
    known = [(task, dict.fromkeys(task["relevant"], 1)) for task in asked if task["relevant"]]
    steps = [(step, needed) for task, needed in known for step in task["steps"]]
    _table(f"livemcp: {len(steps)} steps, {len(entries)} tools", entries, steps)
    questions = [(task["question"], needed) for task, needed in known]
    _table(f"livemcp: {len(questions)} whole tasks", entries, questions)
    flagged = [t["name"] for s in servers for t in s["tools"] if any(map(scan, _descriptions(t)))]
    print(f"scanner, livemcp: {len(flagged)} of {len(entries)} honest tools flagged {flagged or ''}\n")


def poisoned(descriptions: Any) -> None:
    """Scan descriptions of which it is known whether they are poisoned."""
    found: Counter[tuple[bool, bool]] = Counter(
        (one["label"] == "malicious", bool(scan(one["description"]))) for one in descriptions["entries"]
    )
    bad, good = (found[is_bad, True] + found[is_bad, False] for is_bad in (True, False))
    wrong = found[False, True]
    print(f"scanner, poisoning: {found[True, True]} of {bad} found, {wrong} of {good} honest ones flagged")


PARTS: tuple[tuple[Callable[..., None], tuple[str, ...]], ...] = (
    (graded, ("discovery/tools.json", "discovery/golden.json")),
    (tasks, ("livemcp/servers.json", "livemcp/tasks.json")),
    (poisoned, ("poisoning/descriptions.json",)),
)


def _table(title: str, entries: Sequence[Entry], queries: Sequence[Query]) -> None:
    print(title)
    for name, make in RANKINGS.items():
        figures = _figures(make(entries), queries)
        print(f"  {name:<18}" + "".join(f"{what} {value:.3f}  " for what, value in figures.items()))
    print()


def _figures(ranking: Ranking, queries: Sequence[Query]) -> dict[str, float]:
    totals: defaultdict[str, float] = defaultdict(float)
    for query, grades in queries:
        found = [grades.get(key, 0) for key, _ in ranking.find(query, DEPTH)]
        for cut in CUTS:
            totals[f"recall@{cut}"] += sum(map(bool, found[:cut])) / len(grades)
        for cut in CUTS:
            totals[f"hit@{cut}"] += any(found[:cut])
        totals["MRR"] += next((1 / place for place, grade in enumerate(found, 1) if grade), 0)
        best = sorted(grades.values(), reverse=True)[:DEPTH]
        totals["nDCG@10"] += _gain(found) / _gain(best)
    return {what: total / len(queries) for what, total in totals.items()}


def _gain(grades: Sequence[int]) -> float:
    return sum(((1 << grade) - 1) / math.log2(place + 1) for place, grade in enumerate(grades, 1))


def _entry(key: str, server: str, name: str, description: str | None, schema: Any) -> Entry:
    parameters = list((schema or {}).get("properties", {}))
    return Entry(key=key, name=name, description=description or "", parameters=parameters, tags=[server])


def _bag(entry: Entry) -> list[str]:
    text = " ".join((entry.name, entry.description, *entry.parameters, *entry.tags))
    return re.findall(r"\w+", text.lower().replace("_", " "))


def _descriptions(said: Any) -> Iterator[str]:
    """Every description in a definition, those of parameters included."""
    for key, value in said.items() if isinstance(said, dict) else enumerate(said):
        if key == "description" and isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from _descriptions(value)


if __name__ == "__main__":
    sys.exit(main())
