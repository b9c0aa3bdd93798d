"""`onetool trust`: trust the files of a project with their current content."""

from collections.abc import Mapping
from typing import NoReturn

import click

from onetool.domain.errors import SettingsError
from onetool.domain.text.strings import escape_invisible, pluralize
from onetool.files.atomic import write_atomic
from onetool.settings.configuration import merge_settings
from onetool.settings.documents import Read
from onetool.settings.paths import Paths
from onetool.settings.trust import PROJECT_FILES, save_trust
from onetool.settings.trust_effects import TrustEffect, pack_effect, prompt_effects, settings_effects
from onetool.settings.trust_review import ProjectReview, review_project

from .command import confirm, current_paths, stdout
from .trust_view import TrustView


@click.command()
@click.option("--full", is_flag=True, help="Show everything, without shortening.")
@click.option("--yes", is_flag=True, help="Skip confirmation.")
def trust(full: bool, yes: bool) -> None:
    """Trust the settings and packs of the current project.

    Shows what changed since you last trusted them, and what the files would do: start programs, load code,
    and open hosts and directories. Exactly the content that is shown is trusted: a file that changes later
    is ignored until you trust it again.

    \b
    Examples:
      onetool trust
      onetool trust --full
    """
    paths = current_paths()
    if paths.project is None:
        _exit("Nothing to trust: no .onetool directory here or in a parent directory.", 1)
    try:
        review = review_project(paths.state, paths.project)
        effects = _effects(paths, review.read, review.packs())
    except SettingsError as error:
        lines = "\n".join(map(escape_invisible, str(error).split("\n")))
        _exit(f"Error: Invalid settings.\n{lines}\nNothing was trusted.", 2)
    if not (review.files or review.removed or review.rejected):
        _exit(f"Nothing to trust: {paths.project} contains no {', '.join(PROJECT_FILES)}.", 1)
    view = TrustView(stdout(), full=full)
    view.print_files(paths.project, review)
    view.print_effects(effects, _trusted_effects(paths, review))
    if view.has_hidden:
        click.echo("\nSome of it is hidden. Show everything with: onetool trust --full")
    if review.is_trusted:
        click.echo("\nAll of this is already trusted.")
        return
    click.echo()
    if not yes:
        confirm("Trust these files?")
    save_trust(paths.state, paths.project, [(file.path, file.content) for file in review.files])
    write_atomic(paths.reload_file, b"")
    click.echo(f"Trusted {pluralize(len(review.files), 'file')}.")


def _trusted_effects(paths: Paths, review: ProjectReview) -> list[TrustEffect] | None:
    """Return what the project does as it is trusted now. None if nothing is trusted, or it is unknown."""
    if not review.has_trusted_files:
        return None
    try:
        return _effects(paths, review.read_trusted, review.trusted_packs())
    except SettingsError:  # it was trusted by another version
        return None


def _effects(paths: Paths, read: Read, packs: Mapping[str, bytes]) -> list[TrustEffect]:
    (own, own_prompts), (merged, merged_prompts) = merge_settings(paths, None), merge_settings(paths, read)
    return [
        *settings_effects(own, merged),
        *(pack_effect(name, content) for name, content in packs.items()),
        *prompt_effects(own_prompts, merged_prompts),
    ]


def _exit(message: str, code: int) -> NoReturn:
    click.echo(message, err=True)
    raise SystemExit(code)
