"""Names derived from slugs."""

import pytest

from onetool.domain.bundles.identifiers import python_name


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
