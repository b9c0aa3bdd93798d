"""Plans of the queries of stored tools: by index under row-level security, also in a large workspace."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from uuid import UUID

import orjson
import psycopg
import pytest

from onetool.domain.bundles.bundle import BundleFilter
from onetool.domain.bundles.ranking import SearchQuery
from onetool.storage.postgres.bundles.queries import BundleQueries, Similar
from onetool.storage.postgres.database import SETTINGS
from support.postgres import new_database

LARGE, SMALL = UUID(int=1), UUID(int=2)
LARGE_SIZE, SMALL_SIZE, SMALL_COUNT = 20_000, 20, 200
MAX_RATIO = 40
"""How many times as many pages a search in the large workspace may read, which has 1,000 times the tools."""
EXPLAIN = """
load 'auto_explain';
set auto_explain.log_min_duration = 0;
set auto_explain.log_nested_statements = on;
set auto_explain.log_analyze = on;
set auto_explain.log_buffers = on;
set auto_explain.log_timing = off;
set auto_explain.log_format = json;
set client_min_messages = log
"""
GENERATE = f"""
select setseed(0.5);
create temporary table drawn as
select case when n < {LARGE_SIZE} then 1 else 2 + (n - {LARGE_SIZE}) / {SMALL_SIZE} end as workspace, n,
    'get word' || chr(97 + floor(26 * random())::int) || ' ' || (
        select string_agg('word' || floor(400 * power(random(), 3)), ' ') from generate_series(1, 8 + 0 * n)
    ) || case when n % 2000 = 0 then ' rareword' || n else '' end as text
from generate_series(0, {LARGE_SIZE + SMALL_SIZE * SMALL_COUNT} - 1) n;
alter table drawn add workspace_id uuid, add slug text, add words text[];
update drawn set workspace_id = lpad(to_hex(workspace), 32, '0')::uuid, words = string_to_array(text, ' '),
    slug = replace(text, ' ', '-') || n;
insert into onetool.bundles
select distinct workspace_id, 'b' || n % 50, 'b', 'pack' || n % 50, true, false,
    format('{{"id": "b%s", "slug": "pack%s"}}', n % 50, n % 50) from drawn;
insert into onetool.tools
select workspace_id, 't' || n, 'b' || n % 50, slug, 'v1', 'pack' || n % 50, 'f' || n, 'pack' || n % 50,
    'f' || n, true, true, true, true, '', lpad((n * 7919 % 100000)::text, 6, '0'), replace(slug, '-', ''),
    replace(slug, '-', ''), array[words[3]],
    format('{{"id": "t%s", "bundleID": "b%s", "slug": "%s", "version": "v1", "type": "python",'
        ' "argSchema": {{}}}}', n, n % 50, slug), text,
    array_to_tsvector(words), array_to_tsvector(words || (words[1] || words[2])) from drawn;
insert into onetool.vocabulary
select workspace_id, term, count(*), term like 'word%' or term = 'get'
from onetool.tools, unnest(tsvector_to_array(terms)) term group by 1, 2;
insert into onetool.words select distinct workspace_id, unnest(words) from drawn;
insert into onetool.term_totals select workspace_id, count(*), '{{10, 0, 0, 0, 0}}' from drawn group by 1;
drop table drawn;
"""


class Explained(NamedTuple):
    """How the statements of a query were run."""

    nodes: list[dict[str, Any]]
    pages: int
    """Pages of tables and indexes that were read."""

    @property
    def indexes(self) -> set[str]:
        """The indexes that were read."""
        return {node["Index Name"] for node in self.nodes if "Index Name" in node}

    @property
    def scanned(self) -> set[str]:
        """The tables that were read as a whole."""
        return {node["Relation Name"] for node in self.nodes if node["Node Type"].endswith("Seq Scan")}


Run = Callable[[UUID, Callable[[BundleQueries], object]], Explained]


@pytest.fixture(scope="module")
def explain() -> Iterator[Run]:
    """Return a function that runs queries as the application does, in a database with many tools."""
    with new_database() as url, psycopg.connect(url, prepare_threshold=None) as connection:
        connection.execute("set synchronous_commit = on")  # vacuum ignores commits that are not on the disk
        connection.execute(GENERATE)
        connection.commit()
        connection.autocommit = True
        connection.execute("vacuum analyze onetool.tools, onetool.bundles, onetool.vocabulary, onetool.words")
        connection.execute(EXPLAIN)
        connection.execute(SETTINGS)
        messages: list[str] = []
        connection.add_notice_handler(lambda message: messages.append(message.message_primary or ""))

        def run(workspace: UUID, query: Callable[[BundleQueries], object]) -> Explained:
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute("select onetool.begin_read(%s)", (workspace,))
                messages.clear()
                query(BundleQueries(cursor, workspace))
            plans = [orjson.loads(text[text.index("{") :])["Plan"] for text in messages if "plan:" in text]
            assert plans
            pages = [plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans]
            return Explained([node for plan in plans for node in _nodes(plan)], sum(pages))

        yield run


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def search(text: str) -> Callable[[BundleQueries], object]:
    """Return a search whose similar tools are found by terms, as in large workspaces."""
    return lambda queries: queries.search(
        SearchQuery.parse(text), BundleFilter(), lambda: Similar(terms=queries.corrected(text)), None, 21
    )


@pytest.mark.parametrize("workspace", [LARGE, SMALL])
@pytest.mark.parametrize(
    ("query", "indexes"),
    [
        (lambda queries: queries.versions("pack7", "f57"), {"tools_name"}),
        (lambda queries: queries.tool(("b7", "no-such", "v1")), {"tools_func", "bundle_id_slug_version_key"}),
        (lambda queries: queries.tools(BundleFilter(), None, 50), {"tools_pkey"}),
        (lambda queries: queries.tools(BundleFilter(), "t15", 50), {"tools_pkey"}),
        (lambda queries: queries.tools(BundleFilter(name_contains="f19_x"), None, 50), {"tools_filters"}),
        (lambda queries: queries.named(["pack7.f57", "pack8.f58"]), {"tools_name"}),
        (lambda queries: queries.pack_sizes(), {"tools_enabled"}),
        (lambda queries: queries.similar_terms(["wrod1"]), {"vocabulary_words"}),
    ],
    ids=["look-up", "key", "first page", "later page", "part of a name", "names", "sizes", "similar terms"],
)
def test_query_reads_the_intended_index(explain, workspace, query, indexes):
    """Small workspaces may be read by any index that begins with the workspace."""
    explained = explain(workspace, query)
    assert explained.scanned == set()
    if workspace == LARGE:
        assert any(used.endswith(tuple(indexes)) for used in explained.indexes), explained.indexes


@pytest.mark.parametrize("workspace", [LARGE, SMALL])
def test_no_query_scans_a_table(explain, workspace):
    for query in (
        lambda queries: queries.packs(),
        lambda queries: queries.pack("pack7"),
        lambda queries: queries.count(),
        lambda queries: queries.slugs(BundleFilter()),
        lambda queries: queries.bundles(BundleFilter(), None, 50),
        lambda queries: queries.tools(BundleFilter(tags=frozenset({"word399"})), None, 50),
        lambda queries: queries.candidates(["get", "word0", "word390"], None, 300),
        lambda queries: queries.candidates(["word390"], ["pack7"], 300),
    ):
        assert explain(workspace, query).scanned == set()


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("word397", "tools_words"),
        ("get", "tools_newest"),
        ("word0 word397", "tools_words"),
        ("getwordqword12", "tools_slug_key"),
        ("wrod397", "tools_terms"),
        ("rarew", "tools_words"),
        ("none has this", None),
    ],
    ids=["rare word", "common word", "two words", "prefix", "typo", "start of words", "nothing"],
)
def test_search_reads_few_pages_of_a_large_workspace(explain, text, index):
    large, small = explain(LARGE, search(text)), explain(SMALL, search(text))
    assert large.scanned == small.scanned == set()
    assert index is None or index in large.indexes, large.indexes
    assert large.pages <= MAX_RATIO * small.pages


@pytest.mark.parametrize("terms", [["word397"], ["get"], ["get", "word397", "word0"]])
def test_candidates_are_read_by_index(explain, terms):
    large, small = [
        explain(workspace, lambda queries: queries.candidates(terms, None, 300))
        for workspace in (LARGE, SMALL)
    ]
    assert large.scanned == small.scanned == set()
    assert {"tools_terms", "tools_newest"} & large.indexes
    assert large.pages <= MAX_RATIO * small.pages


def test_rare_terms_are_candidates_next_to_very_common_ones(explain):
    found = []

    def query(queries):
        found.extend(queries.candidates(["get", "word399"], None, 300))
        found.append(queries.term_statistics(["word399"]).counts["word399"])

    explain(LARGE, query)
    *tools, count = found
    assert sum("word399" in tool.fields[0] for tool in tools) == min(count, 300)
