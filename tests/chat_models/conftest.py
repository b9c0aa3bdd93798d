"""A chat model of each kind, with its provider on loopback."""

import warnings
from collections.abc import AsyncIterator

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # an escape in its source is warned of when it is first compiled
    import google.genai  # noqa: F401

from chat_models.harness import SERVERS, Talk, make_talk


@pytest.fixture(params=sorted(SERVERS))
async def talk(request: pytest.FixtureRequest) -> AsyncIterator[Talk]:
    async with SERVERS[request.param]() as server:
        talk = make_talk(request.param, server)
        yield talk
        await talk.chat.aclose()
