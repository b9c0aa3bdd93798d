"""`onetool init`: a first configuration that explains itself."""

import click

from onetool.files.atomic import write_new
from onetool.settings.configuration import PACKS_DIR

from .session import find

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
def init() -> None:
    """Write a first configuration; files that exist are left as they are.

    \b
    Example:
      onetool init
    """
    places = find()
    wanted = {
        places.config / "onetool.yaml": SETTINGS,
        places.config / "secrets.yaml": SECRETS,
        places.config / PACKS_DIR / "hello.py": PACK.format(name="hello"),
    }
    for file, text in wanted.items():
        written = write_new(file, text.encode())
        click.echo(f"{'wrote' if written else 'kept ':<5}  {file}")
    click.echo('\nTry it:  onetool tools invoke hello.greet --args \'{"name": "Ada"}\'')
