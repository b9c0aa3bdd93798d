"""A language model for packs: asked once, without tools."""

from contextlib import aclosing

from onetool.domain.chat import Message
from onetool.runtime import Scope, current

from .calls import wait_for


def ask_model(text: str, *, rules: str = "", provider: str = "", model: str = "") -> str:
    """Return what the chat model of this OneTool answers; `onetool auth status` shows which one that is.

    Raises ChatFailed when it gives no answer, SettingsError when there is none.
    """
    scope = current()
    return wait_for(scope, _ask(scope, text, rules, provider, model), "ask_model()")


async def _ask(scope: Scope, text: str, rules: str, provider: str, model: str) -> str:
    messages = [Message(role="user", text=text)]
    if rules:
        messages.insert(0, Message(role="system", text=rules))
    open_model = scope.runtime.chat_models.open
    chat = await scope.runtime.threads.run(open_model, provider or None, model or None)
    async with aclosing(chat):
        reply = await chat.reply(messages, (), on_text=lambda piece: None, deadline=scope.invocation.deadline)
    return reply.text
