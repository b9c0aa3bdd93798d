"""What to add to a pack file that imports a missing library."""

from onetool.domain.tools.distributions import distribution_of

MARKER = "# /// script"
"""The first line of the inline metadata of a file."""


def missing_library_hint(module: str, *, has_metadata: bool) -> str:
    """Return what to add to a pack file, so that it can import a module."""
    library = distribution_of(module)
    if has_metadata:
        return f'Add "{library}" to the dependencies at the top of the file.'
    block = f'{MARKER}\n# dependencies = ["{library}"]\n# ///'
    return f"If it is a library, add these lines at the top of the file:\n{block}"
