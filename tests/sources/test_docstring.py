"""Docstrings are a tool's user interface."""

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


def test_all_parts_are_found():
    """Description, arguments, returns and example, each without its indentation."""
    found = parse_docstring(FULL)
    assert found.description == "Do a thing.\n\nMore about it."
    assert found.args["path"] == "Where it is, over two lines."
    assert found.args["options"] == "Anything else."
    assert found.returns == "A list of things."
    assert found.example == 'do(path="x")\ndo(path="y")'


def test_parts_may_be_missing():
    """No docstring at all is fine too."""
    assert parse_docstring(None).description == ""
    assert parse_docstring("One line.").description == "One line."
