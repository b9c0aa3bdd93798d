"""A conversation from its first line to its last: the model is opened, and closed again."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from onetool.runtime import Runtime

from .conversation import Conversation

DAY = 86_400.0


@asynccontextmanager
async def open_conversation(
    runtime: Runtime,
    session: str | None = None,
    provider: str | None = None,
    model: str | None = None,
    *,
    script: str | None = None,
) -> AsyncIterator[Conversation]:
    """Go on with a session, or begin one: of this name, or of a new one; old sessions are removed meanwhile.

    Raises SettingsError where there is no such model, and BadSession where there can be no such session.
    """
    days = runtime.configuration.settings.log.sessions_days
    await runtime.threads.run(partial(runtime.sessions.reap, time.time() - days * DAY, but=session))
    chat_model = await runtime.threads.run(partial(runtime.chat_models.open, provider, model, script=script))
    try:
        yield Conversation(runtime, chat_model, new_session(runtime) if session is None else session)
    finally:
        await chat_model.aclose()


def new_session(runtime: Runtime) -> str:
    """Make a name for a session that nobody has named."""
    return runtime.new_id()
