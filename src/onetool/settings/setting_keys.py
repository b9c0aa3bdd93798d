"""The settings by their dotted keys: type, default and description, as the schema declares them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from onetool.domain.errors import SettingsError
from onetool.domain.text.json_text import jsonable
from onetool.domain.text.strings import truncate_words
from onetool.domain.text.suggestions import closest_names

from .schema import Settings
from .validation import fields_of, validate

SettingType = Literal["string", "integer", "number", "boolean", "choice", "list", "map", "any"]
TYPES: Mapping[Any, SettingType] = {str: "string", int: "integer", float: "number", bool: "boolean"}
PART = re.compile(r'"([^"]+)"|([^."]+)')
MAX_KEY = 1_000
MAX_SUGGESTED = 8
MAX_DOC = 120
MIN_WORD = 3
"""Letters of a word by which keys are suggested that contain it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingInfo:
    """What the schema says about a setting."""

    path: tuple[str, ...]
    type: SettingType
    choices: tuple[str, ...] = ()
    is_nullable: bool = False
    default: Any = None
    """As JSON. None also for what is required."""
    doc: str = ""
    restart: bool = False
    minimum: float | None = None
    maximum: float | None = None
    items: SettingType | None = None
    """The type of the items of a list, or of the entries of a map."""

    @property
    def key(self) -> str:
        """The dotted key. Names that contain dots are quoted."""
        return format_key(self.path)


def parse_key(text: str) -> tuple[str, ...]:
    """Return the names of a dotted key. A name with dots is written in double quotes.

    >>> parse_key('servers.github."repo.get".title')
    ('servers', 'github', 'repo.get', 'title')

    Raises:
        SettingsError: It is not a dotted key.
    """
    parts, at = [], 0
    while at < len(text) <= MAX_KEY:
        part = PART.match(text, at)
        if part is None:
            break
        parts.append(part[1] or part[2])
        at = part.end()
        if at == len(text):
            return tuple(parts)
        if text[at] != ".":
            break
        at += 1
    raise SettingsError(
        f"{text[:100]!r} is not a key of a setting. Write names with dots, such as log.level."
    )


def format_key(path: Sequence[str]) -> str:
    """Return the dotted key of a path."""
    return ".".join(f'"{name}"' if "." in name else name for name in path)


def find_setting(path: Sequence[str]) -> SettingInfo:
    """Return what the schema says about a setting, or about an entry of a map.

    Raises:
        SettingsError: There is no such setting. The message names the nearest ones.
    """
    kind: Any = Settings
    field: Field[Any] | None = None
    default: Any = None
    for depth, name in enumerate(path):
        kind, _ = _required(kind)
        if is_dataclass(kind):
            declared = _declared(kind)
            if name not in declared:
                raise SettingsError(_unknown_key(path[:depth], name, path))
            field, kind = declared[name]
            default = _default(field)
        elif get_origin(kind) is dict:
            kind, field, default = get_args(kind)[1], field, None
        elif kind is not Any:
            parent = format_key(path[:depth])
            raise SettingsError(f"Unknown key {format_key(path)!r}: {parent} is not a map.")
    return _info(tuple(path), kind, field, default)


def list_settings(kind: Any = Settings, path: tuple[str, ...] = ()) -> Iterator[SettingInfo]:
    """Yield all settings in the order of the schema. Maps with names of the user are one setting."""
    for name, (field, hint) in fields_of(kind).items():
        if is_dataclass(hint):
            yield from list_settings(hint, (*path, name))
        else:
            yield _info((*path, name), hint, field, _default(field))


def parse_value(info: SettingInfo, text: str) -> Any:
    """Return the value that a text stands for, by the type of the setting.

    A list is written with commas, or like a list in YAML; a map is written like a map in YAML.

    Raises:
        SettingsError: The text is not a value of the type.
    """
    if info.is_nullable and text == "null":
        return None
    if info.type in ("string", "choice"):
        return text
    if info.type == "list" and info.items == "string" and not text.startswith(("[", "-")):
        return [item.strip() for item in text.split(",") if item.strip()]
    from onetool.files.safe_yaml import SETTINGS_RULES, InvalidYaml, read_yaml

    try:
        return read_yaml(text.encode(errors="replace"), SETTINGS_RULES)
    except InvalidYaml as error:
        raise SettingsError(f"{info.key}: {error.problem}.") from None


def check_value(path: Sequence[str], value: Any) -> None:
    """Check a value by itself, without the other settings.

    Raises:
        SettingsError: It is invalid. The message has one line per problem.
    """
    nested = value
    for name in reversed(path):
        nested = {name: nested}
    _, problems = validate(Settings, nested)
    own = [message for at, message in problems if at[: len(path)] == tuple(path)]
    if own:
        if not isinstance(value, Mapping) and find_setting(path).type == "map":
            own += _keys_of(path)
        raise SettingsError("\n".join(own))


def _keys_of(path: Sequence[str]) -> list[str]:
    """Return a sentence with the keys of a group of settings; nothing for a map with names of the user."""
    kind: Any = _group(path)
    keys = [format_key((*path, name)) for name in _declared(kind)] if is_dataclass(kind) else []
    return [f"Set one of its keys: {', '.join(keys)}."] if keys else []


def get_value(settings: Any, path: Sequence[str]) -> Any:
    """Return a part of settings or of a map, as JSON; None if there is no such part."""
    for name in path:
        if isinstance(settings, Mapping):
            settings = settings.get(name)
        else:  # a name must not reach the attributes of other objects
            settings = getattr(settings, name, None) if _is_setting(settings, name) else None
    return jsonable(settings)


def _is_setting(value: Any, name: str) -> bool:
    return is_dataclass(value) and any(field.name == name for field in fields(value))


def _info(path: tuple[str, ...], hint: Any, field: "Field[Any] | None", default: Any) -> SettingInfo:
    kind, is_nullable = _required(hint)
    rules = field.metadata if field else {}
    args = get_args(kind)
    items = {tuple: args[:1], dict: args[1:]}.get(get_origin(kind) or kind, ())
    minimum = rules.get("ge") if rules.get("ge") is not None else rules.get("gt")
    type_ = _type(kind)
    is_number = type_ in ("integer", "number")
    return SettingInfo(
        path=path,
        type=type_,
        choices=args if type_ == "choice" else (),
        is_nullable=is_nullable,
        default=default,
        doc=rules.get("doc", ""),
        restart=bool(rules.get("restart")),
        minimum=minimum if is_number else None,
        maximum=rules.get("le") if is_number else None,
        items=_type(_required(items[0])[0]) if items else None,
    )


def _type(kind: Any) -> SettingType:
    origin = get_origin(kind)
    if origin is Literal:
        return "choice"
    if origin is tuple:
        return "list"
    return "map" if origin is dict or is_dataclass(kind) else TYPES.get(kind, "any")


def _required(kind: Any) -> tuple[Any, bool]:
    """Return a type without None, and whether it allows None."""
    if get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind):
        return next(part for part in get_args(kind) if part is not NoneType), True
    return kind, False


def _default(field: "Field[Any]") -> Any:
    if field.default_factory is not MISSING:
        return jsonable(field.default_factory())
    return None if field.default is MISSING else jsonable(field.default)


def _declared(kind: Any) -> "dict[str, tuple[Field[Any], Any]]":
    return fields_of(kind)


def _unknown_key(parents: Sequence[str], name: str, path: Sequence[str]) -> str:
    if path[0] == "secrets" and len(path) > 1:
        return f"Secrets are not settings. Use: onetool secrets set {'.'.join(path[1:])}"
    key, group = format_key(path), format_key(parents)
    if len(path) == 3 and path[0] == "profiles" and name.replace("-", "_") in ("read_only", "readonly"):
        return f"Unknown key {key!r}. To let only read-only tools run, set {group}.approval.mode to deny."
    siblings = list(fields_of(_group(parents)))
    suggested = [format_key((*parents, sibling)) for sibling in closest_names(name, siblings)]
    known = {info.key: info for info in list_settings()}
    if not parents or any(other.startswith(f"{group}.") for other in known):  # not in an entry of a map
        suggested = closest_names(key, known) or suggested or _containing(name, known.values())
    hint = _describe(suggested) if suggested else f" Valid: {', '.join(siblings)}."
    return f"Unknown key {key!r}.{hint}"


def _containing(word: str, known: Iterable[SettingInfo]) -> list[str]:
    """Return the keys whose last name contains a word."""
    if len(word) < MIN_WORD:
        return []
    return [info.key for info in known if word.lower() in info.path[-1].lower()][:MAX_SUGGESTED]


def _describe(keys: Sequence[str]) -> str:
    """Return suggested keys; several of them with what they mean."""
    if len(keys) == 1:
        return f" Did you mean {keys[0]}?"
    docs = {key: truncate_words(find_setting(parse_key(key)).doc, MAX_DOC) for key in keys}
    return "\n  ".join([" Did you mean one of these?", *(f"{key}: {doc}" for key, doc in docs.items())])


def _group(path: Sequence[str]) -> Any:
    """Return the dataclass of a group of settings."""
    kind: Any = Settings
    for name in path:
        kind, _ = _required(kind)
        kind = _declared(kind)[name][1] if is_dataclass(kind) else get_args(kind)[1]
    return _required(kind)[0]
