"""One short run of the whole chaos suite, without a fault; with `--stress`, with two."""

import shutil

import pytest

from chaos.campaign import run_seeds
from support.redis_server import redis_server_url

pytestmark = [pytest.mark.linux, pytest.mark.stress]


def test_short_run_violates_nothing(request, tmp_path):
    """Its installation takes longer to start than CI has time for."""
    if not request.config.getoption("--stress"):
        pytest.skip("runs with --stress")
    if shutil.which("redis-server") is None:
        redis_server_url()
    (result,) = run_seeds([1], 10.0, tmp_path / "results", ["redis killed", "server killed"])
    assert result.violations == []
    assert run_seeds([1], 10.0, tmp_path / "results", []) == [], "a seed with results is not run again"
