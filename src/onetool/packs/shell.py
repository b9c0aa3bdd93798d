"""shell: where OneTool runs."""

from pathlib import Path

from onetool.sdk import tool

pack = "shell"


@tool(cacheable=True, parallel=True)
def pwd() -> str:
    """Tell the current working directory; relative paths start there.

    Returns:
        The absolute path.

    Example:
        shell.pwd()
    """
    return str(Path.cwd())
