"""The import of a setup: shown by kind, written as shown, then the missing secrets."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from onetool.domain.bundles.bundle import Bundle, BundleError
from onetool.domain.errors import SettingsError
from onetool.domain.text.strings import escape_invisible, pluralize
from onetool.interfaces.setup.contents import InvalidSetup, NeededSecret, Setup, read_setup
from onetool.interfaces.setup.given import GivenSource
from onetool.interfaces.setup.plan import (
    SetupChanged,
    SetupPlan,
    compare_stored,
    enable_bundles,
    plan_setup,
    read_map,
    store_bundles,
    write_files,
)
from onetool.interfaces.setup.settings_merge import loosened_rules, merged_settings, select_changes
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import load_user_settings
from onetool.settings.documents import PACKS_DIR, PROMPTS_FILE, SECRETS_FILE, SETTINGS_FILE, parse_settings
from onetool.settings.paths import Paths
from onetool.settings.schema import PromptSettings, Settings
from onetool.settings.secrets import read_entries
from onetool.settings.trust_effects import TrustEffect, pack_effect, prompt_effects, settings_effects
from onetool.settings.trust_review import ProjectReview, ReviewedFile

from .bundle_effects import bundle_effects
from .command import confirm, current_paths, has_terminal, mask, stdout, with_runtime
from .config_files import edit_secrets
from .setup_parts import WRITTEN, format_rest, setup_parts
from .trust_view import TrustView


def import_setup(
    given: GivenSource, *, enable: bool, replace: bool, full: bool, no_input: bool, yes: bool
) -> None:
    """Show a setup, write it if the user agrees, and ask for its secrets."""
    paths = current_paths()
    try:
        setup = read_setup(given)
        stored = with_runtime(lambda runtime: compare_stored(runtime, setup), waits_for_servers=False)
        plan = plan_setup(paths, setup, stored, replace=replace)
        current = read_map(paths.config / SETTINGS_FILE)
        parts = list(setup_parts(plan, current, enable=enable))
        view = TrustView(stdout(), full=full)
        view.print_list("Parts of the setup", [f"{status:<8} {text}" for status, text in parts])
        is_empty = not any(status in WRITTEN for status, _ in parts)
        if not is_empty:
            _print_effects(paths, plan, current, view, enable=enable)
    except (InvalidSetup, SettingsError, BundleError) as error:
        raise click.ClickException(f"{_escape_lines(str(error))}\nNothing was imported.") from None
    if is_empty:
        _print(f"There is nothing new to import.{format_rest(parts)}")
    else:
        if not yes:
            confirm("Import this setup?")
        _apply(paths, plan, enable=enable)
        count = sum(status in WRITTEN for status, _ in parts)
        _print(f"Imported {pluralize(count, 'part')} of the setup.{format_rest(parts)}")
        _print("Check it with: onetool doctor")
        _print_next_steps(plan, enable=enable)
    _complete_secrets(paths, setup, ask=has_terminal() and not no_input)


def _apply(paths: Paths, plan: SetupPlan, *, enable: bool) -> None:
    try:
        with_runtime(lambda runtime: store_bundles(runtime, plan), waits_for_servers=False)
        write_files(paths, plan)
        if enable:
            with_runtime(lambda runtime: enable_bundles(runtime, plan), waits_for_servers=False)
    except (SettingsError, BundleError, SetupChanged, OSError) as error:
        raise click.ClickException(
            f"{_escape_lines(str(error))}\nThe import is incomplete. Run the command again to complete it."
        ) from None


def _print_effects(
    paths: Paths, plan: SetupPlan, current: Mapping[str, Any], view: TrustView, *, enable: bool
) -> None:
    """Print what the parts would do, and last what becomes less strict."""
    own, merged = (
        parse_settings(Settings, _without_format(value), lambda path: SETTINGS_FILE)
        for value in (current, merged_settings(current, select_changes(plan.settings, replace=plan.replace)))
    )
    if files := tuple(_reviewed_files(paths, plan)):
        view.print_files(paths.config / PACKS_DIR, ProjectReview(files=files))
    effects = [*settings_effects(own, merged), *_bundle_effects(plan, enable=enable), *_pack_effects(plan)]
    effects += _prompt_effects(paths, plan)
    view.print_effects(effects, None, intro="If you import this setup")
    if view.has_hidden:
        _print("Some of it is hidden. Show everything with --full.")
    if rules := list(loosened_rules(own, merged)):
        click.secho("This setup loosens rules:", bold=True, fg="yellow", file=stdout())
        for rule in rules:
            _print(f"  {rule}")


def _reviewed_files(paths: Paths, plan: SetupPlan) -> Iterator[ReviewedFile]:
    for pack in plan.selected_packs:
        yield ReviewedFile(
            name=pack.name,
            path=paths.config / PACKS_DIR / pack.name,
            content=pack.content,
            status="new" if pack.status == "new" else "changed",
            trusted_content=pack.present,
        )


def _bundle_effects(plan: SetupPlan, *, enable: bool) -> Iterator[TrustEffect]:
    for planned in plan.bundles:
        if planned in plan.selected_bundles or (enable and planned in plan.enabled_bundles):
            yield from bundle_effects(planned.bundle, planned.tools)


def _pack_effects(plan: SetupPlan) -> Iterator[TrustEffect]:
    return (pack_effect(pack.name, pack.content) for pack in plan.selected_packs)


def _prompt_effects(paths: Paths, plan: SetupPlan) -> Iterator[TrustEffect]:
    current = read_map(paths.config / PROMPTS_FILE)
    own, merged = (
        parse_settings(PromptSettings, _without_format(value), lambda path: PROMPTS_FILE)
        for value in (current, merged_settings(current, select_changes(plan.prompts, replace=plan.replace)))
    )
    return prompt_effects(own, merged)


def _without_format(value: Mapping[str, object]) -> dict[str, object]:
    return {key: item for key, item in value.items() if key != "format"}


def _print_next_steps(plan: SetupPlan, *, enable: bool) -> None:
    enabled = plan.enabled_bundles if enable else []
    if disabled := [planned.bundle for planned in plan.selected_bundles if planned not in enabled]:
        for name in with_runtime(lambda runtime: _unique_names(runtime, disabled), waits_for_servers=False):
            _print(f"Review, then enable: onetool bundles enable {name}")
    selected = select_changes(plan.settings, replace=plan.replace)
    for where in plan.setup.manifest.removed:
        if any(where == change.name or where.startswith(f"{change.name}.") for change in selected):
            _print(f"A secret was removed from {where}. Add it in {SETTINGS_FILE}.")


async def _unique_names(runtime: Runtime, bundles: Sequence[Bundle]) -> list[str]:
    """Return the slugs of bundles, or the ids of those whose slug others have, too."""
    return [
        bundle.slug if len(await runtime.state.bundles.named(bundle.slug)) == 1 else bundle.id
        for bundle in bundles
    ]


def _complete_secrets(paths: Paths, setup: Setup, *, ask: bool) -> None:
    """Ask for the secrets that the setup needs and the user does not have, or list them."""
    known = {entry.name for entry in read_entries(paths.config / SECRETS_FILE)}
    missing = [secret for secret in setup.manifest.secrets if secret.name not in known]
    if not missing:
        return
    is_elsewhere = load_user_settings(paths).secrets.backend == "command"
    _print(f"Missing {pluralize(len(missing), 'secret')}:")
    if ask and not is_elsewhere:
        missing = _ask(missing)
        if missing:
            _print("Not set:")
    for secret in missing:
        if secret.hosts == ():
            _print(f"  {secret.name}: {{value: ..., hosts: []}}  # a line of {SECRETS_FILE}, {_uses(secret)}")
        else:
            options = "".join(f" --host {shlex.quote(host)}" for host in secret.hosts or ())
            _print(f"  onetool secrets set {secret.name}{options}  # {_uses(secret)}")


def _ask(missing: Sequence[NeededSecret]) -> list[NeededSecret]:
    """Ask for secrets, and return those that the user skipped. Ctrl-C skips all that follow."""
    skipped = list[NeededSecret]()
    for number, secret in enumerate(missing):
        hosts = secret.hosts
        sent_to = "" if hosts is None else f", sent only to {', '.join(hosts) or 'no host'}"
        question = escape_invisible(f"Value of {secret.name} ({_uses(secret)}{sent_to}; empty to skip)")
        try:
            value: str = click.prompt(question, default="", hide_input=True, show_default=False, err=True)
        except click.Abort:  # the setup is already imported
            click.echo(err=True)
            return [*skipped, *missing[number:]]
        if value:
            edit_secrets({secret.name: value}, hosts)  # None: any host
        else:
            skipped.append(secret)
    return skipped


def _uses(secret: NeededSecret) -> str:
    return f"used by {', '.join(secret.used_by)}" if secret.used_by else "not used by a file"


def _escape_lines(text: str) -> str:
    return "\n".join(map(escape_invisible, text.split("\n")))


def _print(text: str) -> None:
    """Print one line with names of the setup, which may contain any character."""
    click.echo(mask(escape_invisible(text)), file=stdout())
