"""`onetool config`: show, validate, path."""

import click

from onetool.domain.json_text import jsonable
from onetool.settings.configuration import SECRETS_FILE, settings_files

from .session import find, json_option, load, wants_json, write_json


@click.group()
def config() -> None:
    """Show and check the settings."""


@config.command()
@json_option
def show(as_json: bool) -> None:
    """Show the settings in force, defaults included; of secrets only the names.

    \b
    Example:
      onetool config show
    """
    configuration = load()
    shown = jsonable(configuration.settings) | {"secrets": sorted(configuration.secrets)}
    shown["fs"] = {"roots": [str(root) for root in configuration.roots]}
    shown = configuration.secrets.redactor.clean(shown)
    if as_json:
        write_json(shown)
    else:
        import yaml

        click.echo(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True), nl=False)


@config.command()
def validate() -> None:
    """Check every file; exit with 2 and say what is wrong where.

    \b
    Example:
      onetool config validate
    """
    configuration = load()
    files = [file for file in settings_files(configuration.places) if file.exists()]
    click.echo(f"OK: {', '.join(map(str, files)) or 'no settings file, defaults are in force'}")


@config.command()
@json_option
def path(as_json: bool) -> None:
    """Show where settings, secrets, data and logs lie.

    \b
    Example:
      onetool config path
    """
    places = find()
    shown = {
        "settings": str(places.config / "onetool.yaml"),
        "secrets": str(places.config / SECRETS_FILE),
        "packs": str(places.config / "tools"),
        "project": str(places.project) if places.project else None,
        "data": str(places.data),
        "state": str(places.state),
        "log": str(places.log_file),
    }
    if wants_json(as_json):
        write_json(shown)
        return
    from .screen import table

    table(("WHAT", "WHERE"), [(name, where or "none") for name, where in shown.items()])
