"""The tool registry, row by row: registration, lookup, provider formats, and what a definition must hold."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from timeit import timeit
from typing import Any

import jsonschema_rs
import pytest
import yaml
from hypothesis import given
from hypothesis.strategies import lists, text
from openai.types.chat import ChatCompletionFunctionToolParam
from pydantic import TypeAdapter

from commands import onetool
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
MOCK, BUILTIN = {"type": "mock", "mock_response": "pong"}, {"type": "builtin", "handler": "time.now"}
INTERNAL = {"type": "internal", "handler": "ot.health"}
FIELDS = ["name", "description", "type", "handler", "parameters", "implementation"]
ABSENT: Any = ...
FLAWS = yaml.safe_load("""[5, {type: 12}, {type: text}, {minLength: -1}, {minimum: low}, {items: 5},
    {enum: red}, {anyOf: []}, {required: a}, {required: [1]}, {properties: []}, {description: 5}, {$ref: 5},
    {additionalProperties: 3}, {properties: {b: {items: {type: nope}}}}]""")
HARD_NAMES = yaml.safe_load("[a.b_c, a_b.c, a.b, a__b, a-b, a b, a_b, 1st, größe.maß, 日, -d, a.b.c, a/b, _]")
HARD_NAMES += ["x" * 64, "x" * 65, "x" * 64 + ".y", "p." + "y" * 120, "p." + "y" * 119 + "z"]
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
NASTY = [{"$ref": f"#/$defs/{name}"} for name in [*DEFS, "absent"]]
NASTY += yaml.safe_load("""[{}, true, false, {$ref: '#'}, {$ref: 'https://example.org/a'}, {default: 1},
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
GEMINI_CASES += [[json.loads(wrap % json.dumps(schema)), {}] for wrap in WRAPS for schema in NASTY]
NO_TEXT = [ABSENT, None, 12, True, ["x"], {"x": 1}]
BAD_PARAMETERS = yaml.safe_load("""[null, true, 7, object, [], {}, {properties: {}}, {type: array}, {type: 1},
    {type: string}, {type: Object}, {type: ''}, {type: null}, {type: [object]}, {type: [object, 'null']}]""")
DEFECTS = [(field, value) for field in ("name", "description", "handler", "type") for value in NO_TEXT]
DEFECTS += [("name", ""), ("description", ""), ("type", ""), ("type", "tool"), ("type", "Function")]
BAD_PARAMETERS += [{"type": "object", at: {"a": flaw}} for at in ("properties", "$defs") for flaw in FLAWS]
DEFECTS += [("parameters", value) for value in [ABSENT, *BAD_PARAMETERS]]
BROKEN = yaml.safe_load("""[null, mock, 5, [mock], {}, {mock_response: 1}, {handler: time.now}, {type: null},
    {type: ''}, {type: 5}, {type: []}, {type: {}}, {type: magic, handler: time.now}, {type: mock, handler: x},
    {type: builtin}, {type: internal}]""")
BAD_HANDLERS = [None, "", 5, [], {}, True, "no.such", "time", "ot", "sample"]
BROKEN += [{"type": "builtin", "handler": "ot.health"}, {"type": "internal", "handler": "time.now"}]
BROKEN += [{"type": kind, "handler": handler} for kind in ("builtin", "internal") for handler in BAD_HANDLERS]
ANSWERS = [None, False, 0, 1.0, 1.5e300, 10**24, "", "zü\n\x01", [], {}, [None], {"": [{}, "2024-01-31"]}]
NOT_JSON = ["2024-01-31", "2024-01-31T10:00:00Z", ".nan", "-.inf", "{1: a}", "{true: a}", "{null: a}"]
NOT_JSON += ["{1.5: a}", "{2024-01-31: a}", "[{a: 2024-01-31}]", "{a: {b: [.nan]}}", "[{1: a}]"]


def definition(name: Any = "sample", **changes: Any) -> dict[str, Any]:
    """A whole definition of a mock tool, with changes; a field that is ABSENT is left out."""
    schema = {"type": "object", "properties": {}}
    whole = dict(zip(FIELDS, [name, "A sample.", "function", "sample", schema, MOCK], strict=True)) | changes
    return {field: value for field, value in whole.items() if value is not ABSENT}


def spec(name: str, schema: dict[str, Any] | None = None) -> ToolSpec:
    return ToolSpec(name=name, description=f"Does {name}.", input_schema=schema or {"type": "object"})


async def configured(*definitions: Any) -> list[str]:
    """The names of the configured tools that a product started with these definitions lists."""
    async with memory_runtime(settings={"tools": list(definitions)}) as ot:
        return [tool.spec.name async for tool in ot.runtime.catalog.tools() if tool.spec.origin == "config"]


async def shipped_and_hard() -> list[ToolSpec]:
    async with memory_runtime() as ot:
        return [tool.spec async for tool in ot.runtime.catalog.tools()] + [spec(name) for name in HARD_NAMES]


def configure(home: Any, *definitions: Any) -> None:
    home.write("onetool.yaml", json.dumps({"tools": definitions}))


def errors(home: Any) -> list[str]:
    return [record["message"] for record in home.log() if record["level"] == "error"]


@pytest.mark.spec("REG-01")
def test_docs_say_what_the_registry_is_for() -> None:
    """The project's own pages say that its tools are there for language models to call."""
    files = [PROJECT / name for name in ("README.md", "ARCHITECTURE.md", "docs/ARCHITECTURE.md")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files if file.exists())
    assert re.search(r"\btool[\s\S]{0,300}language model|language model[\s\S]{0,300}\btool", text, re.I)


@pytest.mark.spec("REG-02", "REG-03")
async def test_configured_tools_are_there_right_after_start(home: Any) -> None:
    """Every valid definition of the configuration is listed once, found by name and callable at once."""
    configure(home, definition("first"), definition("pair.second"))
    async with onetool_runtime() as ot:
        for name in ("first", "pair.second", "config.first"):
            assert (await ot.call(name)).data == "pong"
    assert errors(home) == []
    names = [entry["name"] for entry in json.loads(onetool("tools", "list").stdout)]
    assert [name for name in names if "first" in name or "second" in name] == ["first", "pair.second"]


@pytest.mark.spec("REG-04")
@pytest.mark.parametrize("junk", [None, 1, "tool", [], [{"name": "inner"}], {}, True, *FIELDS[1:]])
def test_a_broken_tool_is_logged_and_stops_nothing(home: Any, junk: Any) -> None:
    """A definition that lacks a field or is none at all: the product starts, and one error tells of it."""
    broken = definition("broken", **{junk: ABSENT}) if junk in FIELDS[1:] else junk
    configure(home, definition("before"), broken, definition("after"))
    with onetool_runtime() as ot:
        assert [ot.call(name).ok for name in ("before", "after", "broken")] == [True, True, False]
    assert [("onetool.yaml" if broken is junk else "broken") in message for message in errors(home)] == [True]


@pytest.mark.spec("REG-05", "REG-06")
def test_second_registration_raises_and_the_first_stays() -> None:
    """A name that is taken is refused with an error, and get and list still give the first tool."""
    registry, first = Registry(), Tool(spec("same"))
    registry.register(first)
    with pytest.raises(ValueError, match="same"):
        registry.register(Tool(spec("same", {"type": "object", "description": "Later."})))
    assert registry.get("same") is first
    assert list(registry.list()) == [first]


@pytest.mark.spec("REG-05", "REG-06")
def test_duplicate_in_configuration_is_an_error_and_the_first_answers(home: Any) -> None:
    """Of two configured tools of one name the first keeps it, and the second is an error in the log."""
    later = definition("twin", description="Later.", implementation={"type": "mock", "mock_response": 2})
    configure(home, definition("twin", description="Earlier."), later, definition("other"))
    with onetool_runtime() as ot:
        assert [ot.call("twin").data, ot.call("other").data] == ["pong", "pong"]
    assert ["twin" in message for message in errors(home)] == [True]
    assert json.loads(onetool("tools", "info", "twin").stdout)["description"] == "Earlier."


@pytest.mark.spec("REG-05", "REG-06")
def test_configured_tool_cannot_take_the_name_of_a_shipped_one(home: Any) -> None:
    """A definition that names a shipped tool does not replace it, and the log says so as an error."""
    configure(home, definition("time.now"))
    with onetool_runtime() as ot:
        assert ot.call("time.now").data != "pong"
    assert any("time.now" in message for message in errors(home))


@pytest.mark.spec("REG-10", "REG-11")
async def test_lookup_returns_the_definition_as_configured() -> None:
    """A tool found by name has the name, description and parameters of its definition."""
    parameters = {"type": "object", "properties": {"n": {"type": "integer", "x-a": [1]}}, "required": ["n"]}
    tools = [definition("one"), definition("two", description="The second.", parameters=parameters)]
    registry = register([Definition("file:1", value) for value in tools], HANDLERS)
    async with memory_runtime(settings={"tools": tools}) as ot:
        for it in (registry.get("two").spec, (await ot.runtime.catalog.find("two")).spec):
            assert (it.name, it.description, it.input_schema) == ("two", "The second.", parameters)


@pytest.mark.spec("REG-10", "REG-12")
def test_lookup_takes_as_long_among_ten_thousand_as_among_ten() -> None:
    """Finding a tool, or finding that there is none, does not get slower as the registry grows."""
    registries = {10: Registry(), 10_000: Registry()}
    names = {size: [f"pack.tool_{size * step // 9}" for step in range(10)] for size in registries}
    for size, registry in registries.items():
        for number in range(size):
            registry.register(Tool(spec(f"pack.tool_{number}")))
        assert [registry.get(name) is None for name in names[size]] == [False] * 9 + [True]

    def seconds(size: int) -> float:
        return timeit(lambda: [registries[size].get(name) for name in names[size]], number=300)

    runs = [(seconds(10), seconds(10_000)) for _ in range(15)]
    assert min(many for _, many in runs) <= 3 * min(few for few, _ in runs)


@pytest.mark.spec("REG-13", "REG-14")
@pytest.mark.parametrize("name", ["nope", "", " ", ".", "a.nope", "SAME", "same ", "a.same", "\0", "é" * 999])
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
    assert await configured(*map(definition, names)) == names


@pytest.mark.spec("REG-17", "REG-18")
async def test_openai_format_conforms_to_chat_completions() -> None:
    """Exactly the named keys, of OpenAI's published type; each name fits and leads back to its tool."""
    specs = await shipped_and_hard()
    entries = to_provider("openai", specs)
    TypeAdapter(list[ChatCompletionFunctionToolParam]).validate_python(entries, strict=True)
    back = names_by_wire(wire_names([tool.name for tool in specs]))
    for tool, entry in zip(specs, entries, strict=True):
        name = entry["function"]["name"]
        function = {"name": name, "description": tool.description, "parameters": tool.input_schema}
        assert entry == {"type": "function", "function": function}
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)
        assert back[name] == tool.name


@pytest.mark.spec("REG-18", "REG-22")
@given(lists(text("ab._-1é ", min_size=1, max_size=8) | text(min_size=1, max_size=130), unique=True))
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
    specs = await shipped_and_hard()
    tools = to_provider("ollama", specs)
    assert tools == to_provider("openai", specs)
    sent = json.loads(json.dumps({"model": "any", "messages": [], "tools": tools}))["tools"]
    assert [fault.message for fault in jsonschema_rs.validator_for(OLLAMA_TOOLS).iter_errors(sent)] == []


@pytest.mark.spec("REG-20")
def test_docs_name_the_oldest_ollama() -> None:
    """The documentation names the version of Ollama from which its tools work."""
    pages = [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")]
    assert any("0.1.26" in page.read_text(encoding="utf-8") for page in pages)


def gemini_faults(node: Any, where: str = "parameters") -> Iterator[str]:
    """What Google's function calling would refuse in this schema, at any depth."""
    kind, inside = str(node.get("type", "")).lower(), node.get("properties", {})
    checks = {
        "unknown keys": not set(node) <= set(GEMINI_KEYS),
        "no such type": "type" in node and kind not in GEMINI_TYPES,
        "neither type nor anyOf": "type" not in node and not node.get("anyOf"),
        "array without items": kind == "array" and "items" not in node,
        "enum of other things than text": any(not isinstance(value, str) for value in node.get("enum", [])),
        "requires what it lacks": not set(node.get("required", [])) <= set(inside),
    }
    yield from (f"{where}: {fault}" for fault, wrong in checks.items() if wrong)
    items = {"[]": node["items"]} if "items" in node else {}
    for name, value in [*inside.items(), *items.items(), *enumerate(node.get("anyOf", []))]:
        yield from gemini_faults(value, f"{where}/{name}")


@pytest.mark.spec("REG-21", "REG-22")
async def test_gemini_format_of_every_tool_conforms() -> None:
    """Each tool becomes {functionDeclarations: [{name, description, parameters}]} that Gemini takes."""
    specs = await shipped_and_hard()
    for tool, entry in zip(specs, to_provider("gemini", specs), strict=True):
        assert set(entry) == {"functionDeclarations"}
        [declaration] = entry["functionDeclarations"]
        assert set(declaration) == {"name", "description", "parameters"}
        assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", declaration["name"])
        assert declaration["description"] == tool.description
        assert list(gemini_faults(declaration["parameters"])) == []


def gemini(value: Any, defs: Any) -> dict[str, Any]:
    """What becomes of a parameter x with this schema, after the whole output was found to conform."""
    schema = {"type": "object", "properties": {"x": value}, "$defs": defs, "additionalProperties": False}
    before = json.dumps(schema)
    parameters = to_provider("gemini", [spec("tool", schema)])[0]["functionDeclarations"][0]["parameters"]
    assert list(gemini_faults(parameters)) == []
    assert json.dumps(schema) == before
    return parameters["properties"]["x"]


@pytest.mark.spec("REG-22")
@pytest.mark.parametrize(("schema", "kept"), GEMINI_CASES)
def test_gemini_format_says_the_same_in_words_that_gemini_takes(schema: Any, kept: dict[str, Any]) -> None:
    """What Gemini refuses is gone at every depth, and translated where Gemini has other words for it."""
    found = gemini(schema, DEFS)
    assert {key: found.get(key) for key in kept} == kept


@pytest.mark.spec("REG-22")
def test_gemini_format_of_a_branching_recursion_fits_a_request() -> None:
    """A schema that holds itself in several places does not grow past the 20 MB that Gemini takes."""
    again = {"$ref": "#/$defs/filter"}
    defs = {"filter": {"type": "object", "properties": {"both": again, "either": again, "none": again}}}
    assert len(json.dumps(gemini(again, defs))) < 20_000_000


@pytest.mark.spec("REG-16", "REG-23", "REG-24")
@pytest.mark.parametrize("provider", ["openai", "ollama", "gemini"])
def test_each_provider_gets_the_allowed_tools_in_registered_order(home: Any, provider: str) -> None:
    """Without a filter all tools are given, with one only those in it, in the order of registration."""
    configure(home, *map(definition, "abc"))
    exported = onetool("tools", "export", "--format", provider, "--tool-allow", "b,a,zzz").stdout
    assert re.findall(r'"name": "(.*?)"', exported) == ["a", "b"]
    specs = [spec(name) for name in "abc"]
    assert len(to_provider(provider, specs)) == 3
    for allowed, kept in [(["b", "a", "b", "z"], "ab"), ([], ""), (["A"], ""), (["c", "a"], "ac")]:
        assert to_provider(provider, specs, allowed=allowed) == to_provider(provider, map(spec, kept))


@pytest.mark.spec("REG-25")
@pytest.mark.parametrize("provider", ["acme", "", "openai ", "gpt"])
def test_unknown_provider_is_an_error(home: Any, provider: str) -> None:
    """A provider that nobody knows is refused by name as not supported, even with nothing to convert."""
    for specs in ([], [spec("a")]):
        with pytest.raises(ValueError, match=r"(?i)not supported") as caught:
            to_provider(provider, specs)
        assert provider in str(caught.value)
    asked = onetool("tools", "export", "--format", provider)
    assert (asked.returncode != 0, "not supported" in asked.stderr, asked.stdout) == (True, True, "")


@pytest.mark.spec("REG-07", "REG-08", "REG-09", "REG-26", "REG-27")
@pytest.mark.parametrize(("field", "value"), DEFECTS)
async def test_the_same_defect_is_refused_in_every_kind_of_tool(field: str, value: Any) -> None:
    """An absent or mistyped field is refused by its name, in the same words for each kind of tool."""
    broken = [definition(**{"implementation": kind, field: value}) for kind in (MOCK, BUILTIN, INTERNAL)]
    said = set()
    for each in broken:
        with pytest.raises(InvalidTool, match=field) as caught:
            make_tool(each, HANDLERS)
        said.add(str(caught.value))
    assert len(said) == 1
    assert await configured(*broken, definition("good")) == ["good"]


@pytest.mark.spec("REG-28", "REG-29", "REG-31", "REG-32", "REG-33", "REG-34")
@pytest.mark.parametrize("implementation", [ABSENT, *BROKEN])
def test_implementation_must_be_whole_and_known(home: Any, implementation: Any) -> None:
    """No implementation, no type, no mock_response, no handler or an unknown one: an error, and no tool."""
    configure(home, definition("broken", implementation=implementation), definition("good"))
    with onetool_runtime() as ot:
        assert [ot.call("broken").ok, ot.call("good").ok] == [False, True]
    assert ["broken" in message for message in errors(home)] == [True]


@pytest.mark.spec("REG-29", "REG-30")
@pytest.mark.parametrize("answer", ANSWERS)
def test_mock_answers_with_any_json_value_verbatim(home: Any, answer: Any) -> None:
    """Whatever JSON value a mock has, falsy ones too, each call returns exactly that, marked as a mock."""
    configure(home, definition(implementation={"type": "mock", "mock_response": answer}))
    with onetool_runtime() as ot:
        for _ in range(2):
            result = ot.call("sample")
            assert (result.ok, result.meta.mock, json.dumps(result.data)) == (True, True, json.dumps(answer))
            if isinstance(result.data, (dict, list)):
                result.data.clear()
    printed = json.loads(onetool("tools", "invoke", "sample", "--args", "{}").stdout)
    assert json.dumps(printed["data"]) == json.dumps(answer)


@pytest.mark.spec("REG-30")
@pytest.mark.parametrize("answer", NOT_JSON)
def test_mock_answer_that_json_lacks_is_refused(home: Any, answer: str) -> None:
    """A YAML value that JSON cannot hold is refused with an error that names the tool and the field."""
    text = json.dumps({"tools": [definition("odd"), definition("good")]})
    home.write("onetool.yaml", text.replace('"pong"', answer, 1))
    with onetool_runtime() as ot:
        assert [ot.call("odd").ok, ot.call("good").ok] == [False, True]
    assert ["odd" in message and "mock_response" in message for message in errors(home)] == [True]


@pytest.mark.spec("REG-32", "REG-34")
@pytest.mark.parametrize("target", [BUILTIN, INTERNAL, {"type": "builtin", "handler": "tools.echo"}])
async def test_handler_runs_the_function_it_names(target: dict[str, str]) -> None:
    """A configured tool under its own name gives what the function gives that its implementation names."""
    arguments = {"message": {"a": [1]}} if target["handler"] == "tools.echo" else {}
    async with memory_runtime(settings={"tools": [definition("alias", implementation=target)]}) as ot:
        alias, real = await ot.call("alias", **arguments), await ot.call(target["handler"], **arguments)
    assert (alias.ok, alias.meta.mock, alias.meta.tool) == (True, False, "alias")
    assert list(alias.data) == list(real.data) != []


@pytest.mark.spec("REG-35")
@pytest.mark.parametrize("field", FIELDS[:-1])
def test_http_is_refused_in_these_words_before_all_else(field: str) -> None:
    """An HTTP tool is refused with the one fixed sentence, also when other fields are absent or wrong."""
    http = {"implementation": {"type": "http"}}
    for broken in (definition(**http), definition(**http | {field: ABSENT}), http, http | {field: 5}):
        with pytest.raises(InvalidTool) as caught:
            make_tool(broken, HANDLERS)
        assert str(caught.value) == HTTP_REFUSED


@pytest.mark.spec("REG-35", "REG-36")
def test_http_tool_is_in_no_list_and_leaves_its_name_free(home: Any) -> None:
    """A refused HTTP tool is logged, not listed, not exported, not callable; its name can still be used."""
    http = {"implementation": {"type": "http", "url": "https://example.org"}}
    configure(home, definition("web", **http), definition("free", **http), definition("free"))
    with onetool_runtime() as ot:
        assert [ot.call("web").error.code, ot.call("free").data] == ["tool_not_found", "pong"]
    assert any("web" in message and HTTP_REFUSED in message for message in errors(home))
    for listing in (onetool("tools", "list"), onetool("tools", "export", "--format", "openai")):
        assert (listing.returncode, '"web"' in listing.stdout, '"free"' in listing.stdout) == (0, False, True)
    assert register([Definition("file:1", definition("web", **http))], HANDLERS).get("web") is None
