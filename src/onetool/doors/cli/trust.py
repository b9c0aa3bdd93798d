"""`onetool trust`: look at what a project brings along, and say yes to exactly that."""

import click

from onetool.domain.texts import counted
from onetool.files.atomic import write_atomic
from onetool.settings.trust import digest, load_trust, project_files, read_regular, save_trust

from .session import confirm, find


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
def trust(yes: bool) -> None:
    """Let this project's settings and packs be used, as they are now.

    They can start programs, run code, open hosts and directories. A file that changes later is held
    back again.

    \b
    Example:
      onetool trust
    """
    places = find()
    if places.project is None:
        click.echo("No .onetool directory here or above: there is nothing to trust.", err=True)
        raise SystemExit(1)
    read = ((file, read_regular(file)) for file in project_files(places.project))
    contents = [(file, content) for file, content in read if content is not None]
    pins = load_trust(places.state, places.project).pins
    click.echo(f"{places.project} brings along:")
    for file, content in contents:
        name = file.relative_to(places.project).as_posix()
        known = "trusted" if pins.get(name) == digest(content) else "changed" if name in pins else "new"
        shown = "".join(letter if letter.isprintable() else "?" for letter in name)
        click.echo(f"  {known:<8} {shown}  ({len(content)} bytes)")
    if not yes:
        confirm("Trust these files as they are now?")
    save_trust(places.state, places.project, contents)
    write_atomic(places.reload_file, b"")
    click.echo(f"Trusted {counted(len(contents), 'file')}.")
