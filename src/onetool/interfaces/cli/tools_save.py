"""`onetool tools save`: store a program as a tool."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from onetool.domain.activity.record import RUN, ActivityFilter
from onetool.domain.bundles.bundle import Bundle, BundleError, BundleFilter, StoredTool, ToolVersion
from onetool.domain.bundles.identifiers import python_name, to_slug
from onetool.domain.calls.caller import Caller
from onetool.domain.code.literal_parameters import InvalidParameter, NewParameter, make_parameters
from onetool.domain.code.literals import find_literals
from onetool.domain.code.parameters import free_names, parse_stored, strip_fence
from onetool.domain.code.program import InvalidProgram
from onetool.domain.text.json_text import is_json
from onetool.runtime.runtime import Runtime

PAGE_SIZE = 256
LAST = "last"
MAX_SHOWN = 10
"""Literals that an error lists."""
TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


class SavedTool:
    """A tool that `tools save` has stored, or that was stored already."""

    def __init__(self, stored: StoredTool, *, is_new: bool) -> None:
        self.name, self.version, self.is_new = stored.name, stored.tool.version, is_new

    def __str__(self) -> str:
        name = f"{self.name}@{self.version}"
        return f"Stored {name}." if self.is_new else f"{name} has this program already."


async def save_tool(
    runtime: Runtime,
    name: str,
    code: str,
    *,
    parameters: Sequence[str] = (),
    description: str = "",
    version: str = "",
) -> SavedTool:
    """Store code as a tool, in a new version if the tool exists.

    Raises:
        click.UsageError: The name, a parameter or the code is wrong.
    """
    pack, _, function = name.partition(".")
    if not (pack.isidentifier() and function.isidentifier()):
        raise click.BadParameter(f"{name!r} is not a name such as flows.report.", param_hint="NAME")
    try:
        code = strip_fence(await runtime.state.code_runner.expand(code, Caller(interface="cli")))
        program, schema = add_parameters(code, parameters)
    except InvalidProgram as error:
        raise click.UsageError(f"The program is not valid: {error}") from None
    body = {
        "type": "code",
        "description": description,
        "argSchema": schema,
        "codeImpl": {"program": program},
    }
    try:
        bundle = await _bundle(runtime, pack)
        return await _store(runtime, bundle, to_slug(function), body, version)
    except BundleError as error:
        raise click.ClickException(str(error)) from None


def add_parameters(code: str, texts: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return the program and its schema, for parameters as NAME or NAME=VALUE.

    A name that the program uses and does not define becomes a parameter with this default. Otherwise, the
    literals of the program that equal the value become one.

    Raises:
        InvalidProgram: The code is not valid Python.
        click.BadParameter: A parameter cannot be made.
    """
    undefined = free_names(parse_stored(code))
    properties: dict[str, Any] = {}
    required: list[str] = []
    chosen: list[NewParameter] = []
    for name, is_set, text in (part.partition("=") for part in texts):
        if name in undefined:
            value = _parse(text)
            properties[name] = {"type": TYPES[type(value)], "default": value} if is_set else {}
            required += [] if is_set else [name]
        else:
            chosen += _literals(code, name, text, is_set=bool(is_set))
    try:
        program, schema = make_parameters(code, chosen)
    except InvalidParameter as error:
        raise click.BadParameter(f"{error}.", param_hint="--param") from None
    schema["properties"] = properties | schema["properties"]
    return program, schema | ({"required": required} if required else {})


def _literals(code: str, name: str, text: str, *, is_set: bool) -> list[NewParameter]:
    literals = find_literals(code)
    values = [json.dumps(literal.value, ensure_ascii=False) for literal in literals]
    wanted = (json.dumps(_parse(text), ensure_ascii=False), json.dumps(text, ensure_ascii=False))
    found = [literal for literal, value in zip(literals, values, strict=True) if is_set and value in wanted]
    if not found:
        shown = ", ".join(dict.fromkeys(values[:MAX_SHOWN])) or "none"
        problem = (
            f"no value of the program equals {text!r}" if is_set else f"the program has no name {name!r}"
        )
        message = f"{problem}. Values that can become parameters: {shown}."
        raise click.BadParameter(message, param_hint="--param")
    return [NewParameter(literal.index, name) for literal in found]


def _parse(text: str) -> Any:
    """Return a value that is written as JSON, or as text without quotes."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if type(value) in TYPES and is_json(value) else text


async def recorded_code(runtime: Runtime, id: str) -> str:
    """Return the code of a recorded run, or of the newest one that succeeded, for the id `last`.

    Raises:
        click.BadParameter: There is no such record, or it has no code.
    """
    store = await runtime.recorder.written()
    if id == LAST:
        found = (await store.page(ActivityFilter(tool=RUN, parent="", ok=True), None, 1)).items
        if not found:
            message = "no code that ran without an error is recorded. List calls with: onetool activity"
            raise click.BadParameter(message, param_hint="--from")
        id = found[0].id  # a listing has no arguments
    record = await store.get(id)
    if record is None:
        message = f"no call {id!r} is recorded. List calls with: onetool activity"
        raise click.BadParameter(message, param_hint="--from")
    if record.kind != "run":
        raise click.BadParameter(f"{id!r} is a call of {record.tool}, not code.", param_hint="--from")
    if len(record.arguments) != record.bytes_in:
        message = f"the record {id!r} does not have the whole code: it was shortened, or had a secret in it."
        raise click.BadParameter(f"{message} Use --file.", param_hint="--from")
    return record.arguments


async def _bundle(runtime: Runtime, pack: str) -> Bundle:
    """Return the oldest bundle with the name of a pack, or a new one."""
    found, after = list[Bundle](), None
    while True:
        page = await runtime.state.bundles.list_bundles(BundleFilter(include_disabled=True), after, PAGE_SIZE)
        found += [bundle for bundle in page.items if python_name(bundle.slug) == pack]
        if (after := page.next) is None:
            break
    if found:
        return min(found, key=lambda bundle: (bundle.origin == "bundle", bundle.first_stored_at, bundle.id))
    bundle, _ = await runtime.state.bundles.put_bundle(runtime.new_id(), {"slug": to_slug(pack)})
    return bundle


async def _store(
    runtime: Runtime, bundle: Bundle, slug: str, body: Mapping[str, Any], version: str
) -> SavedTool:
    """Store a version, unless the newest one is equal."""
    criteria = BundleFilter(bundle_ids=frozenset({bundle.id}), include_disabled=True)
    versions, after = list[StoredTool](), None
    while True:
        page = await runtime.state.bundles.list_tools(criteria, after, PAGE_SIZE)
        versions += [stored for stored in page.items if stored.tool.slug == slug]
        if (after := page.next) is None:
            break
    newest = max(versions, key=lambda stored: stored.tool.created_at, default=None)
    if newest is not None and not version and _is_same(newest.tool, body):
        return SavedTool(newest, is_new=False)
    taken = {stored.tool.version for stored in versions}
    number = len(taken) + 1
    while str(number) in taken:
        number += 1
    key = (bundle.id, slug, version or str(number))
    return SavedTool(await runtime.state.bundles.put_tool(key, body), is_new=True)


def _is_same(tool: ToolVersion, body: Mapping[str, Any]) -> bool:
    fields = tool.description, tool.arg_schema, tool.code_impl
    return fields == (body["description"], body["argSchema"], body["codeImpl"])
