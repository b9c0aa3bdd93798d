"""Starts a module of OneTool in a child process with the libraries of a pack.

The pack's libraries come before those of OneTool, so the pack gets its own versions. Those of OneTool are
found last: the SDK needs few of them. This module must import nothing else before.
"""

import runpy
import site
import sys


def activate(directory: str) -> None:
    """Find modules in a directory of installed libraries before those of OneTool."""
    before = list(sys.path)
    site.addsitedir(directory)
    added = [path for path in sys.path if path not in before]
    first = next((index for index, path in enumerate(before) if _has_libraries(path)), len(before))
    sys.path[:] = [*before[:first], *added, *before[first:]]


def _has_libraries(path: str) -> bool:
    return "site-packages" in path or "dist-packages" in path  # the latter on Debian


if __name__ == "__main__":
    _, library_directory, module_name = sys.argv
    activate(library_directory)
    runpy.run_module(module_name, run_name="__main__", alter_sys=True)
