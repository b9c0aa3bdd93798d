"""The full-text index of tools."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain.search.terms import SearchEntry, TermStatistics
from onetool.domain.search.tokenizer import SYNONYMOUS_NOUNS, SYNONYMOUS_VERBS, stem, tokenize
from onetool.domain.search.tool_index import ToolIndex, selective_terms
from support.cpu_time import growth, measure

ENTRIES = (
    SearchEntry(
        key="fs:read", name="read_text", description="Read a document from the disk. Preserves its encoding."
    ),
    SearchEntry(key="fs:remove", name="deleteDocument", description="Delete a document for good."),
    SearchEntry(
        key="mail:send", name="send-mail", description="Send a letter.", parameters=["recipient", "body"]
    ),
    SearchEntry(key="db:rows", name="list_rows", description="List the rows of a table.", tags=["sqlite"]),
    SearchEntry(key="think", name="deepthinking", description="Reason in steps."),
    SearchEntry(key="cn", name="weather_cn", description="查询天气预报。返回温度"),
    SearchEntry(key="bare", name="x"),
    SearchEntry(key="idle", name="use"),
)


@pytest.fixture(scope="module")
def index():
    return ToolIndex(ENTRIES)


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("read text", "fs:read"),
        ("I'd like to be reading documents", "fs:read"),
        ("fetch a document", "fs:read"),
        ("remove documents", "fs:remove"),
        ("erase the documnet", "fs:remove"),
        ("email", "mail:send"),
        ("file encoding", "fs:read"),
        ("sendMail", "mail:send"),
        ("recipients", "mail:send"),
        ("SQLite", "db:rows"),
        ("show rows", "db:rows"),
        ("listrows", "db:rows"),
        ("deep thinking", "think"),
        ("天气", "cn"),
        ("encodings", "fs:read"),
        ("x", "bare"),
        ("use", "idle"),
    ],
)
def test_best_match_comes_first(index, query, best):
    """Covers inflection, spelling of names, synonyms, typos, parameters, tags, joined words and Chinese."""
    assert index.find(query, 3)[0][0] == best


@pytest.mark.parametrize("query", ["", "   ", "the of and", "?!", "zzzz qqqq", "zz"])
def test_query_without_known_words_has_no_matches(index, query):
    assert index.find(query, 5) == []


def test_empty_index_has_no_matches():
    assert ToolIndex([]).find("read a file", 5) == []


def test_number_of_matches_is_limited(index):
    assert len(index.find("read delete send list document rows", 2)) == 2
    assert index.find("document", 0) == index.find("document", -1) == []


def test_name_outweighs_summary_and_summary_outweighs_other_fields():
    matches = ToolIndex(
        [
            SearchEntry(key="parameter", name="b", description="Something else.", parameters=["invoice"]),
            SearchEntry(key="rest", name="b", description="Something else. Good for an invoice."),
            SearchEntry(key="summary", name="b", description="Print an invoice. Something else."),
            SearchEntry(key="name", name="invoice", description="Something else."),
        ]
    ).find("invoice", 9)
    assert [key for key, _ in matches][:2] == ["name", "summary"]
    assert {key for key, _ in matches[2:]} == {"parameter", "rest"}
    assert [score for _, score in matches] == sorted((score for _, score in matches), reverse=True)


def test_other_word_for_the_same_thing_is_found():
    index = ToolIndex(
        [SearchEntry(key="folder", name="create_directory"), SearchEntry(key="other", name="create_account")]
    )
    assert [key for key, _ in index.find("new folder", 2)] == ["folder", "other"]
    assert [key for key, _ in index.find("folder", 2)] == ["folder"]


def test_each_word_is_in_one_group_of_synonyms():
    words = [word for row in (*SYNONYMOUS_VERBS, *SYNONYMOUS_NOUNS) for word in row.split()]
    assert len({stem(word) for word in words}) == len(words)


def test_exact_word_outranks_synonym_and_typo():
    index = ToolIndex(
        [SearchEntry(key="synonym", name="fetch_page"), SearchEntry(key="same", name="get_page")]
    )
    assert [key for key, _ in index.find("get page", 2)] == ["same", "synonym"]
    index = ToolIndex([SearchEntry(key="near", name="branches"), SearchEntry(key="same", name="brunches")])
    assert [key for key, _ in index.find("brunches", 2)] == ["same"]


def test_ties_are_in_the_order_of_the_entries():
    twins = [SearchEntry(key=key, name="twin", description="The same.") for key in "cab"]
    assert [key for key, _ in ToolIndex(twins).find("twin", 3)] == ["c", "a", "b"]


def test_common_words_reorder_candidates_but_add_none_to_a_full_pool():
    many = [SearchEntry(key=f"{n}", name=f"report_{n}", description="Rare word common.") for n in range(400)]
    plain = [SearchEntry(key=f"p{n}", name=f"plain_{n}", description="Common.") for n in range(400)]
    chosen = SearchEntry(key="chosen", name="report_common", description="Rare word common.")
    matches = ToolIndex([*plain, *many, chosen]).find("rare report common", 1000)
    assert matches[0][0] == "chosen"
    assert len(ToolIndex([*plain, *many, chosen]).find("rare report common", 300)) == 300
    assert all(not key.startswith("p") for key, _ in matches[:401])


def test_rarest_terms_select_candidates_until_the_pool_is_full():
    statistics = TermStatistics(1_000, [0] * 5, {"common": 900, "some": 250, "rare": 60, "few": 3})
    terms = ["common", "some", "rare", "few", "unknown"]
    assert selective_terms(terms, statistics, 1_000) == ["few", "rare", "some"]
    assert selective_terms(terms, statistics, 100) == ["few", "rare"]
    assert selective_terms(["common"], statistics, 1_000) == ["common"]


def test_only_the_first_unknown_words_are_corrected(index):
    assert index.find(" ".join(f"unheard{n}of" for n in range(300)) + " documnt", 3) == []


@pytest.mark.parametrize(
    ("word", "same"),
    [
        ("listing", "list"),
        ("stopped", "stop"),
        ("queries", "query"),
        ("copied", "copy"),
        ("stages", "staging"),
        ("classes", "class"),
        ("called", "calls"),
        ("status", "status"),
        ("as", "as"),
        ("ring", "ring"),
    ],
)
def test_inflected_forms_have_the_same_stem(word, same):
    assert stem(word) == stem(same)


def test_news_is_not_the_plural_of_new():
    assert stem("news") != stem("new")


def test_names_are_split_at_case_changes_and_punctuation():
    """Stop words are dropped, unless there are no other words."""
    assert tokenize("getHTTPHeaders of.the-user_id") == ["get", "http", "header", "user", "id"]
    assert tokenize("文") == ["文"]
    assert tokenize("Use") == ["use"]
    assert tokenize("w" * 99) == ["w" * 40]


@given(st.text(), st.lists(st.text(), max_size=4))
def test_any_text_can_be_indexed_and_searched(query, texts):
    """Results are deterministic, and all scores are positive."""
    index = ToolIndex(
        SearchEntry(key=str(n), name=text, description=text, parameters=[text])
        for n, text in enumerate(texts)
    )
    matches = index.find(query, 3)
    assert matches == index.find(query, 3)
    assert all(score > 0 for _, score in matches)


def test_building_takes_linear_time_and_searching_a_small_part_of_it():
    """In CPU time. A search takes about a two-hundredth of building the index."""
    rng = random.Random(1)
    vocabulary = [
        f"{a}{b}{c}" for a in "bdfglmnprst" for b in "aeiou" for c in ("rk", "nt", "lo", "st", "mp", "ver")
    ]
    entries = [
        SearchEntry(
            key=str(n),
            name="_".join(rng.sample(vocabulary, 3)),
            description="get the " + " ".join(rng.sample(vocabulary, 20)),
            parameters=rng.sample(vocabulary, 3),
        )
        for n in range(10_000)
    ]
    assert growth(lambda size: ToolIndex(entries[:size]), 500, 10_000, runs=2) < 5
    index = ToolIndex(entries)
    query = " ".join(["read", *rng.sample(vocabulary, 6), "barkk"])
    assert index.find(query, 10)
    search_s = min(measure(lambda: index.find(query, 10)) for _ in range(5))
    assert search_s < measure(lambda: ToolIndex(entries)) / 40
