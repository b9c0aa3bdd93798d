"""Tools found by meaning as well: learnt behind the back of queries, never in their way."""

import logging
import subprocess
import sys
import threading

import pytest

from onetool.catalog import discovery
from onetool.catalog.discovery import Discovery
from onetool.domain.bundle import Filter
from onetool.domain.caller import Caller, grant
from onetool.embeddings.bert_meanings import BertMeanings
from onetool.testing import memory_runtime
from onetool.threads import Threads
from tiny_model import write_model

ANYBODY = Caller(door="python", approve=grant)


def read_rain(city: str) -> str:
    """Tell how much it rains in a city."""
    return city


def send_mail(to: str) -> str:
    """Send a letter to somebody."""
    return to


PACKS = {"weather": [read_rain], "post": [send_mail]}


class Umbrellas:
    """Knows one thing: umbrellas have to do with rain."""

    def __init__(self) -> None:
        self.learnt, self.go = [], threading.Event()
        self.go.set()

    def learn(self, texts):
        assert self.go.wait(30)
        self.learnt.append(list(texts))
        near = [(place, 0.9 if "rain" in text else 0.0) for place, text in enumerate(texts)]
        return lambda query, limit: (
            sorted(near, key=lambda one: -one[1])[:limit] if query == "umbrella" else []
        )


async def names(found: Discovery, query: str, caller: Caller = ANYBODY) -> list[str]:
    return [spec.name for spec in await found.find(query, caller, 5)]


async def test_meaning_joins_words_once_it_is_learnt():
    """Until then words answer alone, at once; learning begins after an answer and happens once."""
    umbrellas = Umbrellas()
    umbrellas.go.clear()
    async with memory_runtime(PACKS) as ot:
        found = Discovery(ot.runtime.catalog, Threads(), meanings=umbrellas)
        await found.learnt()
        assert await names(found, "umbrella") == []
        assert (await names(found, "letter"))[0] == "post.send_mail"
        umbrellas.go.set()
        await found.learnt()
        assert await names(found, "umbrella") == ["weather.read_rain"]
        assert (await names(found, "letter"))[0] == "post.send_mail"
        await found.learnt()
        assert len(umbrellas.learnt) == 1
        assert "weather read rain: Tell how much it rains in a city." in umbrellas.learnt[0]
        assert found.problem == ""


async def test_only_what_the_caller_may_call_is_near():
    """An allow-list holds for meaning as it does for words."""
    caller = Caller(door="ask", allowed=frozenset({"post.send_mail"}), approve=grant)
    async with memory_runtime(PACKS) as ot:
        found = Discovery(ot.runtime.catalog, Threads(), meanings=Umbrellas())
        await names(found, "x")
        await found.learnt()
        assert await names(found, "umbrella") == ["weather.read_rain"]
        assert await names(found, "umbrella", caller) == []


async def test_a_change_is_learnt_anew():
    """What was learnt of other tools is not used: it counts places."""
    umbrellas = Umbrellas()
    async with memory_runtime(PACKS) as ot:
        found = Discovery(ot.runtime.catalog, Threads(), meanings=umbrellas)
        await names(found, "x")
        await found.learnt()
        page = await ot.runtime.bundles.list_bundles(Filter(include_disabled=True), None, 100)
        weather = next(bundle for bundle in page.items if bundle.slug == "weather")
        await ot.runtime.bundles.switch_bundle(weather.id, False)
        assert await names(found, "umbrella") == []
        await found.learnt()
        assert await names(found, "umbrella") == []
        await ot.runtime.bundles.switch_bundle(weather.id, True)
        await names(found, "umbrella")
        await found.learnt()
        assert await names(found, "umbrella") == ["weather.read_rain"]
        assert len(umbrellas.learnt) == 3


class Broken:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def learn(self, texts):
        raise self._error


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (ImportError("install the extra"), logging.INFO),
        (FileNotFoundError("install the model"), logging.INFO),
        (ValueError("damaged"), logging.WARNING),
    ],
)
async def test_words_go_on_where_meaning_cannot(caplog, monkeypatch, error, level):
    """One line says what would help, and so does `problem`; what was never wanted is no warning."""
    caplog.set_level(logging.INFO, logger=discovery.__name__)
    monkeypatch.setattr(discovery.log, "handlers", [caplog.handler])  # a runtime keeps its records to itself
    async with memory_runtime(PACKS) as ot:
        found = Discovery(ot.runtime.catalog, Threads(), meanings=Broken(error))
        for _ in range(2):
            assert (await names(found, "letter"))[0] == "post.send_mail"
            await found.learnt()
        assert str(error) in found.problem
        said = [one for one in caplog.records if "found by words alone" in one.message]
        assert [one.levelno for one in said] == [level]


async def test_too_many_tools_are_not_learnt(monkeypatch):
    """A very large catalog stays with words, and says so."""
    monkeypatch.setattr(discovery, "MOST_LEARNT", 1)
    umbrellas = Umbrellas()
    async with memory_runtime(PACKS) as ot:
        found = Discovery(ot.runtime.catalog, Threads(), meanings=umbrellas)
        await names(found, "x")
        await found.learnt()
        assert umbrellas.learnt == []
        assert "more than the 1 whose meanings" in found.problem


async def test_a_model_answers_together_with_words(tmp_path):
    """The real adapter, with a model of random weights: the very text of a tool is nearest to it."""
    write_model(tmp_path / "model")
    meanings = BertMeanings(tmp_path / "model", tmp_path / "cache")
    async with memory_runtime(PACKS) as ot:
        found = Discovery(ot.runtime.catalog, Threads(), meanings=meanings)
        await names(found, "x")
        await found.learnt()
        query = "weather read rain: Tell how much it rains in a city."
        assert (await names(found, query))[0] == "weather.read_rain"


def test_without_the_extra_tools_are_found_by_words():
    """As on a machine that never heard of numpy."""
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "import asyncio\n"
        "from pathlib import Path\n"
        "from onetool.catalog.discovery import Discovery\n"
        "from onetool.domain.caller import Caller, grant\n"
        "from onetool.embeddings.bert_meanings import BertMeanings\n"
        "from onetool.testing import memory_runtime\n"
        "from onetool.threads import Threads\n"
        "async def main():\n"
        "    async with memory_runtime() as ot:\n"
        "        meanings = BertMeanings(Path('m'), Path('c'))\n"
        "        found = Discovery(ot.runtime.catalog, Threads(), meanings=meanings)\n"
        "        for _ in range(2):\n"
        "            specs = await found.find('read a text file', Caller(door='python', approve=grant), 1)\n"
        "            await found.learnt()\n"
        "        print(specs[0].name, found.problem)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith("fs.read_file "), done.stderr
    assert "pip install 'onetool[semantic]'" in done.stdout
