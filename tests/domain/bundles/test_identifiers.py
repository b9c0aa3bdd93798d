"""Ids, and names derived from slugs."""

import pytest

from onetool.domain.bundles.bundle import InvalidBundle
from onetool.domain.bundles.identifiers import check_id, check_stored_id, python_name


@pytest.mark.parametrize(
    ("slug", "expected"),
    [
        ("read-file", "read_file"),
        ("class", "_class"),
        ("2fa", "_2fa"),
        ("-x", "_x"),
        ("ﬁle", "file"),
        ("größe", "größe"),
    ],
)
def test_slug_becomes_a_python_identifier(slug, expected):
    """Covers dashes, keywords, leading digits and characters that Python normalizes."""
    assert python_name(slug) == expected


def test_id_with_a_zero_timestamp_is_reserved():
    with pytest.raises(InvalidBundle, match="has a zero timestamp"):
        check_stored_id("00000000-0000-7000-8000-000000000000", "bundleID")


def test_id_in_upper_case_is_accepted_in_canonical_form():
    id = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
    assert check_id(id.upper(), "bundleID") == check_stored_id(id.upper(), "bundleID") == id
