"""The docstring parser."""

from onetool.sources.python_packs.docstring import parse_docstring

FULL = """Do a thing.

    More about it.

    Args:
        path (str): Where it is,
            over two lines.
        **options: Anything else.

    Returns:
        A list
        of things.

    Raises:
        ValueError: Never.

    Examples:
        do(path="x")
        do(path="y")
    """


def test_all_parts_are_parsed():
    """Indentation is removed."""
    parsed = parse_docstring(FULL)
    assert parsed.description == "Do a thing.\n\nMore about it."
    assert parsed.args["path"] == "Where it is, over two lines."
    assert parsed.args["options"] == "Anything else."
    assert parsed.returns == "A list of things."
    assert parsed.example == 'do(path="x")\ndo(path="y")'


def test_parts_may_be_missing():
    assert parse_docstring(None).description == ""
    assert parse_docstring("One line.").description == "One line."
