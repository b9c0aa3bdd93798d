"""A fixture with each chat model, connected to its fake provider."""

from collections.abc import AsyncIterator

import pytest

from chat_models.harness import SERVERS, ModelHarness, make_harness


@pytest.fixture(params=sorted(SERVERS))
async def harness(request: pytest.FixtureRequest) -> AsyncIterator[ModelHarness]:
    async with SERVERS[request.param]() as server:
        harness = make_harness(request.param, server)
        yield harness
        await harness.chat.aclose()
