"""An OpenAPI document becomes tools that could have been written by hand, or a reason why not."""

import json
import time
from copy import deepcopy
from functools import cache

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_schemas import json_schemas, json_values
from onetool.bundles.openapi import document, read_openapi, yaml_reader
from onetool.domain.bundle import InvalidBundle
from onetool.domain.bundle_bodies import BundleBody, ToolBody
from onetool.domain.bundle_ids import check_slug, check_version
from onetool.domain.caller import Caller
from onetool.domain.invocation import Flag, Invocation
from onetool.domain.json_text import encode, jsonable
from onetool.domain.schemas import compile_schema
from onetool.domain.templates import check_http_impl, secret_names
from onetool.network.client import HttpClients
from onetool.settings.secrets import Secret
from onetool.sources.http_tools import HttpTool, Tokens
from onetool.testing import HttpStub, Reply
from openapi_documents import HOSTILE, MODERN, PETSTORE, doubling


def read(said, **options):
    return read_openapi(orjson.dumps(said), **options)


@cache
def read_hostile():
    return read(HOSTILE)


def tools(imported):
    return {tool.slug: tool.body for tool in imported.tools}


def request(body):
    return body["httpImpl"]["request"]


def small(paths=None, **more):
    """A document with these paths and nothing to complain about."""
    start = {"openapi": "3.1.0", "info": {"title": "Small", "version": "1"}}
    return {**start, "servers": [{"url": "https://small.test"}], "paths": paths or {}, **more}


def one(operation, **more):
    """The body of the only tool that this operation makes."""
    imported = read(small({"/x": {"post": operation}}, **more))
    assert imported.skipped == []
    return imported.tools[0].body


def sending(schema, **more):
    content = {"content": {"application/json": {"schema": schema}}}
    return {"requestBody": {"required": True, **content, **more}}


def check(imported):
    """Hold everything that was made to the rules for what a client writes."""
    BundleBody.model_validate(imported.bundle)
    check_slug(imported.bundle["slug"])
    slugs = [(check_slug(tool.slug), check_version(tool.version)) for tool in imported.tools]
    assert len(set(slugs)) == len(slugs)
    for tool in imported.tools:
        ToolBody.model_validate(tool.body)
        compile_schema(tool.body["argSchema"])
        compile_schema(tool.body.get("outputSchema", {}))
        assert len(encode(tool.body.get("outputSchema", {}))) <= 20_000
        check_http_impl(tool.body["httpImpl"], tool.body["argSchema"], imported.hosts)
        assert set(secret_names(tool.body["httpImpl"], tool.body["argSchema"])) <= set(imported.secrets)
    assert not imported.bundle["isEnabled"]


@pytest.mark.parametrize("content", [PETSTORE, orjson.dumps(MODERN), orjson.dumps(HOSTILE)])
def test_whatever_comes_out_can_be_stored(content):
    """Every tool passes the checks of one that a client writes, with the hosts and secrets listed."""
    imported = read_openapi(content)
    assert imported.tools
    check(imported)


def test_an_ordinary_document():
    """Operations become tools with slugs of their own; the rest of the answer says what is left to do."""
    imported = read_openapi(PETSTORE)
    assert imported.bundle == {
        "slug": "pet-store",
        "displayName": "Pet Store",
        "description": "Pets and their people.",
        "isEnabled": False,
    }
    found = tools(imported)
    assert list(found) == ["list-pets", "create-pet", "get-pets-pet-id", "list-pets-2", "patch-pets-pet-id"]
    assert {tool.version for tool in imported.tools} == {"1.0.0"}
    assert imported.hosts == ["eu.pets.test", "auth.test"]
    assert imported.secrets == [
        "PET_STORE_TOKEN",
        "PET_STORE_OAUTH_CLIENT_ID",
        "PET_STORE_OAUTH_CLIENT_SECRET",
        "PET_STORE_KEY",
        "PET_STORE_LOGIN_USERNAME",
        "PET_STORE_LOGIN_PASSWORD",
    ]
    assert found["get-pets-pet-id"]["description"] == "Deprecated."


def test_parameters_become_arguments():
    """Each has the name that a template can hold, and goes where the document says."""
    body = tools(read_openapi(PETSTORE))["list-pets"]
    assert body["argSchema"] == {
        "type": "object",
        "properties": {
            "limit": {
                "type": "integer",
                "exclusiveMinimum": 0,
                "maximum": 9,
                "examples": [5],
                "description": "How many.",
            },
            "tags": {"type": "array", "items": {"type": "string"}},
            "ids": {"type": "string", "description": "Which ones. Several values are separated by commas."},
            "piped": {"type": "string", "description": "Some. Several values are separated by |."},
            "X_Request_ID": {"type": "string", "format": "uuid"},
        },
        "additionalProperties": False,
    }
    assert request(body) == {
        "method": "GET",
        "urlTemplate": "https://eu.pets.test:8443/v1/pets",
        "query": {"limit": "${limit}", "tags": "${tags}", "ids": "${ids}", "piped": "${piped}"},
        "headers": {"X-Request-ID": "${X_Request_ID}"},
        "auth": {"type": "bearer", "token": "${PET_STORE_TOKEN}"},
    }
    assert (body["displayName"], body["description"]) == ("List pets", "List pets\n\nAll of them.")
    assert body["tags"] == ["pets"]


def test_a_body_becomes_arguments():
    """Members stand beside the parameters; what only the server writes is not asked for."""
    body = tools(read_openapi(PETSTORE))["create-pet"]
    assert body["argSchema"]["required"] == ["name", "secret"]
    assert body["argSchema"]["properties"] == {
        "name": {"type": ["string", "null"]},
        "secret": {"type": "string", "writeOnly": True},
        "kind": {"type": ["string", "null"], "enum": ["cat", "dog", None]},
        "owner": {
            "description": "Who.",
            "anyOf": [
                {"allOf": [{"type": "object", "properties": {"name": {"type": "string"}}}]},
                {"type": "null"},
            ],
        },
        "example": {"type": "string"},
        "born": {"type": "string", "default": "2020-01-01"},
        "anything": {},
        "mood": {"type": "string", "enum": ["yes", "no", "on"], "description": "Today's."},
    }
    assert request(body)["body"] == {name: f"${{{name}}}" for name in body["argSchema"]["properties"]}
    assert request(body)["auth"] == {
        "type": "oauth2",
        "tokenUrl": "https://auth.test/token",
        "scope": "write read",
        "clientId": "${PET_STORE_OAUTH_CLIENT_ID}",
        "clientSecret": "${PET_STORE_OAUTH_CLIENT_SECRET}",
    }


def test_a_body_whose_names_clash_stays_whole():
    """It becomes the argument `body`, sent as the document's own kind of JSON."""
    body = tools(read_openapi(PETSTORE))["list-pets-2"]
    assert body["argSchema"]["required"] == ["petId", "body"]
    assert request(body)["body"] == "${body}"
    assert request(body)["headers"] == {"trace": "${trace}", "Content-Type": "application/vnd.pets+json"}
    assert request(body)["auth"] == {
        "type": "apiKey",
        "in": "query",
        "name": "api_key",
        "value": "${PET_STORE_KEY}",
    }
    optional = tools(read_openapi(PETSTORE))["patch-pets-pet-id"]
    assert optional["argSchema"]["properties"]["body"] == {"type": "object", "description": "Changes."}
    assert optional["argSchema"]["properties"]["trace"] == {"description": "Our own."}
    assert optional["argSchema"]["required"] == ["petId"]
    assert request(optional)["auth"]["username"] == "${PET_STORE_LOGIN_USERNAME}"


def test_the_first_good_answer_is_the_output():
    """Without what is only sent; kept only where it is JSON."""
    found = tools(read_openapi(PETSTORE))
    assert found["list-pets"]["outputSchema"]["items"]["required"] == ["id", "name"]
    assert "secret" not in found["get-pets-pet-id"]["outputSchema"]["properties"]
    assert "auth" not in request(found["get-pets-pet-id"])
    assert "outputSchema" not in found["create-pet"]


def test_what_is_left_out_is_said():
    """Each operation that is no tool has its line, and each optional parameter too."""
    assert read_openapi(PETSTORE).skipped == [
        "GET /pets: imported without its optional parameter 'filter': an object cannot be sent there.",
        "GET /pets: imported without its optional parameter 'session': "
        "a parameter in 'cookie' cannot be sent.",
        "DELETE /pets/{petId}: its security scheme 'cookie' (apiKey cookie) cannot be used by a tool; it "
        "needs 2 security schemes at once; a tool has one; its security scheme 'unknown' is not in the "
        "document; its security scheme 'person' (oauth2) cannot be used by a tool.",
        "TRACE /pets/{petId}: the method cannot be sent. "
        "Valid: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS.",
        "POST /upload: its body is multipart/form-data; only JSON is sent.",
        "POST /form: its body is application/x-www-form-urlencoded; only JSON is sent.",
        "POST /empty: its body is nothing; only JSON is sent.",
        "GET /missing/{what}: no parameter describes {what} of its path.",
    ]


def test_a_modern_document():
    """Cycles end in anything, allOf is folded, names in two places are told apart."""
    imported = read(MODERN)
    assert imported.skipped == []
    assert (imported.bundle["slug"], imported.tools[0].version) == ("bäume-http-trees", "v1")
    found = tools(imported)
    grow = found["grow-tree"]
    tree = {
        "type": "object",
        "required": ["value"],
        "properties": {"value": {"type": ["integer", "null"]}, "left": {}, "right": {}},
    }
    assert grow["argSchema"]["properties"] == {
        "id": {"type": "integer"},
        "id_query": {"minimum": 3, "allOf": [{"type": ["integer", "null"]}]},
        "name": {"type": "string"},
        "tree_root": tree,
    }
    assert grow["argSchema"]["required"] == ["id", "name"]
    assert grow["outputSchema"] == tree
    assert request(grow)["urlTemplate"] == "https://trees.test/trees/${id}"
    assert request(grow)["query"] == {"id": "${id_query}"}
    assert request(grow)["body"] == {"name": "${name}", "tree-root": "${tree_root}"}
    assert request(found["http-choose"])["urlTemplate"] == "http://other.test:81/x/choices"
    assert [request(found[slug])["body"] for slug in ("http-choose", "free", "closed")] == [
        "${body}",
        "${body}",
        {"a": "${a}"},
    ]


def test_every_scheme_has_secrets_of_its_own():
    """Two schemes never share a secret, however alike their names are."""
    imported = read(MODERN)
    assert sorted(imported.secrets) == [
        "BAUME_HTTP_TREES_API_KEY",
        "BAUME_HTTP_TREES_API_KEY_2",
        "BAUME_HTTP_TREES_FIRST_TOKEN",
        "BAUME_HTTP_TREES_SECOND_TOKEN",
    ]


def test_a_hostile_document_gets_no_secret():
    """Whatever a document calls things, a tool names its own secrets alone, an argument none."""
    imported = read_hostile()
    assert imported.secrets == ["GITHUB_TOKEN_TOKEN"]
    assert imported.hosts == ["evil.test"]
    found = tools(imported)
    ok = found["get-ok-github-token"]
    assert request(ok)["urlTemplate"] == (
        "https://evil.test/%24%7BGITHUB_TOKEN%7D/%24%24/ok/%24${GITHUB_TOKEN}"
    )
    assert secret_names(ok["httpImpl"], ok["argSchema"]) == []
    shadow = found["get-shadow"]
    assert request(shadow)["query"] == {"GITHUB_TOKEN_TOKEN": "${GITHUB_TOKEN_TOKEN_query}"}
    assert secret_names(shadow["httpImpl"], shadow["argSchema"]) == ["GITHUB_TOKEN_TOKEN"]
    assert request(found["post-body"])["body"] == "${body}"
    assert "headers" not in request(found["get-host"])
    assert found["post-loop"]["argSchema"]["properties"]["body"] == {}
    assert "outputSchema" not in found["get-output"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/secret/", "no parameter describes {GITHUB_TOKEN}"),
        ("/query", "no query can be called '${GITHUB_TOKEN}'"),
        ("/header", "no header can be called"),
        ("/nowhere", "a parameter in 'nowhere' cannot be sent"),
        ("/unnamed", "a parameter in 'query' cannot be sent"),
        ("/unused", "its path has no place for the parameter 'x'"),
        ("/../up", "'.' or '..' as a part of its path"),
        ("/a?b=c", "neither query nor fragment"),
        ("relative", "must start with /"),
        ("/remote", "only references inside the document are followed"),
        ("/file", "only references inside the document are followed"),
        ("/beside", "only references inside the document are followed"),
        ("/number", "only references inside the document are followed"),
        ("/gone", "which is not in the document"),
        ("/index", "which is not in the document"),
        ("/large", "larger than 200000 bytes"),
        ("/deep", "nested more than 64 levels deep"),
        ("/loops", "lead nowhere after 20 steps"),
        ("/odd", "'no schema' for a schema"),
        ("/wrong", "its schema is not valid"),
        ("/pattern", "its schema is not valid"),
        ("/words", "holds 'words' where an object belongs"),
        ("/templated", "a secret that is not its own"),
        ("/line", "cannot be sent"),
        ("/token", "has a query or a fragment"),
        ("/scope", "a secret that is not its own"),
        ("/server:", "user name or password"),
        ("/servers", "is not a host"),
        ("/variables", "'{x}' is not a host"),
        ("/ftp", "https://"),
        ("/fragment", "has a query or a fragment"),
        ("/bracket", "cannot be used"),
        ("/item", "only references inside the document are followed"),
        ("/none", "where an object belongs"),
    ],
)
def test_each_trick_has_its_answer(path, reason):
    """The operation is left out, and its line says why."""
    lines = [line for line in read_hostile().skipped if f" {path}" in f" {line}"]
    assert len(lines) == 1
    assert reason in lines[0]
    assert lines[0].endswith(".")
    assert not lines[0].endswith("..")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "no object"),
        (b"[]", "no object"),
        (b"{", "not JSON"),
        (b"[" * 900 + b"]" * 900, "more than 200 levels deep"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a: [", "not YAML"),
        (b"a: 1\n---\nb: 2", "not YAML"),
        (b"a: \x00", "not YAML"),
        (b"a: 0x_", "cannot be read"),
        (b"a: !!python/object:os.system x", r"tag that is not known \(line 1\)"),
        (b"a: !!timestamp x", "tag that is not known"),
        (b"a: *b", "not YAML|alias without its anchor"),
        (b"a: &a {b: *a}", r"alias without its anchor \(line 1\)"),
        (b"a: &a 1\nb: &a {c: *a}", "alias without its anchor"),
        (b"- " * 200 + b"x", "more than 100 levels"),
        (b"swagger: '2.0'", "convert it to OpenAPI 3"),
        (b"info: {}", "openapi 'None' is not known. Valid: 3.0 and 3.1"),
        (b"openapi: 3.2.0", "openapi '3.2.0' is not known"),
        (b"openapi: 3.10.0", "openapi '3.10.0' is not known"),
        (b" " * (5 * 2**20 + 1), "5242880 are allowed"),
        (b"openapi: 3.1.0", "names no server. Say where the API lives with --base-url"),
        (b"openapi: 3.1\nservers: [{url: /v1}]", "its server is '/v1'. Say where .* --base-url"),
        (b"openapi: 3.0.1\nservers: [{url: 'https://u:p@x.test'}]", "user name or password"),
    ],
)
def test_what_is_no_document_is_refused(content, problem):
    """The whole import ends, and the message says what would be right."""
    with pytest.raises(InvalidBundle, match=problem):
        read_openapi(content)


def test_aliases_do_not_multiply():
    """A small YAML file that is huge when its aliases are expanded ends at the limit, at once."""
    laughs = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )
    merged = "m0: &m0 {k: v}\n" + "".join(
        f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
    )
    long = "a: &a " + "x" * 100_000 + "\nb: [" + "*a, " * 10_000 + "]\n"
    for text in (laughs, merged, long):
        started = time.monotonic()
        with pytest.raises(InvalidBundle, match=f"more than {yaml_reader.MAX_EXPANDED} bytes"):
            read_openapi(text.encode())
        assert time.monotonic() - started < 5


def test_aliases_are_read():
    """Those of an ordinary file mean what they say, also as a value that stands alone."""
    text = b"""
openapi: 3.1.0
servers: [{url: &here 'https://x.test'}]
info: {title: *here}
paths:
  /a: &item {get: {parameters: [{name: on, in: query, schema: {enum: [true, on]}}]}}
  /b: *item
"""
    found = tools(read_openapi(b"\xef\xbb\xbf" + text))
    assert list(found) == ["get-a", "get-b"]
    assert found["get-b"]["argSchema"]["properties"] == {"on": {"enum": [True, "on"]}}


@pytest.mark.parametrize(
    ("servers", "base_url", "url"),
    [
        ([{"url": "/v2/"}], "https://api.test/docs/openapi.json", "https://api.test/v2/x"),
        ([{"url": "v2"}], "https://api.test/docs/", "https://api.test/docs/v2/x"),
        ([], "https://API.test/v3/", "https://api.test/v3/x"),
        (None, "http://127.0.0.1:8000", "http://127.0.0.1:8000/x"),
        ([5, {"url": 5}, {"url": "HTTPS://a.test"}, {"url": "https://b.test"}], None, "https://a.test/x"),
        ([{"url": "https://a.test/{v}", "variables": {"v": {"default": 3}}}], None, "https://a.test/3/x"),
        ([{"url": "https://a.test/a b/$x"}], None, "https://a.test/a%20b/%24x/x"),
    ],
)
def test_where_the_api_lives(servers, base_url, url):
    """The first absolute server; a relative one is joined with the base that the user gives."""
    found = read(small({"/x": {"get": {}}}, servers=servers), base_url=base_url)
    assert request(found.tools[0].body)["urlTemplate"] == url


def test_a_base_that_is_no_url_is_refused():
    """What the user gives is held to the same rules."""
    with pytest.raises(InvalidBundle, match="does not start with http:// or https://"):
        read(small(servers=[]), base_url="api.test")


def test_too_many_operations_are_refused():
    """A bundle of more tools than an archive holds is no bundle."""
    with pytest.raises(InvalidBundle, match="more than 10000 operations"):
        read(small({f"/{number}": {"trace": {}} for number in range(10_001)}))


def test_references_do_not_multiply_the_work(monkeypatch):
    """A document in which everything refers to one large part ends at the limit of the whole."""
    monkeypatch.setattr(document, "MAX_WORK", 3_000_000)
    schema = {"$ref": "#/components/schemas/L15"}
    paths = {f"/{number}": {"post": sending(schema)} for number in range(5_000)}
    with pytest.raises(InvalidBundle, match="more than 3000000 bytes"):
        read(small(paths, components={"schemas": doubling(16)}))
    parameter = {"name": "q", "in": "query", "description": "x" * 100_000}
    paths = {f"/{number}": {"$ref": "#/components/item"} for number in range(5_000)}
    with pytest.raises(InvalidBundle, match="more than 3000000 bytes"):
        read(small(paths, components={"item": {"get": {"parameters": [parameter]}}}))


def test_a_tool_is_not_larger_than_a_model_can_read():
    """Descriptions of parameters count, and so does their number."""
    long = {"parameters": [{"name": "q", "in": "query", "description": "x" * 300_000}]}
    many = {
        "parameters": [{"name": f"q{n}", "in": "query", "required": True, "schema": {}} for n in range(1_001)]
    }
    imported = read(small({"/long": {"get": long}, "/many": {"get": many}}))
    assert imported.tools == []
    assert [line.partition(":")[0] for line in imported.skipped] == ["GET /long", "GET /many"]
    assert "200000 are allowed" in imported.skipped[0]
    assert "more than 1000 arguments" in imported.skipped[1]


def test_texts_that_are_too_long_for_a_tool_are_cut():
    """A description is cut, a summary as well; a tag that is no tag is left out."""
    body = one({"summary": "s" * 300, "description": "d" * 20_000, "tags": ["t" * 201, "ok"]})
    assert (len(body["displayName"]), len(body["description"]), body["tags"]) == (200, 10_000, ["ok"])


def test_a_definition_that_is_too_long_for_a_tool_is_left_out():
    """The shape of a tool has the last word."""
    imported = read(small({"/" + "x" * 11_000: {"get": {}}}))
    assert imported.tools == []
    assert "it is no tool: String should have at most 10000 characters" in imported.skipped[0]


def test_slugs_and_arguments_are_told_apart():
    """Equal names get numbers within the longest name that is allowed."""
    paths = {f"/{n}": {"get": {"operationId": "x" * 70}} for n in range(11)}
    slugs = [tool.slug for tool in read(small(paths)).tools]
    assert slugs[0] == "x" * 64
    assert slugs[1] == "x" * 62 + "-2"
    assert slugs[10] == "x" * 61 + "-11"
    names = ["a-b", "a.b", "a_b", "2nd", "steps"]
    body = one({"parameters": [{"name": name, "in": "query", "schema": True} for name in names]})
    assert list(body["argSchema"]["properties"]) == ["a_b", "a_b_query", "a_b_query_2", "_2nd", "_steps"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "properties": {"a": {}}}, {"a": "${a}"}),
        ({"properties": {"a-b": {}, "a_b": {}}}, "${body}"),
        ({"allOf": [{"properties": {"a": {}}}, {"properties": {"a": {}}}]}, "${body}"),
        ({"allOf": [{"properties": {"a": {}}}, True]}, "${body}"),
        ({"allOf": [{"oneOf": [{}]}]}, "${body}"),
        ({"type": "array"}, "${body}"),
        ({"type": "object"}, "${body}"),
        (True, "${body}"),
    ],
)
def test_only_a_plain_object_is_taken_apart(schema, expected):
    """Whatever else a body is, it is given whole."""
    assert request(one(sending(schema)))["body"] == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            {"type": "number", "maximum": 5, "exclusiveMaximum": True},
            {"type": "number", "exclusiveMaximum": 5},
        ),
        ({"exclusiveMinimum": True}, {}),
        ({"maximum": 5, "exclusiveMaximum": False}, {"maximum": 5}),
        ({"exclusiveMinimum": 4}, {"exclusiveMinimum": 4}),
        ({"example": 1, "examples": [2]}, {"examples": [2]}),
        (
            {"nullable": True, "type": "string", "enum": ["a", None]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ({"nullable": True, "type": ["string"]}, {"anyOf": [{"type": ["string"]}, {"type": "null"}]}),
        ({"nullable": False, "type": "string"}, {"type": "string"}),
        ({"default": None, "const": None}, {"default": None, "const": None}),
        (
            {"properties": {"$ref": {}, "nullable": {"nullable": 1}}},
            {"properties": {"$ref": {}, "nullable": {}}},
        ),
        ({"allOf": 5, "properties": [], "$id": "http://x", "$dynamicRef": "#x"}, {}),
        ({"$ref": "#/components/schemas/Yes"}, True),
        ({"$ref": "#/components/schemas/Yes", "title": "T"}, True),
        ({"$ref": "#/components/schemas/A~1b%20c", "title": "T"}, {"type": "string", "title": "T"}),
        ({"prefixItems": [{"$ref": "#/components/list/0"}]}, {"prefixItems": [{"type": "null"}]}),
    ],
)
def test_schemas_become_json_schema(schema, expected):
    """What OpenAPI 3.0 says in its own words is said in JSON Schema's; the rest is dropped."""
    components = {"schemas": {"Yes": True, "A/b c": {"type": "string"}}, "list": [{"type": "null"}]}
    operation = sending({"properties": {"a": schema}})
    assert one(operation, components=components)["argSchema"]["properties"] == {"a": expected}


@given(json_schemas())
def test_any_schema_makes_a_tool_or_a_reason(schema):
    """Whatever somebody wrote into a schema: a tool that can be stored, or one line."""
    operation = sending(schema) | {
        "responses": {"200": {"content": {"application/json": {"schema": schema}}}}
    }
    imported = read_openapi(encode(small({"/x": {"post": jsonable(operation)}})))
    assert len(imported.tools) + len(imported.skipped) == 1
    check(imported)


def _places(node):
    if isinstance(node, dict):
        yield from ((node, key) for key in node)
        children = list(node.values())
    else:
        yield from ((node, index) for index in range(len(node)))
        children = node
    for child in children:
        if isinstance(child, dict | list):
            yield from _places(child)


@given(st.data())
def test_a_document_that_is_wrong_anywhere_is_answered(data):
    """With any part replaced by anything: a bundle that can be stored, or InvalidBundle."""
    said = deepcopy(data.draw(st.sampled_from([MODERN, yaml_reader.read_yaml(PETSTORE)])))
    node, key = data.draw(st.sampled_from(list(_places(said))))
    node[key] = data.draw(json_values())
    try:
        imported = read_openapi(json.dumps(said, allow_nan=True).encode())
    except InvalidBundle:
        return
    check(imported)


async def test_an_imported_tool_sends_what_the_document_describes():
    """Path, query, headers, body and key arrive at a real server; what is not given is not sent."""
    http = HttpClients(["127.0.0.1"])
    invocation = Invocation("1", "t", {}, Caller(door="python"), time.monotonic() + 20, Flag())
    answer = Reply({"value": 1}, headers={"Content-Type": "application/json"})
    with HttpStub({"/v1/trees/7": answer, "/v1/trees/8": answer}) as stub:
        body = tools(read(MODERN | {"servers": [{"url": f"{stub.url}/v1"}]}))["grow-tree"]
        tool = HttpTool(
            body["httpImpl"],
            arg_schema=body["argSchema"],
            limits=None,
            secrets={"BAUME_HTTP_TREES_SECOND_TOKEN": Secret(name="x", value="s3cret")},
            http=http,
            allowed_hosts=["127.0.0.1"],
            tokens=Tokens(),
        )
        args = {"id": 7, "id_query": 4, "name": "a/b", "tree_root": {"value": None}}
        assert await tool.run(args, invocation) == {"value": 1}
        assert await tool.run({"id": 8, "name": "c"}, invocation) == {"value": 1}
    await http.aclose()
    first, second = stub.requests
    assert (first.method, first.path, second.path) == ("POST", "/v1/trees/7?id=4", "/v1/trees/8")
    assert json.loads(first.body) == {"name": "a/b", "tree-root": {"value": None}}
    assert json.loads(second.body) == {"name": "c"}
    assert {name.lower(): text for name, text in first.headers.items()}["authorization"] == "Bearer s3cret"
