"""`onetool init`: a first configuration that explains itself."""

import sys

import click

from onetool.files.atomic import write_new
from onetool.settings.configuration import PACKS_DIR, SECRETS_FILE, SETTINGS_FILE

from .session import answers, find, load

SETTINGS = """\
# OneTool settings. Everything here is optional; `onetool config show` shows what is in force.

# Seconds a tool may take, and how many calls run at once.
execution:
  timeout_s: 8
  max_concurrent: 64

# Directories that the fs pack may open. Not given: the working directory.
# fs:
#   roots: [~/projects]

# Short names of tools: `onetool tools invoke now`.
aliases:
  now: time.now

# Tools defined right here. `builtin` names a tool that OneTool ships, `mock` answers with a fixed value.
tools:
  - name: hello
    description: Answer a greeting, to see that everything works.
    type: function
    handler: hello
    parameters: {type: object, properties: {}, additionalProperties: false}
    implementation: {type: mock, mock_response: "Hello from OneTool."}

# Tools that change things ask first, unless their name matches.
# approval:
#   allow: [notes.*]
#   deny: [shell.*]
"""
SECRETS = """\
# Secrets, one a line: NAME: value, or NAME: ${ENVIRONMENT_VARIABLE}. Keep this file readable by you alone.
# GITHUB_TOKEN: {value: "...", hosts: [api.github.com]}
"""
PACK = '''\
"""{name}: an example pack. Every public function here is a tool."""

pack = "{name}"


def greet(name: str, excited: bool = False) -> str:
    """Greet somebody.

    Args:
        name: Who is greeted.
        excited: Whether to shout.

    Returns:
        The greeting.

    Example:
        {name}.greet(name="Ada")
    """
    return f"Hello, {{name}}{{'!' if excited else '.'}}"
'''


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask anything.")
def init(yes: bool) -> None:
    """Write a first configuration; files that exist are left as they are.

    On a terminal it also offers to take over the MCP servers of other programs, and asks whether tools that
    change things ask first.

    \b
    Examples:
      onetool init
      onetool init --yes
    """
    places = find()
    wanted = {
        places.config / SETTINGS_FILE: (SETTINGS, "settings, with a comment on each"),
        places.config / SECRETS_FILE: (SECRETS, "keys and tokens, readable by you alone"),
        places.config / PACKS_DIR / "hello.py": (PACK.format(name="hello"), "a first tool of your own"),
    }
    is_asking = not yes and sys.stdin.isatty() and sys.stdout.isatty()
    if is_asking:
        click.echo(f"OneTool keeps its settings in {places.config}.")
        click.echo("Three files go there, unless they are there already:")
        for file, (_, about) in wanted.items():
            click.echo(f"  {file.relative_to(places.config).as_posix():<16}{about}")
        click.echo()
    for file, (text, _) in wanted.items():
        written = write_new(file, text.encode())
        click.echo(f"{'wrote' if written else 'kept ':<5}  {file}")
    if is_asking:
        from .init_questions import offer_approval, offer_servers

        settings = load().settings
        offer_servers(settings)
        offer_approval(settings)
    click.echo('\nTry it:  onetool tools invoke hello.greet --args \'{"name": "Ada"}\'', file=answers())
