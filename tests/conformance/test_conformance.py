"""The everything server answers the whole conformance suite, so that a failure through OneTool is ours."""

import pytest

from conformance.suite import everything_server, install, onetool_server, run_suite, total
from support.package_registries import require_download

EXPECTED = "40 of 40"


@pytest.mark.linux
def test_the_everything_server_passes_every_check_of_the_suite():
    require_download("npx", "@modelcontextprotocol/conformance")
    install()
    with everything_server() as url:
        scores = run_suite(url)
    failed = [name for name, score in scores.items() if score.failed]
    assert (total(scores.values(), scores.values()), failed) == (EXPECTED, [])


@pytest.mark.linux
@pytest.mark.spec("MCP-23", "MCP-54")
@pytest.mark.parametrize("processes", [1, 2])
def test_through_onetool_every_check_passes(tmp_path, processes):
    """The token and the Host check are on: a proxy adds the token, and uses all processes."""
    require_download("npx", "@modelcontextprotocol/conformance")
    install()
    with onetool_server(tmp_path, processes=processes) as url:
        scores = run_suite(url)
    failed = [name for name, score in scores.items() if score.failed or not score.passed]
    assert (total(scores.values(), scores.values()), failed) == (EXPECTED, [])
