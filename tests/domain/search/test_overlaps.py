"""Packs with tools for the same purpose."""

import pytest

from onetool.domain.search.overlaps import overlapping_packs

FILES = ["read_text_file", "read_file", "write_file", "edit_file", "list_directory", "move_file"]


@pytest.mark.parametrize(
    ("packs", "expected"),
    [
        (
            {"file": ["read", "edit", "diff"], "files": FILES, "fs": ["list_dir", "read_file"]},
            {"file": ["files", "fs"], "files": ["file", "fs"], "fs": ["file", "files"]},
        ),
        ({"a": ["fetch_page"], "b": ["get_pages"]}, {"a": ["b"], "b": ["a"]}),
        ({"jira": ["search", "list", "get"], "mail": ["search", "list", "get"]}, {}),
        ({"git": ["log", "show_commit", "push"], "web": ["log", "fetch", "open_page"]}, {}),
        ({"a": ["read_file", "readFile", "x", "y"], "b": ["read_file", "p", "q"]}, {}),
        ({"one": ["read_file"]}, {}),
        ({}, {}),
    ],
)
def test_packs_overlap_if_functions_have_the_same_purpose(packs, expected):
    """Verbs alone say too little, and one function of many is not enough."""
    assert overlapping_packs(packs) == expected
