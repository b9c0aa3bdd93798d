"""`onetool admin cluster`, and the moves of workspaces between clusters."""

from functools import partial
from typing import TYPE_CHECKING

import click

from .command import json_option, print_json, stdout, use_json
from .groups import CommandGroup
from .hosted import exit_on_hosted_error, other_clusters, owner_url

if TYPE_CHECKING:
    from onetool.bootstrap.hosted_admin import ClusterAdmin, WorkspaceMoves


@click.group(cls=CommandGroup)
def cluster() -> None:
    """Manage the clusters that have the workspaces."""


@cluster.command("list")
@json_option
def list_clusters(as_json: bool) -> None:
    """List clusters, with their workspaces and whether they can be used."""
    with exit_on_hosted_error():
        found = _administration().list()
    if use_json(as_json):
        names = ("name", "acceptsNew", "workspaces", "problem")
        print_json([dict(zip(names, item, strict=True)) for item in found])
        return
    for item in found:
        state = "open" if item.accepts_new else "closed"
        problem = item.problem or "ready"
        click.echo(f"{item.name}  {state}  workspaces: {item.workspaces:,}  {problem}", file=stdout())


@cluster.command("add")
@click.argument("name")
def add_cluster(name: str) -> None:
    """Make cluster NAME part of the installation.

    Set ONETOOL_CLUSTER_NAME_URL at all servers and workers first, and run `onetool migrate`. Processes
    without it do not start any more.
    """
    with exit_on_hosted_error():
        _administration().add(name)
    click.echo(f"Added cluster {name}. New workspaces are created there.", file=stdout())


@cluster.command("close")
@click.argument("name")
def close_cluster(name: str) -> None:
    """Create no new workspaces in cluster NAME."""
    with exit_on_hosted_error():
        _administration().accept_new(name, accepts_new=False)
    click.echo(f"Closed cluster {name}.", file=stdout())


@cluster.command("open")
@click.argument("name")
def open_cluster(name: str) -> None:
    """Create new workspaces in cluster NAME again."""
    with exit_on_hosted_error():
        _administration().accept_new(name, accepts_new=True)
    click.echo(f"Opened cluster {name}.", file=stdout())


@click.command("move")
@click.argument("slug")
@click.argument("cluster")
@click.option(
    "--ignore-away",
    is_flag=True,
    help="Complete an interrupted move although another cluster is away. Changes made there since are lost.",
)
def move(slug: str, cluster: str, *, ignore_away: bool) -> None:
    """Move workspace SLUG to CLUSTER. Meanwhile it is read-only; calls continue.

    After an interruption, run the command again: it completes the move. To undo a move that has not reached
    the directory, name the cluster where the workspace is.
    """
    with exit_on_hosted_error():
        moved = _moves(ignore_away=ignore_away).move(slug, cluster)
    if moved.source == moved.target:
        click.echo(f"Workspace {slug} is in cluster {cluster}.", file=stdout())
        return
    click.echo(
        f"Moved workspace {slug} from {moved.source} to {cluster}. Rows: {moved.rows:,}. "
        f"Read-only: {moved.read_only_s:.2f} s.",
        file=stdout(),
    )


@click.command("clean-up")
def clean_up() -> None:
    """Delete the rows that moves have left at other clusters, 24 hours after a move."""
    with exit_on_hosted_error():
        done = _moves().clean_up()
    for slug, name in done:
        click.echo(f"Deleted the rows of {slug} in cluster {name}.", file=stdout())
    click.echo(f"Workspaces: {len(done):,}.", file=stdout())


def _administration() -> "ClusterAdmin":
    from onetool.bootstrap.hosted_admin import cluster_admin

    return cluster_admin(owner_url(), other_clusters(is_owner=True))


def _moves(*, ignore_away: bool = False) -> "WorkspaceMoves":
    from onetool.bootstrap.hosted_admin import workspace_moves

    report = partial(click.echo, err=True)
    return workspace_moves(owner_url(), other_clusters(is_owner=True), report, ignore_away=ignore_away)
