"""`--metrics HOST:PORT`: the listener with the metrics of a hosted process, for its operator."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sized
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from onetool.telemetry.request_meter import RequestMeter

from .command import stdout
from .listening import bind

if TYPE_CHECKING:
    from onetool.bootstrap.hosted import HostedParts
    from onetool.bootstrap.worker import Worker

VARIABLE = "ONETOOL_METRICS"
EXAMPLE = "127.0.0.1:9464"
MAX_PORT = 65535


class AddressType(click.ParamType[tuple[str, int]]):
    """An address to listen on."""

    name = "host:port"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Return the host and the port.

        >>> AddressType().convert("[::1]:9464", None, None)
        ('::1', 9464)
        """
        if isinstance(value, tuple):
            return value
        host, _, port = str(value).rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not (port.isascii() and port.isdigit()) or int(port) > MAX_PORT:
            self.fail(f"{value!r} is no address to listen on. Example: {EXAMPLE}", param, ctx)
        return host, int(port)


metrics_option: Callable[[Any], Any] = click.option(
    "--metrics",
    type=AddressType(),
    metavar="HOST:PORT",
    envvar=VARIABLE,
    show_envvar=True,
    help="Address on which Prometheus reads the metrics of this process, without credentials. Default: none.",
)


def check_is_hosted(address: tuple[str, int] | None, *, is_hosted: bool) -> None:
    """Check that the option is used for a hosted process.

    Raises:
        UsageError: It is not.
    """
    if address is not None and not is_hosted:
        raise click.UsageError("--metrics needs --hosted. Without it, read /metrics with the token.")


@asynccontextmanager
async def serving_metrics(
    address: tuple[str, int] | None,
    parts: "HostedParts",
    status: Callable[[], str],
    workspaces: Sized,
    *,
    requests: RequestMeter | None = None,
    worker: "Worker | None" = None,
) -> AsyncIterator[None]:
    """Serve the metrics of a process during the block, if there is an address to listen on.

    requests: counts those that the process serves; None: it serves none.
    worker: runs queued jobs; None: the process runs none.
    """
    if address is None:
        yield
        return
    from onetool.bootstrap.operator_metrics import MeasuredProcess, OperatorMetrics
    from onetool.interfaces.rest.metrics_app import LIMITS, PATH, MetricsApp
    from onetool.interfaces.rest.server import create_server

    sock: socket.socket = bind(*address, option="--metrics")
    process = MeasuredProcess(
        parts=parts, status=status, workspaces=workspaces, requests=requests, worker=worker
    )
    metrics = OperatorMetrics(process)
    server = create_server(MetricsApp(metrics.render), LIMITS)
    sock.listen()
    host, port = sock.getsockname()[:2]
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    click.echo(f"Metrics: http://{f'[{host}]' if ':' in host else host}:{port}{PATH}", file=stdout())
    stdout().flush()
    try:
        async with metrics.measuring():
            yield
    finally:
        server.stop()
        server.stop()  # at once
        await serving
