"""Removal of bundles that were deleted long ago, while a server runs."""

import asyncio

import click

from onetool.runtime.runtime import Runtime


async def reap(runtime: Runtime, interval: float, *, delay: float | None = None) -> None:
    """Periodically remove bundles that were deleted long ago, for the first time after a delay."""
    pause = interval if delay is None else delay
    while True:
        await asyncio.sleep(pause)
        pause = interval
        try:
            await runtime.state.bundles.reap()
        except Exception as error:  # noqa: BLE001 - the root of a background task
            click.echo(f"Cannot remove deleted bundles: {error}", err=True)
