"""Opening and closing of conversations."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from onetool.runtime.runtime import Runtime

from .conversation import Conversation

DAY_S = 86_400.0


@asynccontextmanager
async def open_conversation(
    runtime: Runtime,
    session: str | None = None,
    provider: str | None = None,
    model: str | None = None,
    *,
    script: str | None = None,
) -> AsyncIterator[Conversation]:
    """Continue the named session or start a new one. Also deletes expired sessions.

    Raises:
        SettingsError: The chat model is not available.
        InvalidSession: The name is not a valid session name.
    """
    days = runtime.state.configuration.settings.sessions.retention_days
    await runtime.sessions.reap(time.time() - days * DAY_S, keep=session)
    chat_model = await runtime.threads.run(
        partial(runtime.state.chat_models.open, provider, model, script=script)
    )
    try:
        yield Conversation(runtime, chat_model, new_session(runtime) if session is None else session)
    finally:
        await chat_model.aclose()


def new_session(runtime: Runtime) -> str:
    """Return a name for a new session."""
    return runtime.new_id()
