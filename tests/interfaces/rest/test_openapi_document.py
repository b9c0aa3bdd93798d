"""The OpenAPI document matches the API: no undocumented responses, and no 5xx."""

import asyncio
import sys
from pathlib import Path

import pytest

from onetool.interfaces.rest.auth.wrong_tokens import WrongTokens
from onetool.testing import memory_runtime
from support.rest_in_process import TOKEN, serve_rest

WEATHER = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
PHASES = {False: "examples,fuzzing,stateful", True: "examples,coverage,fuzzing,stateful"}
EXCLUDED_CHECKS = "positive_data_acceptance,negative_data_rejection"
"""The document cannot describe allowed hosts and registered functions, and any text is a valid tag."""


@pytest.mark.stress
async def test_responses_to_generated_requests_match_the_document(size, tmp_path):
    """Runs Schemathesis over a socket."""
    program = Path(sys.executable).with_name("schemathesis")
    async with (
        memory_runtime(settings={"allowedHosts": ["127.0.0.1"]}, cwd=tmp_path) as ot,
        serve_rest(ot.runtime, wrong_tokens=WrongTokens(max_delay_s=0)) as client,
    ):
        await client.put(f"/tools/bundles/{WEATHER}", json={"slug": "weather"})
        process = await asyncio.create_subprocess_exec(
            str(program),
            "run",
            f"{str(client.base_url).rstrip('/')}/openapi.json",
            f"--header=Authorization: Bearer {TOKEN}",
            f"--max-examples={size(3, 200)}",
            f"--phases={PHASES[size(0, 1) == 1]}",
            "--checks=all",
            f"--exclude-checks={EXCLUDED_CHECKS}",
            "--no-color",
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode(errors="replace")[-6000:]


async def test_every_route_is_documented():
    """Every operation has a description and a success response. There are no routes for built-ins."""
    async with memory_runtime() as ot, serve_rest(ot.runtime) as client:
        document = (await client.get("/openapi.json")).json()
    operations = [
        (path, operation) for path, methods in document["paths"].items() for operation in methods.values()
    ]
    assert len(operations) >= 17
    for path, operation in operations:
        assert operation["description"], path
        assert "422" not in operation["responses"], path
        assert {"200", "201", "204"} & operation["responses"].keys(), path
    assert not [path for path, _ in operations if "builtin" in path.lower()]
