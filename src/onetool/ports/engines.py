"""What does the work: code is run, meanings are compared, models are spoken with."""

from collections.abc import Callable, Sequence
from typing import Protocol

from onetool.domain.chat import Message, Offer, Reply
from onetool.domain.sandbox import Outcome, SandboxJob


class Sandbox(Protocol):
    """Runs code that a model wrote, where it can do nothing but call tools."""

    async def run(self, job: SandboxJob) -> Outcome:
        """Run the code to its end; cancelling the wait ends it at once."""
        ...

    def close(self) -> None:
        """End all workers."""
        ...


class Nearest(Protocol):
    """Texts that were learnt, ready to be asked. Called on a thread: it may take milliseconds."""

    def __call__(self, query: str, limit: int) -> Sequence[tuple[int, float]]:
        """Return the places of the texts that are nearest in meaning, the nearest first, up to 1.0 each."""
        ...


class Meanings(Protocol):
    """Compares texts by what they mean. Called on a thread: it may block."""

    def learn(self, texts: Sequence[str]) -> Nearest:
        """Get to know these texts: seconds for new ones, hardly anything for those it has seen before.

        Raises ImportError when software is missing, FileNotFoundError when the model is; they say what helps.
        """
        ...


class ChatModels(Protocol):
    """The chat models that the operator may use."""

    def names(self) -> Sequence[str]:
        """Return what they are called, the one that is used by default first."""
        ...

    def default(self) -> str | None:
        """Return the name of the one that is used by default; None where none is set up."""
        ...

    def open(
        self, name: str | None = None, model: str | None = None, *, script: str | None = None
    ) -> "ChatModel":
        """Return one by its provider's name, or the default one; close it after use. It may block.

        script: the file that the scripted one follows; never what a model or a stranger wrote.

        Raises SettingsError where there is none of this name, or what it needs is missing.
        """
        ...


class ChatModel(Protocol):
    """A language model that holds a conversation and asks for tools."""

    @property
    def name(self) -> str:
        """How the operator calls it: the provider's name in the settings."""
        ...

    @property
    def model(self) -> str:
        """Which model answers."""
        ...

    async def reply(
        self,
        messages: Sequence[Message],
        offers: Sequence[Offer],
        *,
        on_text: Callable[[str], None],
        deadline: float,
    ) -> Reply:
        """Return the model's next turn; pieces of its text go to `on_text` as they come.

        Tools are named as in the catalog, in offers, messages and reply alike; a name that the model made up
        comes back as it stands. The deadline is on the monotonic clock, in seconds. What failed in passing
        before the model said anything was tried once more already.

        Raises ChatFailed, and SettingsError where the operator must act before any reply can come.
        """
        ...

    async def aclose(self) -> None:
        """Close its connections; call it in the loop that used them."""
        ...
