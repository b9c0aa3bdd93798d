"""`onetool export setup`: what the user configured, as one archive or directory without secrets."""

from collections.abc import Mapping
from pathlib import Path

import click

from onetool.domain.bundles.bundle import BundleError
from onetool.domain.errors import SettingsError
from onetool.domain.text.strings import escape_invisible, pluralize
from onetool.files.atomic import write_atomic
from onetool.files.zip_files import InvalidArchive, write_zip
from onetool.interfaces.setup.contents import InvalidSetup, setup_files
from onetool.interfaces.setup.export import ExportedSetup, collect_stored, export_setup

from .command import mask, stdout, with_runtime
from .groups import CommandGroup, PathCommand


@click.group(cls=CommandGroup)
def export() -> None:
    """Export what you configured."""


@export.command(cls=PathCommand)
@click.argument("target", type=click.Path(), default="setup.zip")
@click.option(
    "--force", is_flag=True, help="Overwrite existing files, and remove those of an earlier export."
)
@click.option(
    "--with-values", is_flag=True, help="Include values of variables and headers that look harmless."
)
def setup(target: str, force: bool, with_values: bool) -> None:
    """Export servers, bundles, packs, profiles, rules and settings to TARGET, without secrets.

    TARGET is a ZIP file, or a directory such as .onetool for a repository, which only you can read. It
    contains the names of secrets, variables and headers, not their values, and no text that has the form of
    a token. What is left out is listed. Import it with `onetool import TARGET`.

    \b
    Examples:
      onetool export setup team.zip
      onetool export setup .onetool
    """
    path = Path(target)
    is_archive = path.suffix == ".zip" and not path.is_dir()
    try:
        stored = with_runtime(collect_stored, waits_for_servers=False)
        exported = export_setup(stored, has_values=with_values)
        content = write_zip(exported.files)  # also checks the limits of a directory
    except (SettingsError, BundleError, InvalidSetup, InvalidArchive) as error:
        raise click.ClickException(mask(str(error))) from None
    stale = [] if is_archive else [name for name in setup_files(path) if name not in exported.files]
    _write(path, {"": content} if is_archive else exported.files, force=force)
    for name in stale if force else ():
        (path / name).unlink()
    click.echo(
        f"Wrote {path}: {pluralize(len(exported.files), 'file')}, {len(content):,} bytes as an archive.",
        file=stdout(),
    )
    _print_notes(exported)
    for name in stale:
        text = "removed" if force else "not of this export, but would be imported. Remove it with --force"
        click.echo(escape_invisible(f"  stale    {name}: {text}"), err=True)


def _write(path: Path, files: Mapping[str, bytes], *, force: bool) -> None:
    """Write files below a path; an empty name is the path itself."""
    targets = {path / name if name else path: content for name, content in files.items()}
    existing = [file for file, content in targets.items() if _differs(file, content)]
    if existing and not force:
        raise click.ClickException(f"{existing[0]} exists with other content. Overwrite it with --force.")
    for file, content in targets.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, content)


def _differs(file: Path, content: bytes) -> bool:
    return file.is_symlink() or (file.exists() and (not file.is_file() or file.read_bytes() != content))


def _print_notes(exported: ExportedSetup) -> None:
    for secret in exported.manifest.secrets:
        used_by = ", ".join(secret.used_by)
        click.echo(mask(f"  secret   {secret.name}: only its name is exported ({used_by})"), err=True)
    for where in exported.manifest.removed:
        click.echo(mask(f"  removed  {where}: it looks like a secret"), err=True)
    for warning in exported.warnings:
        click.echo(mask(f"  warning  {warning}"), err=True)
