"""Inputs of a registry entry: texts with values that the user provides. Every field is untrusted."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onetool.domain.secrets.detection import SECRET_NAME
from onetool.domain.text.strings import escape_invisible

MAX_TEXT, MAX_SHOWN, MAX_ITEMS = 2_000, 300, 100
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]{0,99})\}")
LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
PATH_LABEL = re.compile(r"path|dir(?![a-z])|director|folder", re.IGNORECASE)
SECRET_REFERENCE, REFERENCE = "${", re.compile(r"\$\{[A-Za-z_]\w*\}")


class UnsupportedEntry(ValueError):
    """An entry of the registry is invalid, or OneTool cannot run what it describes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryInput:
    """A value that the user provides."""

    name: str
    description: str = ""
    is_required: bool = False
    is_secret: bool = False
    is_path: bool = False
    default: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputTemplate:
    """A text whose parts are literal or come from the user."""

    parts: tuple[str | RegistryInput, ...]

    @property
    def inputs(self) -> tuple[RegistryInput, ...]:
        """The inputs in the order of the text."""
        return tuple(part for part in self.parts if isinstance(part, RegistryInput))

    def fill(self, values: Mapping[str, str]) -> str | None:
        """Return the text with these values or the defaults; None if an input has neither.

        Raises:
            UnsupportedEntry: Parts that are harmless alone refer to a secret when they are joined.
        """
        texts = []
        for part in self.parts:
            text = part if isinstance(part, str) else values.get(part.name, part.default)
            if not text:
                return None
            texts.append(text)
        if SECRET_REFERENCE in "".join(text for text in texts if not is_reference(text)):
            raise UnsupportedEntry("its parts refer to one of your secrets when they are joined")
        return "".join(texts)


def is_reference(value: str) -> bool:
    """Whether a value that the user provides refers to a secret: `${NAME}`."""
    return REFERENCE.fullmatch(value) is not None


def parse_template(raw: Mapping[str, Any], name: str, *, kind: str = "argument") -> InputTemplate:
    """Read an argument, a variable or a header: a fixed text with variables, or an input.

    Raises:
        UnsupportedEntry: A field is invalid.
    """
    if raw.get("value") is None:
        return InputTemplate(parts=(_input(raw, name, kind=kind),))
    variables = mapping_field(raw, "variables")
    text = text_field(raw, "value")
    parts: list[str | RegistryInput] = []
    end = 0
    for match in PLACEHOLDER.finditer(text):
        if match[1] in variables:
            parts += [text[end : match.start()], _variable(raw, variables[match[1]], match[1])]
            end = match.end()
    return InputTemplate(parts=tuple(part for part in (*parts, text[end:]) if part != ""))


def merge_inputs(templates: Sequence[InputTemplate]) -> tuple[RegistryInput, ...]:
    """Return each input once. It is secret or required if any of its uses is."""
    merged: dict[str, RegistryInput] = {}
    for found in (found for template in templates for found in template.inputs):
        known = merged.get(found.name, found)
        merged[found.name] = replace(
            known,
            is_secret=known.is_secret or found.is_secret,
            is_required=known.is_required or found.is_required,
        )
    return tuple(merged.values())


def text_field(raw: Mapping[str, Any], key: str, default: str = "", *, max_length: int = MAX_TEXT) -> str:
    """Return a text that is written to the settings. What a person reviews must be exactly this text.

    Raises:
        UnsupportedEntry: The value is not a text, too long, has characters that a terminal does not show,
            or refers to a secret of the user.
    """
    value = raw.get(key)
    if value is None:
        return default
    if not isinstance(value, str) or len(value) > max_length:
        raise UnsupportedEntry(f"its {key} is not a text of at most {max_length:,} characters")
    if escape_invisible(value) != value:
        raise UnsupportedEntry(f"its {key} {escape_invisible(value)[:MAX_SHOWN]!r} has invisible characters")
    if SECRET_REFERENCE in value:
        raise UnsupportedEntry(f"its {key} {value[:MAX_SHOWN]!r} refers to one of your secrets")
    return value


def shown_text(value: Any) -> str:
    """Return a text that is only shown, on one line and not too long. Anything else becomes empty."""
    if not isinstance(value, str):
        return ""
    return escape_invisible(" ".join(value[: 4 * MAX_SHOWN].split()))[:MAX_SHOWN]


def mapping_field(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return an object; empty if there is none.

    Raises:
        UnsupportedEntry: The value is something else.
    """
    value = raw.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UnsupportedEntry(f"its {key} is not an object")
    return value


def object_list(raw: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return a list of objects; empty if there is none.

    Raises:
        UnsupportedEntry: The value is something else, or too long.
    """
    value = raw.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > MAX_ITEMS:
        raise UnsupportedEntry(f"its {key} is not a list of at most {MAX_ITEMS} objects")
    if not all(isinstance(item, Mapping) for item in value):
        raise UnsupportedEntry(f"its {key} contains a value that is not an object")
    return value


def _variable(parent: Mapping[str, Any], raw: Any, name: str) -> RegistryInput:
    if not isinstance(raw, Mapping):
        raise UnsupportedEntry(f"its variable {name!r} is not an object")
    inherited = {key: True for key in ("isSecret", "isRequired") if parent.get(key) is True}
    return _input({**raw, **inherited}, name, kind="variable")


def _input(raw: Mapping[str, Any], name: str, *, kind: str) -> RegistryInput:
    if not LABEL.fullmatch(name):
        raise UnsupportedEntry(f"its input {escape_invisible(name)[:MAX_SHOWN]!r} has an invalid name")
    listed = raw.get("choices") or []
    if not isinstance(listed, list) or len(listed) > MAX_ITEMS:
        raise UnsupportedEntry(f"its choices are not a list of at most {MAX_ITEMS} texts")
    choices = tuple(text_field({"choice": choice}, "choice") for choice in listed)
    fixed = text_field(raw, "value")
    default = fixed or text_field(raw, "default")
    is_path = raw.get("format") == "filepath" or (
        kind == "argument" and not choices and not fixed and bool(PATH_LABEL.search(name))
    )
    looks_secret = kind != "argument" and not default and not choices and bool(SECRET_NAME.search(name))
    return RegistryInput(
        name=name,
        description=shown_text(raw.get("description")),
        is_required=raw.get("isRequired") is True,
        is_secret=raw.get("isSecret") is True or (looks_secret and not is_path),
        is_path=is_path,
        default="" if is_path else default,
        choices=choices,
    )
