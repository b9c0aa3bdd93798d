"""shell: where OneTool runs."""

from onetool.sdk import tool, working_directory

pack = "shell"


@tool(cacheable=True, parallel=True)
def pwd() -> str:
    """Tell the current working directory; relative paths start there.

    Returns:
        The absolute path.

    Example:
        shell.pwd()
    """
    return str(working_directory())
