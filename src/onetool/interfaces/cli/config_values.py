"""`onetool config get`, `set` and `unset`: single settings by their dotted keys."""

from typing import Any

import click

from onetool.domain.text.json_text import encode
from onetool.interfaces.server_settings import setting_editor
from onetool.interfaces.server_settings.setting_editor import SettingReader, SettingValue, hide_secrets
from onetool.settings.documents import SETTINGS_FILE
from onetool.settings.setting_keys import SettingInfo, find_setting, parse_key, parse_value

from .command import (
    current_paths,
    json_option,
    load_current_configuration,
    mask,
    mask_values,
    print_json,
    stdout,
)
from .config_files import exit_on_edit_error

project_option = click.option(
    "--project", "in_project", is_flag=True, help="Change the settings of the project instead of yours."
)


@click.command("get")
@click.argument("key")
@json_option
def get_setting(key: str, as_json: bool) -> None:
    """Show the value of setting KEY, and the file that sets it.

    \b
    Examples:
      onetool config get log.level
      onetool config get profiles.research --json
    """
    with exit_on_edit_error():
        info = find_setting(parse_key(key))
        found = SettingReader(load_current_configuration()).get(info)
    if found.value is None and found.origin == "default" and not info.is_nullable:
        raise click.ClickException(f"{info.key} is not set.")
    if as_json:
        print_json(_to_json(found))
        return
    source = f"from {found.file}" if found.file else "the default"
    click.echo(f"{_show(found)}  ({source})", file=stdout())


@click.command("set")
@click.argument("key")
@click.argument("value")
@project_option
def set_setting(key: str, value: str, in_project: bool) -> None:
    """Set setting KEY to VALUE, in your onetool.yaml. Its comments and the other settings stay.

    VALUE is read by the type of the setting. A list is written with commas, a map like in YAML. Settings
    that a start would reject are not written. Names in KEY that contain dots are written in double quotes.

    \b
    Examples:
      onetool config set log.level debug
      onetool config set allowedHosts 'api.github.com,*.example.com'
      onetool config set profiles.research '{packs: [web, time], expose: all}'
    """
    with exit_on_edit_error():
        info = find_setting(parse_key(key))
        new = parse_value(info, value)
        replaced = setting_editor.set_setting(current_paths(), info.path, new, in_project=in_project)
        found = SettingReader(load_current_configuration()).get(info)
    was = f" It was {_mask(info, replaced)}." if info.type == "list" and replaced not in (None, new) else ""
    click.echo(f"Set {info.key} to {mask(_format(mask_values(new)))}.{was}", file=stdout())
    _report(found, in_project)


@click.command("unset")
@click.argument("key")
@project_option
def unset_setting(key: str, in_project: bool) -> None:
    """Remove setting KEY from your onetool.yaml, so that its default applies.

    \b
    Example:
      onetool config unset log.level
    """
    paths = current_paths()
    with exit_on_edit_error():
        info = find_setting(parse_key(key))
        before = SettingReader(load_current_configuration()).get(info)
        if not in_project and not before.digest:
            raise click.ClickException(f"{info.key} is not set in {paths.config / SETTINGS_FILE}.")
        setting_editor.unset_setting(paths, info.path, in_project=in_project)
        found = SettingReader(load_current_configuration()).get(info)
    click.echo(f"Removed {info.key}. It is now {_show(found)}.", file=stdout())
    _report(found, in_project)


def _report(found: SettingValue, in_project: bool) -> None:
    """Say what the change does not do."""
    if found.info.restart:
        click.echo("Restart OneTool and its clients to apply it.", file=stdout())
    if found.origin == "project" and not in_project:
        click.echo(f"Here, the project overrides it: {found.file}", file=stdout())


def _to_json(found: SettingValue) -> dict[str, Any]:
    return {
        "key": found.info.key,
        "value": hide_secrets(found.info.path, found.value),
        "origin": found.origin,
        "file": str(found.file) if found.file else None,
        "default": found.info.default,
        "type": found.info.type,
        "choices": list(found.info.choices),
        "restart": found.info.restart,
    }


def _show(found: SettingValue) -> str:
    return _mask(found.info, found.value)


def _mask(info: SettingInfo, value: Any) -> str:
    return mask(_format(mask_values(hide_secrets(info.path, value))))


def _format(value: Any) -> str:
    """Format a value on one line, without quotes around a text."""
    return value if isinstance(value, str) else encode(value).decode()
