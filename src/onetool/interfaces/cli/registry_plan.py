"""The installation of a server of the registry, shown to the user before anything is written."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from onetool.domain.servers.registry_entry import RegistryEntry
from onetool.domain.servers.registry_inputs import UnsupportedEntry
from onetool.interfaces.server_settings import installation, registry_access
from onetool.interfaces.server_settings.installation import (
    PlanChanged,
    PlannedInstallation,
    UnknownInput,
    choose_package,
)
from onetool.interfaces.server_settings.path_grants import describe_grants
from onetool.interfaces.server_settings.registry_access import InstallationRefused
from onetool.interfaces.server_settings.registry_values import GivenValues, ValueCollector
from onetool.registry.client import OfflineNote, RegistryClient, RegistryError

from .command import confirm, has_terminal, load_current_configuration, mask
from .question_prompt import discard_typed_input
from .registry_prompts import ask_for_value, refuse_value
from .registry_view import format_age, show_entry


@contextmanager
def exit_on_refusal() -> Iterator[None]:
    """Report what the registry or a check refuses, and exit.

    Raises:
        ClickException: It was refused.
    """
    try:
        yield
    except (InstallationRefused, PlanChanged, RegistryError) as error:
        raise click.ClickException(mask(str(error))) from None


def plan_installation(
    server: str, entry: RegistryEntry, kind: str | None, given: GivenValues
) -> PlannedInstallation:
    """Show an entry of the registry and collect the values that it wants.

    Raises:
        ClickException: The server cannot be used, or a value is missing.
    """
    configuration = load_current_configuration()
    with exit_on_refusal():
        try:
            package = choose_package(entry, kind, given.named)
        except UnknownInput as error:
            raise click.UsageError(str(error)) from None
        except UnsupportedEntry as error:
            raise click.UsageError(f"--env: {error}.") from None
        show_entry(package, configuration.settings.registry.base_url)
        collector = ValueCollector(
            server=server,
            taken=set(configuration.secrets.names),
            on_problem=refuse_value,
            ask=ask_for_value if has_terminal() else None,
        )
        collector.collect(package.launch, given)
        planned = installation.plan_installation(package, collector)
    for grant in describe_grants(planned.server):
        click.echo(mask(f"  It {grant}."), err=True)
    return planned


def open_client() -> RegistryClient:
    """Return a client of the configured registry that reports the use of stored answers.

    Raises:
        RegistryError: The base URL is not allowed.
    """
    return registry_access.open_client(load_current_configuration(), _report_offline)


def read_entry(name: str, version: str) -> RegistryEntry:
    """Return an entry of the registry.

    Raises:
        ClickException: There is none.
    """
    with exit_on_refusal():
        return registry_access.read_entry(open_client(), name, version)


def single_values(options: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the values of options that have one value each."""
    return {name: [value] for name, value in options.items()}


def confirm_reviewed(question: str, yes: bool) -> None:
    """Ask for confirmation of what was shown. What was typed earlier is no answer."""
    if not yes:
        discard_typed_input()
        confirm(question)


def _report_offline(note: OfflineNote) -> None:
    click.echo(mask(f"The registry cannot be reached: {note.problem}."), err=True)
    click.echo(f"Using a stored answer that is {format_age(note.age_s)} old.", err=True)
