"""Semantic search: tools are embedded in the background and found by meaning too."""

import logging
import subprocess
import sys
import threading

import pytest

from embeddings.tiny_model import write_model
from onetool.catalog import tool_search
from onetool.catalog.tool_search import CatalogSearch
from onetool.domain.bundles.bundle import BundleFilter
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.embeddings.bert_embedder import BertEmbedder
from onetool.files.installation import extra_command
from onetool.testing import memory_runtime
from onetool.threads import Threads

CALLER = Caller(interface="python", default_effect=Effect.ALLOW)


def read_rain(city: str) -> str:
    """Measure how much it rains in a city."""
    return city


def send_mail(to: str) -> str:
    """Send a letter to a person."""
    return to


PACKS = {"weather": [read_rain], "post": [send_mail]}


class UmbrellaEmbedder:
    """Finds texts about rain for the query `umbrella`, and nothing for any other query."""

    def __init__(self) -> None:
        self.indexed, self.may_index = [], threading.Event()
        self.may_index.set()

    def index(self, entries):
        assert self.may_index.wait(30)
        self.indexed.append(list(entries))
        similarities = [
            (position, 0.9 if "rain" in texts[0] else 0.0) for position, texts in enumerate(entries)
        ]
        return lambda query, limit: (
            sorted(similarities, key=lambda pair: -pair[1])[:limit] if query == "umbrella" else []
        )


async def names(search: CatalogSearch, query: str, caller: Caller = CALLER) -> list[str]:
    return [spec.name for spec in (await search.find(query, caller, 5)).specs]


async def test_tools_are_found_by_meaning_once_they_are_embedded():
    """Until then they are found by words. Embedding starts after the first search and happens once."""
    embedder = UmbrellaEmbedder()
    embedder.may_index.clear()
    async with memory_runtime(PACKS) as ot:
        search = CatalogSearch(ot.runtime.state.catalog, Threads(), embedder=embedder)
        await search.wait_until_indexed()
        assert await names(search, "umbrella") == []
        assert (await names(search, "letter"))[0] == "post.send_mail"
        embedder.may_index.set()
        await search.wait_until_indexed()
        assert await names(search, "umbrella") == ["weather.read_rain"]
        assert (await names(search, "letter"))[0] == "post.send_mail"
        await search.wait_until_indexed()
        assert len(embedder.indexed) == 1
        assert ("weather read rain", "Measure how much it rains in a city.") in embedder.indexed[0]
        assert search.problem == ""


async def test_semantic_search_respects_the_allow_list():
    caller = Caller(interface="ask", allowed=frozenset({"post.send_mail"}), default_effect=Effect.ALLOW)
    async with memory_runtime(PACKS) as ot:
        search = CatalogSearch(ot.runtime.state.catalog, Threads(), embedder=UmbrellaEmbedder())
        await names(search, "x")
        await search.wait_until_indexed()
        assert await names(search, "umbrella") == ["weather.read_rain"]
        assert await names(search, "umbrella", caller) == []


async def test_changed_catalog_is_embedded_again():
    """Old embeddings are not used, because they refer to tools by position."""
    embedder = UmbrellaEmbedder()
    async with memory_runtime(PACKS) as ot:
        search = CatalogSearch(ot.runtime.state.catalog, Threads(), embedder=embedder)
        await names(search, "x")
        await search.wait_until_indexed()
        page = await ot.runtime.state.bundles.list_bundles(BundleFilter(include_disabled=True), None, 100)
        weather = next(bundle for bundle in page.items if bundle.slug == "weather")
        await ot.runtime.state.bundles.set_bundle_enabled(weather.id, False)
        assert await names(search, "umbrella") == []
        await search.wait_until_indexed()
        assert await names(search, "umbrella") == []
        await ot.runtime.state.bundles.set_bundle_enabled(weather.id, True)
        await names(search, "umbrella")
        await search.wait_until_indexed()
        assert await names(search, "umbrella") == ["weather.read_rain"]
        assert len(embedder.indexed) == 3


class FailingEmbedder:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def index(self, entries):
        raise self._error


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (ImportError("install the extra"), logging.INFO),
        (FileNotFoundError("install the model"), logging.INFO),
        (ValueError("damaged"), logging.WARNING),
    ],
)
async def test_search_by_words_works_if_embedding_fails(caplog, monkeypatch, error, level):
    """The log and `problem` say what would help. A missing extra or model is not a warning."""
    caplog.set_level(logging.INFO, logger=tool_search.__name__)
    monkeypatch.setattr(
        tool_search.log, "handlers", [caplog.handler]
    )  # a runtime does not propagate its records
    async with memory_runtime(PACKS) as ot:
        search = CatalogSearch(ot.runtime.state.catalog, Threads(), embedder=FailingEmbedder(error))
        for _ in range(2):
            assert (await names(search, "letter"))[0] == "post.send_mail"
            await search.wait_until_indexed()
        assert str(error) in search.problem
        records = [record for record in caplog.records if "found by words only" in record.message]
        assert [record.levelno for record in records] == [level]


async def test_too_many_tools_are_not_embedded(monkeypatch):
    monkeypatch.setattr(tool_search, "MAX_EMBEDDED", 1)
    embedder = UmbrellaEmbedder()
    async with memory_runtime(PACKS) as ot:
        search = CatalogSearch(ot.runtime.state.catalog, Threads(), embedder=embedder)
        await names(search, "x")
        await search.wait_until_indexed()
        assert embedder.indexed == []
        assert "exceed the limit of 1 for semantic search" in search.problem


async def test_search_with_a_real_embedder(tmp_path):
    """With random weights, the text of a tool is still closest to itself."""
    write_model(tmp_path / "model")
    embedder = BertEmbedder(tmp_path / "model", tmp_path / "cache")
    async with memory_runtime(PACKS) as ot:
        search = CatalogSearch(ot.runtime.state.catalog, Threads(), embedder=embedder)
        await names(search, "x")
        await search.wait_until_indexed()
        query = "Measure how much it rains in a city."
        assert (await names(search, query))[0] == "weather.read_rain"


def test_tools_are_found_by_words_without_numpy():
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "import asyncio\n"
        "from pathlib import Path\n"
        "from onetool.catalog.tool_search import CatalogSearch\n"
        "from onetool.domain.calls.caller import Caller\n"
        "from onetool.domain.calls.effect import Effect\n"
        "from onetool.embeddings.bert_embedder import BertEmbedder\n"
        "from onetool.testing import memory_runtime\n"
        "from onetool.threads import Threads\n"
        "CALLER = Caller(interface='python', default_effect=Effect.ALLOW)\n"
        "async def main():\n"
        "    async with memory_runtime() as ot:\n"
        "        embedder = BertEmbedder(Path('m'), Path('c'))\n"
        "        search = CatalogSearch(ot.runtime.state.catalog, Threads(), embedder=embedder)\n"
        "        for _ in range(2):\n"
        "            specs = (await search.find('read_file', CALLER, 1)).specs\n"
        "            await search.wait_until_indexed()\n"
        "        print(specs[0].name, search.problem)\n"
        "asyncio.run(main())\n"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.stdout.startswith("fs.read_file "), process.stderr
    assert extra_command("semantic") in process.stdout
