"""`onetool config`: show and validate settings, and show their paths."""

import click

from onetool.domain.text.json_text import jsonable
from onetool.settings.configuration import SECRETS_FILE, settings_files

from .command import current_paths, json_option, load_current_configuration, print_json, use_json


@click.group()
def config() -> None:
    """Show and validate settings."""


@config.command()
@json_option
def show(as_json: bool) -> None:
    """Show the active settings, including defaults and the names of secrets.

    \b
    Example:
      onetool config show
    """
    configuration = load_current_configuration()
    settings = jsonable(configuration.settings) | {"secrets": sorted(configuration.secrets)}
    settings["fs"] = {"roots": [str(root) for root in configuration.roots]}
    settings = configuration.secrets.redactor.mask(settings)
    if as_json:
        print_json(settings)
    else:
        import yaml

        click.echo(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), nl=False)


@config.command()
def validate() -> None:
    """Validate all settings files. Exits with code 2 if one is invalid.

    \b
    Example:
      onetool config validate
    """
    configuration = load_current_configuration()
    files = [file for file in settings_files(configuration.paths) if file.exists()]
    click.echo(f"OK: {', '.join(map(str, files)) or 'no settings file, using defaults'}")


@config.command()
@json_option
def path(as_json: bool) -> None:
    """Show the paths of settings, secrets, data and logs.

    \b
    Example:
      onetool config path
    """
    paths = current_paths()
    locations = {
        "settings": str(paths.config / "onetool.yaml"),
        "secrets": str(paths.config / SECRETS_FILE),
        "packs": str(paths.config / "tools"),
        "project": str(paths.project) if paths.project else None,
        "data": str(paths.data),
        "state": str(paths.state),
        "log": str(paths.log_file),
    }
    if use_json(as_json):
        print_json(locations)
        return
    from .tables import table

    table(("NAME", "PATH"), [(name, location or "none") for name, location in locations.items()])
