"""What a hosted process reports to its operator, as Prometheus reads it."""

from collections.abc import Mapping

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from support.hosted_process import HostedProcess
from support.waiting import HANG_S
from support.worker_process import WorkerProcess

LISTEN = ("--metrics", "127.0.0.1:0")
Series = tuple[str, frozenset[tuple[str, str]]]


class ScrapedMetrics:
    """The metrics of a process that was started with LISTEN."""

    def __init__(self, process: HostedProcess | WorkerProcess) -> None:
        assert process.process.stdout
        start, _, self.url = process.process.stdout.readline().strip().rpartition(" ")
        assert start == "Metrics:"

    def text(self) -> str:
        """Return the response."""
        response = httpx2.get(self.url, timeout=HANG_S, trust_env=False, verify=False)
        assert (response.status_code, response.headers["content-type"]) == (
            200,
            "text/plain; version=0.0.4; charset=utf-8",
        )
        return response.text

    def read(self) -> Mapping[Series, float]:
        """Return the value of each series."""
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(self.text())
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float | None:
        """Return the value of one series; None if there is none."""
        return self.read().get((name, frozenset(labels.items())))
