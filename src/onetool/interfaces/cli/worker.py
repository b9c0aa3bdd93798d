"""`onetool worker`: run the queued jobs and the clean-up of a hosted OneTool."""

import asyncio

import click

from .command import chosen_log_level, stdout
from .hosted import DATABASE_URL, exit_on_hosted_error, open_parts, variable
from .metrics_listener import metrics_option, serving_metrics
from .stop_signals import on_stop_signals


@click.command()
@click.option(
    "--concurrency", default=20, show_default=True, type=click.IntRange(1, 1000), help="Calls at a time."
)
@click.option(
    "--grace",
    default=30.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="Seconds for calls in progress after SIGTERM. Those that take longer are lost.",
)
@click.option("--lease", default=90.0, hidden=True, type=click.FloatRange(min=1))
@click.option("--reap-interval", default=3600, hidden=True, type=click.IntRange(1, 3600))
@metrics_option
def worker(
    concurrency: int, grace: float, lease: float, reap_interval: int, metrics: tuple[str, int] | None
) -> None:
    """Run the queued jobs of all workspaces, and delete what has expired.

    Needs ONETOOL_DATABASE_URL and ONETOOL_KEYS; ONETOOL_REDIS_URL is optional. Any number of workers can run.

    \b
    Examples:
      onetool worker
      onetool serve --hosted --with-worker
    """
    with exit_on_hosted_error():
        asyncio.run(_work(concurrency, grace, lease, reap_interval, metrics))


async def _work(
    concurrency: int, grace: float, lease: float, reap_interval: int, metrics: tuple[str, int] | None
) -> None:
    from onetool.bootstrap.worker import Worker, open_workspaces

    stop = asyncio.Event()
    on_stop_signals(stop.set)
    async with (
        open_parts(log_level=chosen_log_level() or "warning", lease_s=lease) as parts,
        open_workspaces(parts) as workspaces,
    ):
        options = {"concurrency": concurrency, "reap_interval_s": reap_interval}
        running = Worker(parts, variable(DATABASE_URL), workspaces.use, grace_s=grace, **options)
        click.echo("OneTool runs queued jobs.", file=stdout())
        stdout().flush()
        async with serving_metrics(metrics, parts, parts.status, workspaces, worker=running):
            await running.run(stop)
