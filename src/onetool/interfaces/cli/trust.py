"""`onetool trust`: trust the files of a project with their current content."""

import click

from onetool.domain.text.strings import pluralize
from onetool.files.atomic import write_atomic
from onetool.settings.trust import digest, load_trust, project_files, read_regular, save_trust

from .command import confirm, current_paths


@click.command()
@click.option("--yes", is_flag=True, help="Skip confirmation.")
def trust(yes: bool) -> None:
    """Trust the settings and packs of the current project.

    Trusted files can start programs, run code, and grant access to hosts and directories. Only their current
    content is trusted: a file that changes later is ignored until you trust it again.

    \b
    Example:
      onetool trust
    """
    paths = current_paths()
    if paths.project is None:
        click.echo("Nothing to trust: no .onetool directory here or in a parent directory.", err=True)
        raise SystemExit(1)
    candidates = ((file, read_regular(file)) for file in project_files(paths.project))
    contents = [(file, content) for file, content in candidates if content is not None]
    pins = load_trust(paths.state, paths.project).hashes
    click.echo(f"Files of {paths.project}:")
    for file, content in contents:
        name = file.relative_to(paths.project).as_posix()
        status = "trusted" if pins.get(name) == digest(content) else "changed" if name in pins else "new"
        safe_name = "".join(char if char.isprintable() else "?" for char in name)
        click.echo(f"  {status:<8} {safe_name}  ({len(content)} bytes)")
    if not yes:
        confirm("Trust these files?")
    save_trust(paths.state, paths.project, contents)
    write_atomic(paths.reload_file, b"")
    click.echo(f"Trusted {pluralize(len(contents), 'file')}.")
