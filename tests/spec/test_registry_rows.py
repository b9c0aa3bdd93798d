"""The tool registry: registration, lookup, provider formats and validation of definitions."""

import json
import re
from collections.abc import Iterator
from importlib.metadata import metadata
from time import process_time
from timeit import timeit
from typing import Any

import jsonschema_rs
import pytest
import yaml
from hypothesis import given
from hypothesis.strategies import lists, text
from openai.types.chat import ChatCompletionFunctionToolParam
from pydantic import TypeAdapter

from onetool import onetool_runtime
from onetool.domain import Registry, Tool, ToolSpec
from onetool.domain.errors import InvalidTool
from onetool.domain.tools.provider_formats import to_provider
from onetool.domain.tools.wire_names import names_by_wire, wire_names
from onetool.settings.configuration import ConfiguredTool
from onetool.sources.config_tools import make_tool, register
from onetool.testing import memory_runtime
from support.onetool_process import onetool
from support.paths import PROJECT

HTTP_REJECTED = "HTTP tools not yet supported (coming in v2)"
HANDLERS = {"builtin": {"time.now", "fs.read_file"}, "internal": {"ot.health"}}
MOCK, BUILTIN = {"type": "mock", "mock_response": "pong"}, {"type": "builtin", "handler": "time.now"}
INTERNAL = {"type": "internal", "handler": "ot.health"}
FIELDS = ["name", "description", "type", "handler", "parameters", "implementation"]
ABSENT: Any = ...
INVALID_SCHEMAS = yaml.safe_load("""[
    5, {type: 12}, {type: text}, {minLength: -1}, {minimum: low}, {items: 5},
    {enum: red}, {anyOf: []}, {required: a}, {required: [1]}, {properties: []}, {description: 5}, {$ref: 5},
    {additionalProperties: 3}, {properties: {b: {items: {type: nope}}}}]""")
DIFFICULT_NAMES = yaml.safe_load(
    "[a.b_c, a_b.c, a.b, a__b, a-b, a b, a_b, 1st, größe.maß, 日, -d, a.b.c, a/b, _]"
)
DIFFICULT_NAMES += ["x" * 64, "x" * 65, "x" * 64 + ".y", "p." + "y" * 120, "p." + "y" * 119 + "z"]
OLLAMA_TOOLS = yaml.safe_load("""
    $defs: {text: {type: string}, texts: {type: array, items: {type: string}}, value: {properties:
      {type: {$ref: '#/$defs/text'}, description: {$ref: '#/$defs/text'}, enum: {$ref: '#/$defs/texts'}}}}
    items: {required: [type, function], properties: {type: {const: function}, function: {
      required: [name, description, parameters], properties: {name: {$ref: '#/$defs/text'},
      description: {$ref: '#/$defs/text'}, parameters: {required: [type], properties: {type: {const: object},
      required: {$ref: '#/$defs/texts'}, properties: {additionalProperties: {$ref: '#/$defs/value'}}}}}}}}""")
GEMINI_TYPES = {"string", "number", "integer", "boolean", "array", "object", "null"}
GEMINI_KEYS = yaml.safe_load("""[type, format, title, description, nullable, enum, properties, required,
    items, anyOf, default, example, pattern, minimum, maximum, minItems, maxItems, minLength, maxLength,
    minProperties, maxProperties, propertyOrdering]""")
DEFS = yaml.safe_load("""{leaf: {type: string}, via: {$ref: '#/$defs/leaf'}, self: {$ref: '#/$defs/self'},
    list: {type: object, properties: {value: {}, next: {$ref: '#/$defs/list'}}},
    ping: {type: array, items: {$ref: '#/$defs/pong'}}, pong: {oneOf: [{$ref: '#/$defs/ping'}, true]}}""")
DIFFICULT_SCHEMAS = [{"$ref": f"#/$defs/{name}"} for name in [*DEFS, "absent"]]
DIFFICULT_SCHEMAS += yaml.safe_load("""[
    {}, true, false, {$ref: '#'}, {$ref: 'https://example.org/a'}, {default: 1},
    {not: {type: string}}, {oneOf: [{type: string}, {type: 'null'}, true]},
    {anyOf: [{type: [string, 'null']}, {const: 2}]}, {allOf: [{$ref: '#/$defs/list'}, {required: [value]}]},
    {allOf: [{oneOf: [{const: 1}]}, false]}, {const: 1}, {const: null}, {const: true}, {const: a},
    {const: {a: 1}}, {enum: [1, 2]}, {enum: [a, 1, null]}, {type: integer, enum: [1]}, {const: [1]},
    {type: [integer, 'null']}, {type: 'null'}, {type: ['null']}, {type: [array, object, 'null']}, {items: {}},
    {type: array}, {type: array, items: false}, {type: array, items: {type: array}}, {properties: {a: {}}},
    {type: array, prefixItems: [{const: 1}]}, {type: object, required: [gone]}, {description: x},
    {if: {const: 1}, then: {not: {}}, else: false}, {type: object, additionalProperties: {const: 1}},
    {patternProperties: {^a: {}}, $schema: x, $id: x, propertyNames: {const: 1}},
    {type: object, properties: {$ref: {const: 1}, not: {}, type: {enum: [1]}, oneOf: true}}]""")
GEMINI_CASES = yaml.safe_load("""
    - [{$ref: '#/$defs/via'}, {type: string}]
    - [{const: red}, {type: string, enum: [red]}]
    - [{type: [string, 'null']}, {type: string, nullable: true}]
    - [{oneOf: [{type: string}, {type: integer}]}, {anyOf: [{type: string}, {type: integer}]}]
    - [{allOf: [{properties: {a: {type: string}}}, {properties: {b: {type: integer}}}]},
       {type: object, properties: {a: {type: string}, b: {type: integer}}}]
    - [{properties: {not: {type: string}}}, {properties: {not: {type: string}}}]""")
WRAPS = ["%s", '{"items": %s}', '{"properties": {"not": %s}}', '{"oneOf": [%s]}', '{"allOf": [%s]}']
GEMINI_CASES += [
    [json.loads(wrap % json.dumps(schema)), {}] for wrap in WRAPS for schema in DIFFICULT_SCHEMAS
]
NOT_TEXT = [ABSENT, None, 12, True, ["x"], {"x": 1}]
BAD_PARAMETERS = yaml.safe_load("""[null, true, 7, object, [], {}, {properties: {}}, {type: array}, {type: 1},
    {type: string}, {type: Object}, {type: ''}, {type: null}, {type: [object]}, {type: [object, 'null']}]""")
DEFECTS = [(field, value) for field in ("name", "description", "handler", "type") for value in NOT_TEXT]
DEFECTS += [
    (field, blank) for field in ("name", "description", "handler", "type") for blank in ("", " ", "\t\n")
]
DEFECTS += [("type", "tool"), ("type", "Function")]
BAD_PARAMETERS += [
    {"type": "object", at: {"a": schema}} for at in ("properties", "$defs") for schema in INVALID_SCHEMAS
]
DEFECTS += [("parameters", value) for value in [ABSENT, *BAD_PARAMETERS]]
INVALID_IMPLEMENTATIONS = yaml.safe_load("""[
    null, mock, 5, [mock], {}, {mock_response: 1}, {handler: time.now}, {type: null},
    {type: ''}, {type: 5}, {type: []}, {type: {}}, {type: magic, handler: time.now}, {type: mock, handler: x},
    {type: builtin}, {type: internal}]""")
BAD_HANDLERS = [None, "", 5, [], {}, True, "no.such", "time", "ot", "sample"]
INVALID_IMPLEMENTATIONS += [
    {"type": "builtin", "handler": "ot.health"},
    {"type": "internal", "handler": "time.now"},
]
INVALID_IMPLEMENTATIONS += [
    {"type": kind, "handler": handler} for kind in ("builtin", "internal") for handler in BAD_HANDLERS
]
JSON_VALUES = [None, False, 0, 1.0, 1.5e300, 10**24, "", "zü\n\x01", [], {}, [None], {"": [{}, "2024-01-31"]}]
NOT_JSON = ["2024-01-31", "2024-01-31T10:00:00Z", ".nan", "-.inf", "{1: a}", "{true: a}", "{null: a}"]
NOT_JSON += ["{1.5: a}", "{2024-01-31: a}", "[{a: 2024-01-31}]", "{a: {b: [.nan]}}", "[{1: a}]"]


def definition(name: Any = "sample", **changes: Any) -> dict[str, Any]:
    """Return a valid definition of a mock tool with changes; fields that are ABSENT are omitted."""
    schema = {"type": "object", "properties": {}}
    fields = dict(zip(FIELDS, [name, "A sample.", "function", "sample", schema, MOCK], strict=True)) | changes
    return {field: value for field, value in fields.items() if value is not ABSENT}


def spec(name: str, schema: dict[str, Any] | None = None) -> ToolSpec:
    return ToolSpec(name=name, description=f"Does {name}.", input_schema=schema or {"type": "object"})


async def configured_names(*definitions: Any) -> list[str]:
    """Return the names of the configured tools in a runtime with these definitions."""
    async with memory_runtime(settings={"tools": list(definitions)}) as ot:
        return [
            tool.spec.name async for tool in ot.runtime.state.catalog.tools() if tool.spec.origin == "config"
        ]


async def shipped_and_difficult_specs() -> list[ToolSpec]:
    """Return the specs of the shipped tools and of tools with difficult names."""
    async with memory_runtime() as ot:
        return [tool.spec async for tool in ot.runtime.state.catalog.tools()] + [
            spec(name) for name in DIFFICULT_NAMES
        ]


def configure(home: Any, *definitions: Any) -> None:
    home.write("onetool.yaml", json.dumps({"tools": definitions}))


def logged_errors(home: Any) -> list[str]:
    """Return the error messages in the log."""
    return [record["message"] for record in home.log() if record["level"] == "error"]


def read_introduction(place: str) -> str:
    """Return the sentence that introduces the product in a document, in the help or in the package."""
    if place == "command line":
        return onetool("--help").stdout.split("\n\n")[1]
    if place == "package":
        return metadata("onetool-gateway")["Summary"]
    text = re.sub(r"(?s)\A---\n.*?\n---\n|<[^>]*>", "", (PROJECT / place).read_text(encoding="utf-8"))
    return next(
        part for part in text.strip().split("\n\n") if part.strip() not in ("# OneTool", "# Architecture")
    )


@pytest.mark.spec("REG-01")
@pytest.mark.parametrize(
    "place", ["README.md", "ARCHITECTURE.md", "docs/index.md", "command line", "package"]
)
def test_introduction_says_that_tools_are_for_language_models(place: str) -> None:
    """The specification leaves the purpose of the registry open; every introduction states it."""
    introduction = read_introduction(place)
    assert re.search(r"(?i)\btools?\b", introduction), introduction
    assert re.search(r"(?i)\blanguage models?\b", introduction), introduction


@pytest.mark.spec("REG-02", "REG-03")
async def test_configured_tools_are_listed_and_callable_after_start(home: Any) -> None:
    configure(home, definition("first"), definition("pair.second"))
    async with onetool_runtime() as ot:
        for name in ("first", "pair.second", "config.first"):
            assert (await ot.call(name)).data == "pong"
    assert logged_errors(home) == []
    names = [entry["name"] for entry in json.loads(onetool("tools", "list").stdout)]
    assert [name for name in names if "first" in name or "second" in name] == ["first", "pair.second"]


@pytest.mark.spec("REG-04")
def test_invalid_tool_definitions_are_logged_and_other_tools_work(home: Any) -> None:
    incomplete = [definition(f"without_{field}", **{field: ABSENT}) for field in FIELDS[1:]]
    no_tools = [None, 1, "tool", [], [{"name": "inner"}], {}, True]
    configure(home, definition("before"), *no_tools, *incomplete, definition("after"))
    with onetool_runtime() as ot:
        assert [ot.call(name).ok for name in ("before", "after")] == [True, True]
        assert [ot.call(tool["name"]).ok for tool in incomplete] == [False] * len(incomplete)
    named = ["onetool.yaml"] * len(no_tools) + [tool["name"] for tool in incomplete]
    assert [name in message for name, message in zip(named, logged_errors(home), strict=True)] == [True] * 12


@pytest.mark.spec("REG-05", "REG-06")
def test_second_registration_of_a_name_raises_and_the_first_remains() -> None:
    registry, first = Registry(), Tool(spec("same"))
    registry.register(first)
    with pytest.raises(ValueError, match="same"):
        registry.register(Tool(spec("same", {"type": "object", "description": "Later."})))
    assert registry.get("same") is first
    assert list(registry.list()) == [first]


@pytest.mark.spec("REG-05", "REG-06")
def test_duplicate_configured_tool_is_logged_and_the_first_is_used(home: Any) -> None:
    later = definition("twin", description="Later.", implementation={"type": "mock", "mock_response": 2})
    configure(home, definition("twin", description="Earlier."), later, definition("other"))
    with onetool_runtime() as ot:
        assert [ot.call("twin").data, ot.call("other").data] == ["pong", "pong"]
    assert ["twin" in message for message in logged_errors(home)] == [True]
    assert json.loads(onetool("tools", "info", "twin").stdout)["description"] == "Earlier."


@pytest.mark.spec("REG-05", "REG-06")
def test_configured_tool_cannot_replace_a_shipped_one(home: Any) -> None:
    configure(home, definition("time.now"))
    with onetool_runtime() as ot:
        assert ot.call("time.now").data != "pong"
    assert any("time.now" in message for message in logged_errors(home))


@pytest.mark.spec("REG-10", "REG-11")
async def test_lookup_returns_the_definition_as_configured() -> None:
    parameters = {"type": "object", "properties": {"n": {"type": "integer", "x-a": [1]}}, "required": ["n"]}
    tools = [definition("one"), definition("two", description="The second.", parameters=parameters)]
    registry = register([ConfiguredTool("file:1", value) for value in tools], HANDLERS)
    async with memory_runtime(settings={"tools": tools}) as ot:
        for found in (registry.get("two").spec, (await ot.runtime.state.catalog.find("two")).spec):
            assert (found.name, found.description, found.input_schema) == ("two", "The second.", parameters)


@pytest.mark.spec("REG-10", "REG-12")
def test_lookup_time_does_not_grow_with_the_registry() -> None:
    registries = {10: Registry(), 10_000: Registry()}
    names = {size: [f"pack.tool_{size * step // 9}" for step in range(10)] for size in registries}
    for size, registry in registries.items():
        for number in range(size):
            registry.register(Tool(spec(f"pack.tool_{number}")))
        assert [registry.get(name) is None for name in names[size]] == [False] * 9 + [True]

    def cpu_seconds(size: int) -> float:
        lookups = names[size] * 300
        return timeit(lambda: list(map(registries[size].get, lookups)), process_time, number=1)

    runs = [(cpu_seconds(10), cpu_seconds(10_000)) for _ in range(15)]
    assert min(many for _, many in runs) <= 3 * min(few for few, _ in runs)


@pytest.mark.spec("REG-13", "REG-14")
@pytest.mark.parametrize("name", ["nope", "", " ", ".", "a.nope", "SAME", "same ", "a.same", "\0", "é" * 999])
async def test_lookup_of_an_unknown_name_returns_none(name: str) -> None:
    registry = Registry()
    assert registry.get(name) is None
    registry.register(Tool(spec("same")))
    assert registry.get(name) is None
    async with memory_runtime(settings={"tools": [definition("same")]}) as ot:
        assert await ot.runtime.state.catalog.find(name) is None


@pytest.mark.spec("REG-15")
async def test_list_returns_tools_in_registration_order() -> None:
    registry, names = Registry(), [f"t{number * 7 % 50}" for number in range(50)]
    assert list(registry.list()) == []
    for name in names:
        registry.register(Tool(spec(name)))
    assert [tool.spec.name for tool in registry.list()] == names
    assert await configured_names(*map(definition, names)) == names


@pytest.mark.spec("REG-17", "REG-18")
async def test_openai_format_conforms_to_chat_completions() -> None:
    """Names are valid and map back to their tools."""
    specs = await shipped_and_difficult_specs()
    entries = to_provider("openai", specs)
    TypeAdapter(list[ChatCompletionFunctionToolParam]).validate_python(entries, strict=True)
    by_wire = names_by_wire(wire_names([tool.name for tool in specs]))
    for tool, entry in zip(specs, entries, strict=True):
        name = entry["function"]["name"]
        function = {"name": name, "description": tool.description, "parameters": tool.input_schema}
        assert entry == {"type": "function", "function": function}
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)
        assert by_wire[name] == tool.name


@pytest.mark.spec("REG-18", "REG-22")
@given(lists(text("ab._-1é ", min_size=1, max_size=8) | text(min_size=1, max_size=130), unique=True))
def test_wire_names_are_valid_and_unique(names: list[str]) -> None:
    """Names that are already valid do not change."""
    wires = wire_names(names)
    valid = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
    assert [wire for wire in wires.values() if not valid.fullmatch(wire)] == []
    assert [names_by_wire(wires)[wires[name]] for name in names] == names
    assert all(wires[name] == name for name in names if valid.fullmatch(name))


@pytest.mark.spec("REG-19", "REG-20")
async def test_ollama_format_equals_the_openai_format() -> None:
    """It also conforms to the documented chat endpoint."""
    specs = await shipped_and_difficult_specs()
    tools = to_provider("ollama", specs)
    assert tools == to_provider("openai", specs)
    request_tools = json.loads(json.dumps({"model": "any", "messages": [], "tools": tools}))["tools"]
    validator = jsonschema_rs.validator_for(OLLAMA_TOOLS)
    assert [error.message for error in validator.iter_errors(request_tools)] == []


@pytest.mark.spec("REG-20")
def test_docs_name_the_minimum_ollama_version() -> None:
    pages = [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")]
    assert any("0.1.26" in page.read_text(encoding="utf-8") for page in pages)


def gemini_violations(node: Any, path: str = "parameters") -> Iterator[str]:
    """Yield what Gemini function calling rejects in a schema, at any depth."""
    kind, properties = str(node.get("type", "")).lower(), node.get("properties", {})
    checks = {
        "unknown keys": not set(node) <= set(GEMINI_KEYS),
        "unknown type": "type" in node and kind not in GEMINI_TYPES,
        "neither type nor anyOf": "type" not in node and not node.get("anyOf"),
        "array without items": kind == "array" and "items" not in node,
        "enum of values that are not text": any(not isinstance(value, str) for value in node.get("enum", [])),
        "required property is missing": not set(node.get("required", [])) <= set(properties),
    }
    yield from (f"{path}: {violation}" for violation, violated in checks.items() if violated)
    items = {"[]": node["items"]} if "items" in node else {}
    for name, value in [*properties.items(), *items.items(), *enumerate(node.get("anyOf", []))]:
        yield from gemini_violations(value, f"{path}/{name}")


@pytest.mark.spec("REG-21", "REG-22")
async def test_gemini_format_conforms_to_function_declarations() -> None:
    specs = await shipped_and_difficult_specs()
    for tool, entry in zip(specs, to_provider("gemini", specs), strict=True):
        assert set(entry) == {"functionDeclarations"}
        [declaration] = entry["functionDeclarations"]
        assert set(declaration) == {"name", "description", "parameters"}
        assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", declaration["name"])
        assert declaration["description"] == tool.description
        assert list(gemini_violations(declaration["parameters"])) == []


def convert_for_gemini(value: Any, defs: Any) -> dict[str, Any]:
    """Return the converted schema of a parameter `x`, after checking the whole output."""
    schema = {"type": "object", "properties": {"x": value}, "$defs": defs, "additionalProperties": False}
    before = json.dumps(schema)
    parameters = to_provider("gemini", [spec("tool", schema)])[0]["functionDeclarations"][0]["parameters"]
    assert list(gemini_violations(parameters)) == []
    assert json.dumps(schema) == before
    return parameters["properties"]["x"]


@pytest.mark.spec("REG-22")
@pytest.mark.parametrize(("schema", "expected"), GEMINI_CASES)
def test_gemini_format_translates_or_drops_unsupported_keywords(
    schema: Any, expected: dict[str, Any]
) -> None:
    """This applies at every depth."""
    found = convert_for_gemini(schema, DEFS)
    assert {key: found.get(key) for key in expected} == expected


@pytest.mark.spec("REG-22")
def test_gemini_format_of_a_branching_recursion_stays_small() -> None:
    """Gemini accepts requests of up to 20 MB."""
    reference = {"$ref": "#/$defs/filter"}
    defs = {
        "filter": {
            "type": "object",
            "properties": {"both": reference, "either": reference, "none": reference},
        }
    }
    assert len(json.dumps(convert_for_gemini(reference, defs))) < 20_000_000


def describe_in_format(provider: str, entry: dict[str, Any]) -> tuple[str, str, str]:
    """Return name, description and parameter type of a tool that must have exactly a provider's fields."""
    if provider == "gemini":
        assert set(entry) == {"functionDeclarations"}
        (function,) = entry["functionDeclarations"]
    else:
        assert (set(entry), entry["type"]) == ({"type", "function"}, "function")
        function = entry["function"]
    assert set(function) == {"name", "description", "parameters"}
    return function["name"], function["description"], function["parameters"]["type"].lower()


@pytest.mark.spec("REG-16", "REG-23", "REG-24")
@pytest.mark.parametrize("provider", ["openai", "ollama", "gemini"])
def test_export_contains_the_allowed_tools_in_registration_order(home: Any, provider: str) -> None:
    """Without a filter it contains all tools. Each has the format of the provider."""
    configure(home, *map(definition, "abc"))
    exported = json.loads(onetool("tools", "export", "--format", provider, "--tool-allow", "b,a,zzz").stdout)
    assert [describe_in_format(provider, entry) for entry in exported] == [
        ("a", "A sample.", "object"),
        ("b", "A sample.", "object"),
    ]
    specs = [spec(name) for name in "abc"]
    assert len(to_provider(provider, specs)) == 3
    for allowed, expected in [(["b", "a", "b", "z"], "ab"), ([], ""), (["A"], ""), (["c", "a"], "ac")]:
        assert to_provider(provider, specs, allowed=allowed) == to_provider(provider, map(spec, expected))


@pytest.mark.spec("REG-25")
def test_unknown_provider_is_an_error(home: Any) -> None:
    """Even if there is nothing to convert."""
    for provider in ("acme", "", "openai ", "gpt"):
        for specs in ([], [spec("a")]):
            with pytest.raises(ValueError, match=r"(?i)not supported") as caught:
                to_provider(provider, specs)
            assert provider in str(caught.value)
    exported = onetool("tools", "export", "--format", "acme")
    assert (exported.returncode != 0, "not supported" in exported.stderr, exported.stdout) == (True, True, "")


@pytest.mark.spec("REG-07", "REG-08", "REG-09", "REG-26", "REG-27")
@pytest.mark.parametrize(("field", "value"), DEFECTS)
async def test_invalid_field_is_rejected_alike_in_every_kind_of_tool(field: str, value: Any) -> None:
    """The message names the field."""
    broken = [definition(**{"implementation": kind, field: value}) for kind in (MOCK, BUILTIN, INTERNAL)]
    messages = set()
    for tool in broken:
        with pytest.raises(InvalidTool, match=field) as caught:
            make_tool(tool, HANDLERS)
        messages.add(str(caught.value))
    assert len(messages) == 1
    assert await configured_names(*broken, definition("good")) == ["good"]


@pytest.mark.spec("REG-28", "REG-29", "REG-31", "REG-32", "REG-33", "REG-34")
def test_invalid_implementation_is_an_error(home: Any) -> None:
    implementations = [ABSENT, *INVALID_IMPLEMENTATIONS]
    broken = [
        definition(f"broken{number}", implementation=value) for number, value in enumerate(implementations)
    ]
    configure(home, *broken, definition("good"))
    with onetool_runtime() as ot:
        assert [tool["name"] for tool in broken if ot.call(tool["name"]).ok] == []
        assert ot.call("good").ok
    for tool, message in zip(broken, logged_errors(home), strict=True):
        assert tool["name"] in message


@pytest.mark.spec("REG-29", "REG-30")
def test_mock_returns_any_json_value_unchanged(home: Any) -> None:
    """Every call returns a fresh copy, marked as a mock."""
    mocks = [{"type": "mock", "mock_response": value} for value in JSON_VALUES]
    configure(home, *(definition(f"m{number}", implementation=mock) for number, mock in enumerate(mocks)))
    with onetool_runtime() as ot:
        for number, value in enumerate(JSON_VALUES):
            for _ in range(2):
                result = ot.call(f"m{number}")
                assert (result.ok, result.meta.mock) == (True, True)
                assert json.dumps(result.data) == json.dumps(value)
                if isinstance(result.data, (dict, list)):
                    result.data.clear()


@pytest.mark.spec("REG-30")
def test_mock_response_that_is_not_json_is_rejected(home: Any) -> None:
    """The error names the tool and the field."""
    odd = [definition(f"odd{number}") for number in range(len(NOT_JSON))]
    text = json.dumps({"tools": [*odd, definition("good")]})
    for response in NOT_JSON:
        text = text.replace('"pong"', response, 1)
    home.write("onetool.yaml", text)
    with onetool_runtime() as ot:
        assert [ot.call(tool["name"]).ok for tool in odd] == [False] * len(odd)
        assert ot.call("good").ok
    for tool, message in zip(odd, logged_errors(home), strict=True):
        assert tool["name"] in message
        assert "mock_response" in message


@pytest.mark.spec("REG-32", "REG-34")
@pytest.mark.parametrize("target", [BUILTIN, INTERNAL, {"type": "builtin", "handler": "tools.echo"}])
async def test_configured_handler_runs_the_named_function(target: dict[str, str]) -> None:
    arguments = {"message": {"a": [1]}} if target["handler"] == "tools.echo" else {}
    async with memory_runtime(settings={"tools": [definition("alias", implementation=target)]}) as ot:
        alias, real = await ot.call("alias", **arguments), await ot.call(target["handler"], **arguments)
    assert (alias.ok, alias.meta.mock, alias.meta.tool) == (True, False, "alias")
    assert list(alias.data) == list(real.data) != []


@pytest.mark.spec("REG-35")
@pytest.mark.parametrize("field", FIELDS[:-1])
def test_http_implementation_is_rejected_before_other_checks(field: str) -> None:
    http = {"implementation": {"type": "http"}}
    for broken in (definition(**http), definition(**http | {field: ABSENT}), http, http | {field: 5}):
        with pytest.raises(InvalidTool) as caught:
            make_tool(broken, HANDLERS)
        assert str(caught.value) == HTTP_REJECTED


@pytest.mark.spec("REG-35", "REG-36")
def test_rejected_http_tool_is_not_listed_and_its_name_remains_free(home: Any) -> None:
    http = {"implementation": {"type": "http", "url": "https://example.org"}}
    configure(home, definition("web", **http), definition("free", **http), definition("free"))
    with onetool_runtime() as ot:
        assert [ot.call("web").error.code, ot.call("free").data] == ["tool_not_found", "pong"]
    assert any("web" in message and HTTP_REJECTED in message for message in logged_errors(home))
    for listing in (onetool("tools", "list"), onetool("tools", "export", "--format", "openai")):
        assert (listing.returncode, '"web"' in listing.stdout, '"free"' in listing.stdout) == (0, False, True)
    assert register([ConfiguredTool("file:1", definition("web", **http))], HANDLERS).get("web") is None
