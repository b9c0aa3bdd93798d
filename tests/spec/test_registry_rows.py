"""The tool registry, row by row: registration, lookup, provider formats, and what a definition must hold."""

import copy
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionFunctionToolParam
from pydantic import TypeAdapter

from onetool import onetool_runtime
from onetool.domain import Registry, Tool, ToolSpec
from onetool.domain.errors import InvalidTool
from onetool.domain.provider_formats import to_provider
from onetool.domain.wire_names import names_by_wire, wire_names
from onetool.settings.configuration import Definition
from onetool.sources.config_tools import make_tool, register
from onetool.testing import memory_runtime

PROJECT = Path(__file__).parents[2]
HTTP_REFUSED = "HTTP tools not yet supported (coming in v2)"
HANDLERS = {"builtin": {"time.now", "fs.read_file"}, "internal": {"ot.health"}}
KINDS = {
    "mock": {"type": "mock", "mock_response": "pong"},
    "builtin": {"type": "builtin", "handler": "time.now"},
    "internal": {"type": "internal", "handler": "ot.health"},
}
ABSENT: Any = ...
NO_TEXT = [ABSENT, None, 12, True, ["x"], {"x": 1}]
NO_OBJECT_SCHEMA = [ABSENT, None, True, 7, "object", ["object"], {}, {"properties": {}}] + [
    {"type": kind} for kind in ("array", "string", "Object", "", None, 1, ["object"], ["object", "null"])
]
NO_IMPLEMENTATION = [ABSENT, None, "mock", 5, ["mock"], {}, {"mock_response": 1}, {"handler": "time.now"}] + [
    {"type": kind, "mock_response": 1, "handler": "time.now"}
    for kind in (None, "", 5, True, [], {}, ["mock"], "Mock", "magic")
]
DEFECTS = [
    *[(field, value) for field in ("name", "description", "handler") for value in NO_TEXT],
    *[("name", ""), ("description", "")],
    *[("type", value) for value in [*NO_TEXT, "tool", "Function", "", ["function"]]],
    *[("parameters", value) for value in NO_OBJECT_SCHEMA],
]


def definition(name: Any = "sample", **changes: Any) -> dict[str, Any]:
    """A whole definition of a mock tool, with changes; a field that is ABSENT is left out."""
    whole = {
        "name": name,
        "description": "A sample.",
        "type": "function",
        "handler": "sample",
        "parameters": {"type": "object", "properties": {}},
        "implementation": KINDS["mock"],
        **changes,
    }
    return {field: value for field, value in whole.items() if value is not ABSENT}


def spec(name: str, schema: dict[str, Any] | None = None) -> ToolSpec:
    return ToolSpec(name=name, description=f"Does {name}.", input_schema=schema or {"type": "object"})


async def configured(*definitions: Any) -> list[str]:
    """The names of the configured tools that a product started with these definitions lists."""
    async with memory_runtime(settings={"tools": list(definitions)}) as ot:
        return [tool.spec.name async for tool in ot.runtime.catalog.tools() if tool.spec.origin == "config"]


async def shipped() -> list[ToolSpec]:
    async with memory_runtime() as ot:
        return [tool.spec async for tool in ot.runtime.catalog.tools()]


def configure(home: Any, *definitions: Any) -> None:
    home.write("onetool.yaml", json.dumps({"tools": definitions}))


def errors(home: Any) -> list[str]:
    return [record["message"] for record in home.log() if record["level"] == "error"]


def cli(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "onetool", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.spec("REG-01")
def test_docs_say_what_the_registry_is_for() -> None:
    """The project's own pages say that its tools are there for language models to call."""
    files = [PROJECT / name for name in ("README.md", "ARCHITECTURE.md", "docs/ARCHITECTURE.md")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files if file.exists())
    assert re.search(r"tool[\s\S]{0,300}(language model|LLM)|(language model|LLM)[\s\S]{0,300}tool", text, re.I)


@pytest.mark.spec("REG-02", "REG-03")
def test_configured_tools_are_there_right_after_start(home: Any) -> None:
    """Every valid definition of the configuration is listed, found by name and callable at once."""
    configure(home, definition("first"), definition("pair.second"))
    with onetool_runtime() as ot:
        assert [ot.call("first").data, ot.call("pair.second").data] == ["pong", "pong"]
    names = [entry["name"] for entry in json.loads(cli("tools", "list").stdout)]
    assert [name for name in names if name in ("first", "pair.second")] == ["first", "pair.second"]


@pytest.mark.spec("REG-02", "REG-03")
async def test_undotted_tool_is_found_by_both_its_names_and_listed_once() -> None:
    """A configured name without a dot is a key of its own and also resolves in the pack `config`."""
    async with memory_runtime(settings={"tools": [definition("lone")]}) as ot:
        assert await ot.runtime.catalog.find("lone") is await ot.runtime.catalog.find("config.lone") is not None
    assert await configured(definition("lone")) == ["lone"]


@pytest.mark.spec("REG-04")
@pytest.mark.parametrize(("field", "value"), [*DEFECTS, ("implementation", ABSENT)])
def test_a_broken_tool_is_logged_and_stops_nothing(home: Any, field: str, value: Any) -> None:
    """Whatever is wrong with one definition, the product starts, the others work and an error tells of it."""
    configure(home, definition("before"), definition("broken", **{field: value}) if field != "name" else
              definition(value), definition("after"))  # fmt: skip
    with onetool_runtime() as ot:
        assert [ot.call(name).ok for name in ("before", "after", "broken")] == [True, True, False]
    told = errors(home)
    assert len(told) == 1
    assert ("broken" if field != "name" else "onetool.yaml") in told[0]


@pytest.mark.spec("REG-04")
@pytest.mark.parametrize("junk", [None, 1, "tool", [], [definition("inner")], {}, True])
async def test_an_entry_that_is_no_definition_stops_nothing(junk: Any) -> None:
    """Entries that are not even maps are left out, and the tools around them stay."""
    assert await configured(definition("before"), junk, definition("after")) == ["before", "after"]


@pytest.mark.spec("REG-04")
def test_each_invalid_definition_is_one_error_record(caplog: pytest.LogCaptureFixture) -> None:
    """Loading logs one ERROR for each invalid definition, with its name and the place it stands at."""
    broken = [definition(name, type="tool") for name in ("bad_one", "bad_two")]
    entries = [broken[0], definition("good"), broken[1]]
    with caplog.at_level(logging.DEBUG, logger="onetool.sources.config_tools"):
        found = register([Definition(f"file:{line}", value) for line, value in enumerate(entries)], HANDLERS)
    records = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert [tool.spec.name for tool in found.list()] == ["good"]
    assert ["bad_one" in records[0] and "file:0" in records[0], "bad_two" in records[1] and "file:2" in records[1]] == [
        True,
        True,
    ]
    assert len(records) == 2


@pytest.mark.spec("REG-05", "REG-06")
def test_second_registration_raises_and_the_first_stays() -> None:
    """A name that is taken is refused with an error, and get and list still give the first tool."""
    registry, first = Registry(), Tool(spec("same"))
    registry.register(first)
    with pytest.raises(ValueError, match="same"):
        registry.register(Tool(ToolSpec(name="same", description="Later.", input_schema={"type": "object"})))
    assert registry.get("same") is first
    assert list(registry.list()) == [first]


@pytest.mark.spec("REG-05", "REG-06")
def test_duplicate_in_configuration_is_an_error_and_the_first_answers(home: Any) -> None:
    """Of two configured tools of one name the first keeps it, and the second is an error in the log."""
    later = definition("twin", description="Later.", implementation={"type": "mock", "mock_response": 2})
    configure(home, definition("twin", description="Earlier."), later, definition("other"))
    with onetool_runtime() as ot:
        assert [ot.call("twin").data, ot.call("other").data] == ["pong", "pong"]
    assert [("twin" in message, "uplicate" in message) for message in errors(home)] == [(True, True)]
    assert json.loads(cli("tools", "info", "twin").stdout)["description"] == "Earlier."


@pytest.mark.spec("REG-05", "REG-06")
def test_configured_tool_cannot_take_the_name_of_a_shipped_one(home: Any) -> None:
    """A definition that names a shipped tool does not replace it, and the log says so as an error."""
    configure(home, definition("time.now"))
    with onetool_runtime() as ot:
        assert ot.call("time.now").data != "pong"
    assert any("time.now" in message for message in errors(home))


@pytest.mark.spec("REG-06")
async def test_an_invalid_definition_claims_no_name() -> None:
    """A definition that was refused leaves its name free for a later valid one."""
    assert await configured(definition("late", type="tool"), definition("late")) == ["late"]


@pytest.mark.spec("REG-07", "REG-27")
@pytest.mark.parametrize("field", ["name", "description"])
@pytest.mark.parametrize("value", [*NO_TEXT, ""])
def test_name_and_description_must_be_there(field: str, value: Any) -> None:
    """A definition without a name or a description, or with an empty one, is refused; the error names the field."""
    with pytest.raises(InvalidTool, match=field):
        make_tool(definition(**{field: value}), HANDLERS)


@pytest.mark.spec("REG-08")
@pytest.mark.parametrize(
    "flaw",
    [
        {"properties": {"a": {"type": 12}}},
        {"properties": {"a": {"type": "text"}}},
        {"properties": {"a": 5}},
        {"properties": []},
        {"required": "a"},
        {"required": [1]},
        {"properties": {"a": {"type": "string", "minLength": -1}}},
        {"properties": {"a": {"type": "number", "minimum": "low"}}},
        {"properties": {"a": {"type": "array", "items": 5}}},
        {"properties": {"a": {"enum": "red"}}},
        {"properties": {"a": {"anyOf": []}}},
        {"properties": {"a": {"properties": {"b": {"properties": {"c": {"type": "nope"}}}}}}},
        {"$defs": {"a": {"type": 12}}},
        {"additionalProperties": 3},
    ],
)
async def test_parameters_must_be_json_schema(flaw: dict[str, Any]) -> None:
    """Parameters that break the JSON Schema format anywhere inside are refused at registration."""
    broken = definition("broken", parameters={"type": "object", **flaw})
    with pytest.raises(InvalidTool, match="(?i)schema"):
        make_tool(broken, HANDLERS)
    assert await configured(broken, definition("good")) == ["good"]


@pytest.mark.spec("REG-09", "REG-27")
@pytest.mark.parametrize("parameters", NO_OBJECT_SCHEMA)
async def test_parameters_must_be_of_type_object(parameters: Any) -> None:
    """Parameters whose type is absent or anything but "object" are refused; the error names the field."""
    broken = definition("broken", parameters=parameters)
    with pytest.raises(InvalidTool, match="parameters"):
        make_tool(broken, HANDLERS)
    assert await configured(broken, definition("good")) == ["good"]


@pytest.mark.spec("REG-10", "REG-11")
async def test_lookup_returns_the_definition_as_configured() -> None:
    """A tool found by name has the name, description and parameters of its definition."""
    parameters = {"type": "object", "properties": {"n": {"type": "integer", "x-note": [1]}}, "required": ["n"]}
    tools = [definition("one"), definition("two", description="The second.", parameters=parameters)]
    async with memory_runtime(settings={"tools": tools}) as ot:
        tool = await ot.runtime.catalog.find("two")
    registered = register([Definition("file:1", value) for value in tools], HANDLERS).get("two")
    for found in (tool, registered):
        assert found is not None
        told = (found.spec.name, found.spec.description, found.spec.input_schema)
        assert told == ("two", "The second.", parameters)


@pytest.mark.spec("REG-10", "REG-12")
def test_lookup_takes_as_long_among_ten_thousand_as_among_ten() -> None:
    """Finding a tool, or finding that there is none, does not get slower as the registry grows."""

    def lookups(size: int) -> tuple[Registry, list[str]]:
        registry = Registry()
        for number in range(size):
            registry.register(Tool(spec(f"pack.tool_{number}")))
        return registry, [f"pack.tool_{size * step // 9}" for step in range(10)]

    def seconds(registry: Registry, names: list[str]) -> float:
        start = perf_counter()
        for _ in range(300):
            for name in names:
                registry.get(name)
        return perf_counter() - start

    def ratio() -> float:
        runs = [(seconds(*few), seconds(*many)) for _ in range(7)]
        return min(run[1] for run in runs) / min(run[0] for run in runs)

    few, many = lookups(10), lookups(10_000)
    assert [many[0].get(name) is None for name in many[1]] == [False] * 9 + [True]
    assert any(ratio() <= 3 for _ in range(3))


@pytest.mark.spec("REG-13", "REG-14")
@pytest.mark.parametrize("name", ["nope", "", " ", ".", "pack.nope", "SAME", "same ", "none.same", "\x00", "é" * 5000])
async def test_looking_for_an_unknown_tool_gives_none(name: str) -> None:
    """A name that nobody registered is answered with None, and nothing is raised."""
    registry = Registry()
    assert registry.get(name) is None
    registry.register(Tool(spec("same")))
    assert registry.get(name) is None
    async with memory_runtime(settings={"tools": [definition("same")]}) as ot:
        assert await ot.runtime.catalog.find(name) is None


@pytest.mark.spec("REG-15")
async def test_list_gives_all_tools_in_the_order_of_registration() -> None:
    """Listing an empty registry gives nothing; a full one gives every tool, first registered first."""
    registry, names = Registry(), [f"t{number * 7 % 50}" for number in range(50)]
    assert list(registry.list()) == []
    for name in names:
        registry.register(Tool(spec(name)))
    assert [tool.spec.name for tool in registry.list()] == names
    assert await configured(*[definition(name) for name in names]) == names


@pytest.mark.spec("REG-16")
@pytest.mark.parametrize("provider", ["openai", "ollama", "gemini"])
def test_tools_are_exported_for_each_provider(home: Any, provider: str) -> None:
    """The three named providers are accepted, and each gets every tool with its description."""
    configure(home, definition("weather", description="Tells the weather."))
    exported = json.loads(cli("tools", "export", "--format", provider).stdout)
    assert len(exported) == len(json.loads(cli("tools", "list").stdout))
    assert "Tells the weather." in json.dumps(exported[-1])
    assert to_provider(provider, []) == []


@pytest.mark.spec("REG-17")
async def test_openai_format_has_exactly_the_named_keys() -> None:
    """Each tool becomes {type: "function", function: {name, description, parameters}} and nothing more."""
    specs = [*await shipped(), spec("mine")]
    for tool, entry in zip(specs, to_provider("openai", specs), strict=True):
        assert set(entry) == {"type", "function"}
        assert set(entry["function"]) == {"name", "description", "parameters"}
        assert (entry["type"], entry["function"]["description"]) == ("function", tool.description)
        assert entry["function"]["parameters"] == tool.input_schema


HARD_NAMES = ["a.b_c", "a_b.c", "a.b", "a__b", "a-b", "a b", "a_b", "1st", "größe.maß", "日本", "x" * 64, "x" * 65]
HARD_NAMES += ["x" * 64 + ".y", "p." + "y" * 120, "p." + "y" * 119 + "z", "-dash", "a.b.c", "a/b", "_", "A.b"]


@pytest.mark.spec("REG-18")
async def test_openai_format_conforms_to_chat_completions() -> None:
    """The published OpenAI type takes the output, and each name fits, is unique and leads back to its tool."""
    specs = [*await shipped(), *map(spec, HARD_NAMES)]
    entries = to_provider("openai", specs)
    TypeAdapter(list[ChatCompletionFunctionToolParam]).validate_python(entries, strict=True)
    wires = [entry["function"]["name"] for entry in entries]
    assert [wire for wire in wires if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", wire)] == []
    back = names_by_wire(wire_names([tool.name for tool in specs]))
    assert [back[wire] for wire in wires] == [tool.name for tool in specs]


@pytest.mark.spec("REG-18", "REG-22")
@given(st.lists(st.text("ab._-1é ", min_size=1, max_size=8) | st.text(min_size=1, max_size=130), unique=True))
def test_names_on_the_wire_are_valid_and_one_to_one(names: list[str]) -> None:
    """Any set of names gets distinct names that all providers take, and valid names stay as they are."""
    wires = wire_names(names)
    valid = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
    assert [wire for wire in wires.values() if not valid.fullmatch(wire)] == []
    assert [names_by_wire(wires)[wires[name]] for name in names] == names
    assert all(wires[name] == name for name in names if valid.fullmatch(name))


@pytest.mark.spec("REG-19", "REG-20")
async def test_ollama_takes_the_openai_format() -> None:
    """Ollama's tools equal OpenAI's, and its chat endpoint can read them as the tools it documents."""
    specs = [*await shipped(), *map(spec, HARD_NAMES)]
    tools = to_provider("ollama", specs)
    assert tools == to_provider("openai", specs)
    text = {"type": "string"}
    value = {"type": "object", "properties": {"type": text, "description": text, "enum": {"items": text}}}
    fields = {"type": {"const": "object"}, "properties": {"type": "object", "additionalProperties": value},
              "required": {"type": "array", "items": text}}  # fmt: skip
    function = {"name": text, "description": text, "parameters": {"type": "object", "properties": fields}}
    tool = {"type": {"const": "function"}, "function": {"properties": function, "required": list(function)}}
    request = {"properties": {"tools": {"items": {"properties": tool, "required": list(tool)}}}}
    body = json.dumps({"model": "any", "messages": [], "tools": tools})
    assert [fault.message for fault in jsonschema_rs.validator_for(request).iter_errors(json.loads(body))] == []


@pytest.mark.spec("REG-20")
def test_docs_name_the_oldest_ollama() -> None:
    """The documentation names the version of Ollama from which its tools work."""
    pages = [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")]
    assert any("0.1.26" in page.read_text(encoding="utf-8") for page in pages)


GEMINI_TYPES = {"string", "number", "integer", "boolean", "array", "object", "null"}
GEMINI_KEYS = set(
    "type format title description nullable enum properties required items anyOf default example pattern minimum "
    "maximum minItems maxItems minLength maxLength minProperties maxProperties propertyOrdering".split()
)


def gemini_faults(node: Any, where: str = "parameters") -> Iterator[str]:
    """What Google's function calling would refuse in this schema, at any depth."""
    if not isinstance(node, dict):
        yield f"{where}: not a schema: {node!r}"
        return
    checks = {
        "unknown keys": not set(node) <= GEMINI_KEYS,
        "type": "type" in node and str(node["type"]).lower() not in GEMINI_TYPES,
        "neither type nor anyOf": "type" not in node and not node.get("anyOf"),
        "array without items": str(node.get("type")).lower() == "array" and "items" not in node,
        "enum of other things than text": any(not isinstance(value, str) for value in node.get("enum", [])),
        "requires what it lacks": not set(node.get("required", [])) <= set(node.get("properties", {})),
    }
    yield from (f"{where}: {fault}" for fault, wrong in checks.items() if wrong)
    inner = [(name, value) for name, value in node.get("properties", {}).items()]
    inner += [("items", node["items"])] if "items" in node else []
    inner += [(f"anyOf {number}", value) for number, value in enumerate(node.get("anyOf", []))]
    for name, value in inner:
        yield from gemini_faults(value, f"{where}/{name}")


def gemini(value: Any, **around: Any) -> dict[str, Any]:
    """What becomes of a parameter x with this schema, after the whole output was found to conform."""
    schema = {"type": "object", "properties": {"x": value}, **around}
    before = copy.deepcopy(schema)
    [entry] = to_provider("gemini", [spec("pack.tool", schema)])
    assert schema == before
    assert set(entry) == {"functionDeclarations"}
    [declaration] = entry["functionDeclarations"]
    assert list(gemini_faults(declaration["parameters"])) == []
    return declaration["parameters"]["properties"]["x"]
