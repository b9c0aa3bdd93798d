"""Functions of packs with and without documentation, for tests of listings and of help."""

from collections.abc import Callable


def search(query: str, count: int = 5) -> str:
    """Search the web.

    The newest pages come first.

    Args:
        query: What to look for.
        count: How many.

    Returns:
        The findings.

    Example:
        brave.search(query="x")
    """
    return query * count


def make_function(name: str, doc: str = "Do it.") -> Callable[[], str]:
    """Return a function without parameters."""

    def function() -> str:
        return name

    function.__name__, function.__doc__ = name, doc
    return function
