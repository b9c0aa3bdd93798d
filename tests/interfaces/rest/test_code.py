"""Tools made of code over REST: programs, steps, literals and parameters."""

import pytest
from pytest_asyncio import fixture as async_fixture

from support.rest_in_process import serve_memory
from support.rest_process import code_tool, new_id, new_slug

pytestmark = pytest.mark.asyncio(loop_scope="module")
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}


@async_fixture(scope="module", loop_scope="module")
async def client():
    async with serve_memory(settings={"snippets": SNIPPETS}) as client:
        yield client


SNIPPETS = {
    "shout": {
        "description": "Shout.",
        "params": {"text": {"type": "str"}},
        "body": "tools.echo(message={{ text }})",
    }
}
ECHO_TWICE = [
    {"name": "first", "tool": "tools.echo", "args": {"message": {"from": "args.city"}}},
    {"name": "second", "tool": "tools.echo", "args": {"message": {"from": "first"}}},
]


async def new_bundle(client, slug=""):
    id = new_id()
    body = {"slug": slug or new_slug()}
    assert (await client.put(f"/tools/bundles/{id}", json=body)).status_code == 201
    return f"/tools/bundles/{id}/tools"


async def test_tool_made_of_code_is_stored_listed_and_called(client):
    tools = await new_bundle(client, "flows")
    body = code_tool("tools.echo(message=city.upper())", "city", description="Shouts a city.")
    response = await client.put(f"{tools}/shout/version/1", json=body)
    assert response.status_code == 201, response.text
    assert response.json()["codeImpl"] == {"program": "tools.echo(message=city.upper())"}
    read = (await client.get(f"{tools}/shout/version/1")).json()
    assert (read["type"], read["codeImpl"], read["name"]) == ("code", body["codeImpl"], "flows.shout")
    called = await client.post(f"{tools}/shout/version/1/invoke", json={"args": {"city": "Paris"}})
    assert (called.json()["ok"], called.json()["value"]) == (True, "PARIS"), called.text
    found = (await client.get("/tools/search", params={"q": "shouts"})).json()["toolListItems"]
    assert [tool["name"] for tool in found] == ["flows.shout"]


async def test_steps_are_stored_with_the_program_that_they_make(client):
    tools = await new_bundle(client)
    body = code_tool(steps=ECHO_TWICE, argSchema=CITY)
    stored = (await client.put(f"{tools}/twice/version/1", json=body)).json()["codeImpl"]
    program = "first = tools.echo(message=city)\nsecond = tools.echo(message=first)\nsecond\n"
    assert stored == {"steps": ECHO_TWICE, "program": program}
    preview = await client.post("/code/steps", json={"steps": ECHO_TWICE, "argSchema": CITY})
    assert preview.json() == {"program": program}
    called = await client.post(f"{tools}/twice/version/1/invoke", json={"args": {"city": "Paris"}})
    assert called.json()["value"] == "Paris"


@pytest.mark.parametrize("path", ["first.name", "args.f.name", "second[0].x", "second.items[0]"])
async def test_step_whose_condition_leads_nowhere_is_skipped(client, path):
    tools = await new_bundle(client)
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "f": {}}}
    steps = [*ECHO_TWICE, {**ECHO_TWICE[0], "name": "third", "when": {"from": path, "is": "present"}}]
    body = code_tool(steps=steps, argSchema=schema)
    assert (await client.put(f"{tools}/a/version/1", json=body)).status_code == 201
    called = await client.post(f"{tools}/a/version/1/invoke", json={"args": {"city": "Paris"}})
    assert (called.json()["ok"], called.json()["value"]) == (True, None), called.text


async def test_program_and_steps_must_agree(client):
    tools = await new_bundle(client)
    same = "first = tools.echo( message=city )\nsecond = tools.echo(message=first)\n\nsecond"
    body = code_tool(same, steps=ECHO_TWICE, argSchema=CITY)
    response = await client.put(f"{tools}/a/version/1", json=body)
    assert (response.status_code, response.json()["codeImpl"]["program"]) == (201, same)
    body = code_tool("shell.run(command='x')", steps=ECHO_TWICE, argSchema=CITY)
    response = await client.put(f"{tools}/b/version/1", json=body)
    assert (response.status_code, response.json()["errors"][0]["path"]) == (400, "codeImpl.program")


WRONG_TOOLS = {
    "codeImpl.program: line 2: ": code_tool("1\n2 +"),
    "codeImpl.program: line 1: the program is empty": code_tool("  "),
    "codeImpl.program: line 1: a snippet cannot be stored": code_tool("$shout text=a"),
    "argSchema.properties.user-id: 'user-id' is not a Python name": code_tool("1", "user-id"),
    "argSchema.properties.class: 'class' is a word of the Python language": code_tool("1", "class"),
    "argSchema.properties.__x: '__x' is reserved": code_tool("1", "__x"),
    "argSchema.properties.time: hides the pack": code_tool("time.now()", "time"),
    "argSchema.properties.len: hides the function": code_tool("len(v)", "len", "v"),
    "codeImpl.program: line 1: the code has more than": code_tool(
        f"[{'-1,' * 30_000}]", steps=ECHO_TWICE, argSchema=CITY
    ),
    "limits.maxRetries: applies only to HTTP tools": code_tool("1", limits={"maxRetries": 2}),
    "a tool of type 'code' requires codeImpl": {**code_tool("1"), "codeImpl": None},
    "specify program or steps": {**code_tool("1"), "codeImpl": {}},
    "result is only for tools with steps": {
        **code_tool("1"),
        "codeImpl": {"program": "1", "result": {"from": "a"}},
    },
    "codeImpl.steps.0.args.message: specify exactly one of value and from": code_tool(
        steps=[{"name": "a", "tool": "tools.echo", "args": {"message": {}}}]
    ),
    "codeImpl.steps: there are no steps": code_tool(steps=[]),
}


@pytest.mark.parametrize("message", WRONG_TOOLS)
async def test_invalid_tool_is_refused_with_its_place(client, message):
    tools = await new_bundle(client)
    response = await client.put(f"{tools}/wrong/version/1", json=WRONG_TOOLS[message])
    assert (response.status_code, message in response.json()["detail"]) == (400, True), response.text


async def test_wrong_step_is_refused_with_its_field(client):
    steps = [ECHO_TWICE[0], {**ECHO_TWICE[1], "args": {"message": {"from": "frist"}}}]
    response = await client.post("/code/steps", json={"steps": steps, "argSchema": CITY})
    assert response.status_code == 400
    [error] = response.json()["errors"]
    assert error["path"] == "steps.1.args.message.from"
    assert error["message"] == "there is no step 'frist'. Did you mean first?"


async def test_literals_become_parameters_with_their_values_as_defaults(client):
    code = 'greeting = "Hello"\ntools.echo(message=greeting + " Zoë" * 2)'
    found = (await client.post("/code/literals", json={"code": code})).json()["literals"]
    assert [(item["line"], item["column"], item["text"], item["suggestedName"]) for item in found] == [
        (1, 12, '"Hello"', "greeting"),
        (2, 31, '" Zoë"', "text"),
        (2, 40, "2", "number"),
    ]
    assert [(item["type"], item["value"], item["count"]) for item in found] == [
        ("string", "Hello", 1),
        ("string", " Zoë", 1),
        ("integer", 2, 1),
    ]
    chosen = [{"index": 1, "name": "name", "description": "Who"}, {"index": 0, "name": "greeting"}]
    response = await client.post("/code/parameters", json={"code": code, "parameters": chosen})
    assert response.json() == {
        "program": "tools.echo(message=greeting + name * 2)",
        "argSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Who", "default": " Zoë"},
                "greeting": {"type": "string", "default": "Hello"},
            },
            "additionalProperties": False,
        },
    }
    tools = await new_bundle(client)
    body = code_tool(response.json()["program"], argSchema=response.json()["argSchema"])
    assert (await client.put(f"{tools}/greet/version/1", json=body)).status_code == 201
    for args, value in (({}, "Hello Zoë Zoë"), ({"name": "!"}, "Hello!!")):
        called = await client.post(f"{tools}/greet/version/1/invoke", json={"args": args})
        assert called.json()["value"] == value


async def test_snippets_are_expanded_and_fences_removed(client):
    found = (await client.post("/code/literals", json={"code": "$shout text='a b'"})).json()
    assert found["code"] == "tools.echo(message='a b')"
    assert [item["value"] for item in found["literals"]] == ["a b"]
    found = (await client.post("/code/literals", json={"code": "```python\n'x'\n```"})).json()
    assert (found["code"], found["literals"][0]["line"]) == ("'x'", 1)
    for code, message in (("$shuot", "unknown snippet $shuot. Did you mean shout?"), ("1 +", "line 1")):
        for path, body in (("literals", {}), ("parameters", {"parameters": []})):
            response = await client.post(f"/code/{path}", json={"code": code} | body)
            assert (response.status_code, message in response.json()["detail"]) == (400, True), response.text


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"index": 7, "name": "a"}, "parameters.0.index: there is no literal 7"),
        ({"index": 0, "name": "tools"}, "parameters.0.name: 'tools' is a name that the program uses"),
        ({"index": 1, "name": "x"}, "parameters.0.name: the program assigns 'x' itself"),
        ({"index": 0, "name": "a b"}, "parameters.0.name: 'a b' is not a Python name"),
    ],
)
async def test_impossible_parameter_is_refused(client, parameter, message):
    body = {"code": "x = 1\ntools.echo(message='a')", "parameters": [parameter]}
    response = await client.post("/code/parameters", json=body)
    assert (response.status_code, message in response.json()["detail"]) == (400, True), response.text
    [error] = response.json()["errors"]
    assert f"{error['path']}: {error['message']}" == response.json()["detail"]
