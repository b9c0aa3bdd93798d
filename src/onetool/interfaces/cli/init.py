"""`onetool init`: create a commented configuration."""

import click

from onetool.files.atomic import write_new
from onetool.settings.documents import PACKS_DIR, SECRETS_FILE, SETTINGS_FILE

from .approval_policy import ask_for_mcp_policy
from .command import current_paths, has_terminal, load_current_configuration, stdout

SETTINGS = """\
# OneTool settings. Everything here is optional; `onetool config show` prints the active settings.

# Time limit of a call in seconds, and the number of concurrent calls.
execution:
  timeout_s: 8
  max_concurrent: 64

# Directories that the fs pack may access. Default: the working directory.
# fs:
#   roots: [~/projects]

# Aliases of tools: `onetool call now`.
aliases:
  now: time.now

# Tools defined in this file. `builtin` refers to a tool of OneTool, `mock` returns a fixed value.
tools:
  - name: hello
    description: Return a greeting. Use it to test the installation.
    type: function
    handler: hello
    parameters: {type: object, properties: {}, additionalProperties: false}
    implementation: {type: mock, mock_response: "Hello from OneTool."}

# Tools that are not read-only require approval, unless their name matches.
# approval:
#   allow: [notes.*]
#   deny: [shell.*]
"""
SECRETS = """\
# Secrets, one per line: NAME: value, or NAME: ${ENVIRONMENT_VARIABLE}. Keep this file private.
# GITHUB_TOKEN: {value: "...", hosts: [api.github.com]}
"""
PACK = '''\
"""{name}: an example pack. Every public function is a tool."""

pack = "{name}"

# A secret: run `onetool secrets set WEATHER_KEY`, then read it in a function:
#   from onetool.sdk import get_secret
#   key = get_secret("WEATHER_KEY")


def greet(name: str, excited: bool = False) -> str:
    """Greet a person.

    Args:
        name: Name of the person.
        excited: Whether to add an exclamation mark.

    Returns:
        The greeting.

    Example:
        {name}.greet(name="Ada")
    """
    return f"Hello, {{name}}{{'!' if excited else '.'}}"
'''


@click.command()
@click.option("--yes", is_flag=True, help="Skip all prompts.")
def init(yes: bool) -> None:
    """Create the settings files. Existing files are not changed.

    In a terminal, it offers to import servers from MCP clients and lets you choose which tools require
    approval, also for calls from MCP clients, and whether OneTool runs in the background. Nothing is written
    before the last answer.

    \b
    Examples:
      onetool init
      onetool init --yes
    """
    from .init_prompts import apply, ask

    paths = current_paths()
    files = {
        paths.config / SETTINGS_FILE: (SETTINGS, "commented settings"),
        paths.config / SECRETS_FILE: (SECRETS, "keys and tokens, readable only by you"),
        paths.config / PACKS_DIR / "hello.py": (PACK.format(name="hello"), "an example tool"),
    }
    is_interactive = not yes and has_terminal()
    if is_interactive:
        click.echo(f"OneTool stores its settings in {paths.config}.")
        click.echo("These files are created unless they exist:")
        for file, (_, description) in files.items():
            click.echo(f"  {file.relative_to(paths.config).as_posix():<16}{description}")
        click.echo()
    answers = ask(load_current_configuration().settings) if is_interactive else None
    for file, (text, _) in files.items():
        is_new = write_new(file, text.encode())
        click.echo(f"{'wrote' if is_new else 'exists':<6} {file}")
    if answers:
        apply(answers)
    else:
        ask_for_mcp_policy(load_current_configuration().settings, is_interactive=False)
    click.echo("\nTry it:  onetool call hello.greet name=Ada", file=stdout())
