"""`onetool config`: show, change and validate settings, and show their paths."""

import click

from onetool.domain.text.json_text import jsonable
from onetool.domain.text.strings import pluralize
from onetool.interfaces.server_settings.setting_editor import hide_secrets
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import Configuration
from onetool.settings.documents import SECRETS_FILE, SETTINGS_FILE, settings_files

from .command import (
    current_paths,
    json_option,
    load_current_configuration,
    mask,
    mask_values,
    print_json,
    stdout,
    use_json,
    with_runtime,
)
from .config_values import get_setting, set_setting, unset_setting
from .groups import CommandGroup


@click.group(cls=CommandGroup)
def config() -> None:
    """Show, change and validate settings.

    \b
    Examples:
      onetool config get log.level
      onetool config set activity.retention_days 90
      onetool config unset activity.retention_days
    """


@config.command()
@json_option
def show(as_json: bool) -> None:
    """Show the active settings, including defaults and the names of secrets.

    \b
    Example:
      onetool config show
    """
    configuration = load_current_configuration()
    settings = jsonable(configuration.settings)
    settings["secrets"]["names"] = sorted(configuration.secrets.names)
    settings["fs"] = {"roots": [str(root) for root in configuration.roots]}
    settings = mask_values({key: hide_secrets((key,), value) for key, value in settings.items()})
    if as_json:
        print_json(settings)
    else:
        import yaml

        click.echo(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), nl=False)


config.add_command(get_setting)
config.add_command(set_setting)
config.add_command(unset_setting)


@config.command()
def validate() -> None:
    """Validate all settings files and packs, as a start does.

    Exits with code 2 if a settings file is invalid, and with code 1 if a start would skip a tool or a pack.

    \b
    Example:
      onetool config validate
    """
    configuration, skipped = with_runtime(_load_everything, log_level="critical")
    if skipped:
        click.echo(f"Error: A start would skip {pluralize(len(skipped), 'definition')}:", err=True)
        click.echo(mask("\n".join(skipped)), err=True)
        raise SystemExit(1)
    user_file, *project_files = settings_files(configuration.paths)
    trusted = [] if SETTINGS_FILE in configuration.untrusted_files else project_files
    files = [file for file in (user_file, *trusted) if file.exists()]
    click.echo(f"OK: {', '.join(map(str, files)) or 'no settings file, using defaults'}", file=stdout())


async def _load_everything(runtime: Runtime) -> tuple[Configuration, list[str]]:
    """Read all sources. Return the configuration, and a message for everything that was skipped."""
    catalog = runtime.state.catalog
    await catalog.count_local()  # reads the sources
    sources = [f"source {name} failed: {reason}" for name, reason in catalog.failures.items()]
    packs = [f"pack {name}: {reason}" for name, reason in catalog.skipped.items()]
    return runtime.state.configuration, [*sources, *packs, *catalog.skipped_tools]


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
