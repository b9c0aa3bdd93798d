"""Language model requests for packs: one question, no tools."""

from contextlib import aclosing

from onetool.domain.chat.messages import Message
from onetool.runtime.active_call import ActiveCall, current_call

from .calls import wait_for
from .forwarding import waits_in_runtime


@waits_in_runtime
def ask_model(text: str, *, rules: str = "", provider: str = "", model: str = "") -> str:
    """Return the response of a chat model. `onetool auth status` shows the default model.

    Args:
        text: The user message.
        rules: The system prompt.
        provider: The provider; empty for the default.
        model: The model; empty for the provider's default.

    Raises:
        ChatModelError: The model did not respond.
        SettingsError: No model is configured.
    """
    active = current_call()
    return wait_for(active, _ask(active, text, rules, provider, model), "ask_model()")


async def _ask(active: ActiveCall, text: str, rules: str, provider: str, model: str) -> str:
    messages = [Message(role="user", text=text)]
    if rules:
        messages.insert(0, Message(role="system", text=rules))
    open_model = active.runtime.state.chat_models.open
    chat = await active.runtime.threads.run(open_model, provider or None, model or None)
    async with aclosing(chat):
        response = await chat.reply(
            messages, (), on_text=lambda delta: None, deadline=active.invocation.deadline
        )
    return response.text
