"""shell: the environment that OneTool runs in."""

from onetool.sdk import tool, working_directory

pack = "shell"


@tool(cacheable=True, parallel=True)
def pwd() -> str:
    """Return the current working directory, which relative paths are resolved against.

    Returns:
        The absolute path.

    Example:
        shell.pwd()
    """
    return str(working_directory())
