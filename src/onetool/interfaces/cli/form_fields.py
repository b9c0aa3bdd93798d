"""The fields of a form, as the user fills them in on a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from onetool.domain.errors import InvalidTool
from onetool.domain.tools.json_schema import compile_schema, describe_problems

YES, NO = ("y", "yes", "true"), ("n", "no", "false")


class InvalidInput(ValueError):
    """What the user typed does not fit the field. The message says what does."""


class Choice(NamedTuple):
    """A value that can be chosen, and its title."""

    value: Any
    title: str


class FormField(NamedTuple):
    """One field of a form."""

    name: str
    schema: Mapping[str, Any]
    is_required: bool

    @property
    def choices(self) -> Sequence[Choice]:
        """The values that can be chosen; none if the value is free."""
        schema = self.schema.get("items", {}) if self.is_list else self.schema
        titled = schema.get("oneOf") or schema.get("anyOf")
        if isinstance(titled, Sequence):
            return [Choice(item.get("const"), str(item.get("title", item.get("const")))) for item in titled]
        values = schema.get("enum") or ()
        titles = schema.get("enumNames") or values
        return [Choice(value, str(title)) for value, title in zip(values, titles, strict=False)]

    @property
    def is_list(self) -> bool:
        """Whether several values can be chosen."""
        return self.schema.get("type") == "array"

    def prompt(self) -> str:
        """Return the lines that ask for the value, without the last colon."""
        title = str(self.schema.get("title") or self.name)
        lines = [title + (f": {about}" if (about := self.schema.get("description")) else "")]
        lines += [f"  {number}. {choice.title}" for number, choice in enumerate(self.choices, 1)]
        hints = [self._hint()]
        if "default" in self.schema:
            hints.append(f"Enter for {self._show(self.schema['default'])}")
        elif not self.is_required:
            hints.append("Enter to leave it out")
        return "\n".join([*lines, f"  [{', '.join(hint for hint in hints if hint)}]"])

    def _show(self, value: Any) -> str:
        if isinstance(value, bool):
            return "y" if value else "n"
        if isinstance(value, list):
            return ", ".join(map(self._show, value)) or "none"
        return next((choice.title for choice in self.choices if choice.value == value), str(value))

    def _hint(self) -> str:
        if self.choices:
            return "numbers, separated by commas" if self.is_list else "a number"
        kind = self.schema.get("type")
        hints = {"boolean": "y/n", "integer": "a whole number", "number": "a number"}
        return hints.get(str(kind), str(self.schema.get("format") or "text"))

    def parse(self, text: str) -> Any:
        """Return the value of what the user typed; None if it is left out.

        Raises:
            InvalidInput: It does not fit the field.
        """
        text = text.strip()
        if not text:
            if "default" in self.schema or not self.is_required:
                return self.schema.get("default")
            raise InvalidInput("A value is required.")
        value = self._convert(text)
        try:
            problems = describe_problems(compile_schema(self.schema), self.schema, value)
        except InvalidTool as error:
            problems = f"the server's form is invalid: {error}"
        if problems:
            raise InvalidInput(f"{problems[:1].upper()}{problems[1:]}.")
        return value

    def _convert(self, text: str) -> Any:
        if choices := self.choices:
            numbers = [number.strip() for number in text.split(",")] if self.is_list else [text]
            chosen = [_choose(number, choices) for number in numbers]
            return chosen if self.is_list else chosen[0]
        kind = self.schema.get("type")
        if kind == "boolean":
            if text.lower() not in (*YES, *NO):
                raise InvalidInput("Type y or n.")
            return text.lower() in YES
        if kind in ("integer", "number"):
            try:
                return int(text) if kind == "integer" else float(text)
            except ValueError:
                raise InvalidInput(f"{text!r} is not {self._hint()}.") from None
        return text


def form_fields(schema: Mapping[str, Any]) -> list[FormField]:
    """Return the fields of a form in order."""
    required = schema.get("required") or ()
    properties = schema.get("properties") or {}
    return [
        FormField(name, field if isinstance(field, Mapping) else {}, name in required)
        for name, field in properties.items()
    ]


def _choose(number: str, choices: Sequence[Choice]) -> Any:
    if number.isdecimal() and 1 <= int(number) <= len(choices):
        return choices[int(number) - 1].value
    raise InvalidInput(f"Type a number from 1 to {len(choices)}.")
