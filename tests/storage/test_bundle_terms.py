"""Contract suite of the bundle stores: lists by name, sizes of packs, and tools by terms of their texts."""

from dataclasses import replace
from random import Random

import pytest

from onetool.domain.bundles.bundle import BundleFilter, rfc3339
from onetool.domain.search.terms import NO_TOOLS
from onetool.storage.files.bundles import index, term_queries
from onetool.storage.files.bundles.store import FileBundles
from onetool.storage.memory.bundles import MemoryBundles
from onetool.storage.postgres.bundles.store import PostgresBundles
from onetool.threads import Threads
from storage.stored_bundles import add, make_bundle, new_bundle, new_tool

WORDS = (
    "rain",
    "wind",
    "snow",
    "city",
    "river",
    "mail",
    "letter",
    "page",
    "table",
    "image",
    "sound",
    "video",
)


@pytest.fixture(params=["memory", "files", "files without FTS5", "postgres"])
def store(request, tmp_path):
    if request.param == "postgres":
        return PostgresBundles(request.getfixturevalue("workspace"), Threads())
    if request.param == "memory":
        return MemoryBundles()
    return FileBundles(tmp_path / "bundles", Threads(), full_text=request.param == "files")


async def found(store, *terms, packs=None, limit=100) -> set[str]:
    return {tool.key for tool in await store.candidates(terms, packs, limit)}


async def test_tools_are_found_by_terms_of_every_field(store):
    weather, post = await new_bundle(store), await new_bundle(store, "post-office")
    await add(
        store,
        weather,
        "get-rain",
        description="Measure water. Every hour.",
        arg_schema={"type": "object", "properties": {"city": {}}},
        tags=("climate",),
    )
    await add(store, post, "send", display_name="Send a letter")
    for term in ("weather", "rain", "measur", "hour", "city", "climat", "=get", "getrain", "weatherget"):
        assert await found(store, term) == {"weather.get_rain"}, term
    for term in ("offic", "letter", "postoffic"):
        assert await found(store, term) == {"post_office.send"}, term
    assert await found(store, "rain", "letter") == {"weather.get_rain", "post_office.send"}
    assert await found(store, "rain", "letter", packs={"post_office"}) == {"post_office.send"}
    assert await found(store, "rain", "letter", packs=set()) == await found(store, "unheard") == set()
    assert len(await store.candidates(["rain", "letter"], None, 1)) == 1
    (tool,) = await store.candidates(["climat"], None, 5)
    assert [list(field) for field in tool.fields] == [
        ["weather", "get", "rain"],
        ["measur", "water"],
        ["every", "hour"],
        ["city"],
        ["climat"],
    ]


async def test_statistics_count_tools_and_terms(store):
    assert await store.term_statistics(["rain"]) == NO_TOOLS
    bundle = await new_bundle(store)
    await add(store, bundle, "rain", description="Rain and wind.")
    await add(store, bundle, "wind", description="Wind.")
    tools, lengths, counts = await store.term_statistics(["rain", "wind", "snow"])
    assert (tools, list(lengths)) == (2, [4, 3, 0, 0, 0])
    assert (counts["rain"], counts["wind"], counts.get("snow", 0)) == (1, 2, 0)
    assert list(await store.similar_terms(["weathr", "rian", "zzzzzz"])) == ["weather"]


async def test_only_active_and_enabled_tools_are_found(store):
    bundle, disabled = await new_bundle(store), await new_bundle(store, "off", is_enabled=False)
    await add(store, bundle, "rain", description="Old words.")
    await add(store, bundle, "rain", "v2", description="New words.", created_at=rfc3339(3))
    await add(store, bundle, "snow", is_enabled=False)
    await add(store, disabled, "rain")
    assert await found(store, "rain", "snow") == {"weather.rain"}
    assert await found(store, "old") == set()
    assert await store.pack_sizes() == {"weather": 1}
    names = [tool.tool.version for tool in await store.named(["weather.rain", "weather.gone", "x"])]
    assert names == ["v2"]


async def test_changed_deleted_and_renamed_tools_are_found_by_their_new_terms(store):
    bundle = await new_bundle(store)
    rain = await add(store, bundle, "rain", description="Measure water.")
    snow = await add(store, bundle, "snow")
    await store.change_tool(rain.tool.key, lambda _, tool: replace(tool, description="Count drops."))
    await store.delete_tool(snow.tool.key)
    assert await found(store, "water", "snow") == set()
    assert await found(store, "drop") == {"weather.rain"}
    await store.change_bundle(bundle.id, lambda bundle: replace(bundle, slug="climate"))
    assert await found(store, "weather") == set()
    assert await found(store, "climat") == {"climate.rain"}
    assert (await store.term_statistics(["climat"]))[0] == 1
    await store.change_bundle(bundle.id, lambda bundle: replace(bundle, soft_deleted_at=rfc3339(9)))
    assert await found(store, "drop") == set()
    assert await store.pack_sizes() == {}


async def test_tools_whose_names_contain_a_text(store):
    """Ignoring case, also that of letters that are not ASCII. Wildcards have no meaning."""
    weather, other = await new_bundle(store), await new_bundle(store, "post")
    for bundle, slug in ((weather, "get-rain"), (weather, "Get-Größe"), (other, "rain-mail")):
        await add(store, bundle, slug)

    async def names(text):
        page = await store.tools(BundleFilter(name_contains=text, active_only=True), None, 10)
        return {stored.name for stored in page.items}

    assert await names("RAIN") == {"weather.get_rain", "post.rain_mail"}
    assert await names("weather.GET") == {"weather.get_rain", "weather.Get_Größe"}
    assert await names("GRÖSSE") == {"weather.Get_Größe"}
    assert await names("%") == await names("get%rain") == set()


async def test_every_store_finds_the_same_tools_by_terms(tmp_path):
    """For random tools and terms."""
    rng = Random(5)
    stores = [MemoryBundles(), FileBundles(tmp_path / "b", Threads())]
    whole = make_bundle("all")
    texts = [" ".join(rng.sample(WORDS, rng.randint(1, 4))) for _ in range(60)]
    tools = [new_tool(whole, f"t{n}", description=text) for n, text in enumerate(texts)]
    for store in stores:
        await store.import_bundle(whole, tools)
    for _ in range(20):
        terms = rng.sample(WORDS, 2)
        memory, files = [await found(store, *terms) for store in stores]
        assert memory == files


async def test_index_is_rebuilt_when_texts_give_other_terms(tmp_path, monkeypatch):
    store = FileBundles(tmp_path / "bundles", Threads())
    await add(store, await new_bundle(store), "rain")
    monkeypatch.setattr(index, "FORMAT", index.FORMAT ^ 1)
    monkeypatch.setattr(
        term_queries, "_pack_terms", lambda pack: ("other",)
    )  # as if the rules for terms had changed
    await store.aclose()
    reopened = FileBundles(tmp_path / "bundles", Threads())
    assert await found(reopened, "other") == {"weather.rain"}
    assert await found(reopened, "weather") == set()
