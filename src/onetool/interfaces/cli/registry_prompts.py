"""Questions for the values that a server of the registry wants."""

from typing import NoReturn

import click

from onetool.domain.servers.registry_inputs import RegistryInput
from onetool.interfaces.server_settings.registry_values import InputProblem

from .command import mask


def ask_for_value(found: RegistryInput) -> str:
    """Ask until an input that is required has a value."""
    note = f" ({found.description})" if found.description else ""
    optional = "" if found.is_required else ", optional"
    kind = "secret, hidden" if found.is_secret else "path" if found.is_path else "value"
    question = mask(f"{found.name}{note} [{kind}{optional}]")
    while True:
        text = str(
            click.prompt(
                question,
                default=found.default,
                show_default=bool(found.default),
                hide_input=found.is_secret,
                err=True,
            )
        ).strip()
        if text or not found.is_required:
            return text
        click.echo(f"{found.name} is required.", err=True)


def refuse_value(problem: InputProblem) -> NoReturn:
    """Exit because a value is missing or invalid.

    Raises:
        UsageError: Always.
    """
    option = ""
    if problem.is_missing and problem.wanted is not None:
        name = problem.wanted.name
        option = f" Pass {'--path DIR' if problem.wanted.is_path else f'--env {name}=VALUE'}."
    raise click.UsageError(mask(problem.reason) + option)
