"""The OpenAPI document is true: whatever is sent, no answer is undocumented, and none is a 5xx."""

import asyncio
import sys
from pathlib import Path

import pytest

from onetool.testing import memory_runtime
from rest_app import TOKEN, served

WEATHER = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
PHASES = {False: "examples,fuzzing,stateful", True: "examples,coverage,fuzzing,stateful"}
NOT_ASKED = "positive_data_acceptance,negative_data_rejection"
"""A document cannot say which hosts are allowed or which functions are registered, and any text is a tag."""


@pytest.mark.torture
async def test_generated_requests_are_answered_as_documented(size, tmp_path):
    """All checks of Schemathesis, over a socket."""
    program = Path(sys.executable).with_name("schemathesis")
    async with (
        memory_runtime(settings={"allowedHosts": ["127.0.0.1"]}, cwd=tmp_path) as ot,
        served(ot.runtime) as client,
    ):
        await client.put(f"/tools/bundles/{WEATHER}", json={"slug": "weather"})
        checked = await asyncio.create_subprocess_exec(
            str(program),
            "run",
            f"{str(client.base_url).rstrip('/')}/openapi.json",
            f"--header=Authorization: Bearer {TOKEN}",
            f"--max-examples={size(3, 200)}",
            f"--phases={PHASES[size(0, 1) == 1]}",
            "--checks=all",
            f"--exclude-checks={NOT_ASKED}",
            "--no-color",
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await checked.communicate()
    assert checked.returncode == 0, said.decode(errors="replace")[-6000:]


async def test_every_route_is_documented():
    """Each operation says what it does and what it answers; no route is special to built-ins."""
    async with memory_runtime() as ot, served(ot.runtime) as client:
        document = (await client.get("/openapi.json")).json()
    operations = [(path, one) for path, methods in document["paths"].items() for one in methods.values()]
    assert len(operations) >= 17
    for path, operation in operations:
        assert operation["description"], path
        assert "422" not in operation["responses"], path
        assert {"200", "201", "204"} & operation["responses"].keys(), path
    assert not [path for path, _ in operations if "builtin" in path.lower()]
