"""Import of OpenAPI documents: the tools that they become, and the operations that are skipped."""

import json
import time
from copy import deepcopy
from functools import cache

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles.openapi_documents import HOSTILE, MODERN, PETSTORE, doubling_schemas
from onetool.bundles.openapi import document, read_openapi
from onetool.bundles.openapi.schemas import MAX_DEPTH
from onetool.domain.bundles.bundle import InvalidBundle
from onetool.domain.bundles.identifiers import check_slug, check_version
from onetool.domain.bundles.schemas import BundleBody, ToolBody
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import CancelFlag, Invocation
from onetool.domain.http.templates import check_http_impl, secret_names
from onetool.domain.secrets.secret import Secret
from onetool.domain.text.json_text import encode, jsonable
from onetool.domain.tools.json_schema import compile_schema
from onetool.network.client import HttpClients
from onetool.settings.secrets import Secrets
from onetool.sources.http_tools import HttpToolRunner, TokenCache
from onetool.storage.memory.tokens import MemoryTokens
from onetool.testing import HttpStub, StubResponse
from support.hypothesis_schemas import json_schemas, json_values
from support.waiting import HANG_S


def read(data, **options):
    return read_openapi(orjson.dumps(data), **options)


@cache
def read_hostile():
    return read(HOSTILE)


def tools(report):
    return {tool.slug: tool.body for tool in report.tools}


def request(body):
    return body["httpImpl"]["request"]


def small(paths=None, **fields):
    """Return a valid document with these paths."""
    header = {"openapi": "3.1.0", "info": {"title": "Small", "version": "1"}}
    return {**header, "servers": [{"url": "https://small.test"}], "paths": paths or {}, **fields}


def import_one(operation, **fields):
    """Import a document with this operation. Return the body of its tool."""
    report = read(small({"/x": {"post": operation}}, **fields))
    assert report.skipped == []
    return report.tools[0].body


def with_body(schema, **fields):
    content = {"content": {"application/json": {"schema": schema}}}
    return {"requestBody": {"required": True, **content, **fields}}


def check(report):
    """Check a report against the rules for what a client sends."""
    BundleBody.model_validate(report.bundle)
    check_slug(report.bundle["slug"])
    slugs = [(check_slug(tool.slug), check_version(tool.version)) for tool in report.tools]
    assert len(set(slugs)) == len(slugs)
    for tool in report.tools:
        ToolBody.model_validate(tool.body)
        compile_schema(tool.body["argSchema"])
        compile_schema(tool.body.get("outputSchema", {}))
        assert len(encode(tool.body.get("outputSchema", {}))) <= 20_000
        check_http_impl(tool.body["httpImpl"], tool.body["argSchema"], report.hosts)
        assert set(secret_names(tool.body["httpImpl"], tool.body["argSchema"])) <= set(report.secrets)
    assert not report.bundle["isEnabled"]


@pytest.mark.parametrize("content", [PETSTORE, orjson.dumps(MODERN), orjson.dumps(HOSTILE)])
def test_every_tool_is_valid(content):
    report = read_openapi(content)
    assert report.tools
    check(report)


def test_openapi_3_0_document():
    """Each operation becomes a tool. The report lists the hosts and secrets to configure."""
    report = read_openapi(PETSTORE)
    assert report.bundle == {
        "slug": "pet-store",
        "displayName": "Pet Store",
        "description": "Pets and their people.",
        "isEnabled": False,
    }
    bodies = tools(report)
    assert list(bodies) == ["list-pets", "create-pet", "get-pets-pet-id", "list-pets-2", "patch-pets-pet-id"]
    assert {tool.version for tool in report.tools} == {"1.0.0"}
    assert report.hosts == ["eu.pets.test", "auth.test"]
    assert report.secrets == [
        "PET_STORE_TOKEN",
        "PET_STORE_OAUTH_CLIENT_ID",
        "PET_STORE_OAUTH_CLIENT_SECRET",
        "PET_STORE_KEY",
        "PET_STORE_LOGIN_USERNAME",
        "PET_STORE_LOGIN_PASSWORD",
    ]
    assert bodies["get-pets-pet-id"]["description"] == "Deprecated."


def test_parameters_become_arguments():
    """Names are converted to valid placeholders, and values are sent where the document says."""
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
            "ids": {"type": "string", "description": "Which ones. Separate several values with commas."},
            "piped": {"type": "string", "description": "Some. Separate several values with |."},
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
    assert body["tags"] == ["pets", "cats", "dogs"]


def test_properties_of_the_body_become_arguments():
    """Read-only properties are omitted."""
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


def test_body_with_clashing_names_becomes_one_argument():
    """It is sent with the media type of the document."""
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


def test_schema_of_the_first_successful_response_is_the_output_schema():
    """Write-only properties are omitted. A response that is not JSON has no schema."""
    bodies = tools(read_openapi(PETSTORE))
    assert bodies["list-pets"]["outputSchema"]["items"]["required"] == ["id", "name"]
    assert "secret" not in bodies["get-pets-pet-id"]["outputSchema"]["properties"]
    assert "auth" not in request(bodies["get-pets-pet-id"])
    assert "outputSchema" not in bodies["create-pet"]


def test_boolean_output_schema_is_ignored():
    response = {"content": {"application/json": {"schema": True}}}
    assert "outputSchema" not in import_one({"responses": {"200": response}})


def test_report_lists_skipped_operations_and_parameters():
    assert read_openapi(PETSTORE).skipped == [
        "GET /pets: imported without its optional parameter 'filter': objects are not supported there.",
        "GET /pets: imported without its optional parameter 'session': "
        "parameters in 'cookie' are not supported.",
        "DELETE /pets/{petId}: its security scheme 'cookie' (apiKey cookie) is not supported for tools; it "
        "requires 2 security schemes at once; only one is supported; its security scheme 'unknown' is not in "
        "the document; its security scheme 'person' (oauth2) is not supported for tools.",
        "TRACE /pets/{petId}: its method is not supported. "
        "Valid: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS.",
        "POST /upload: its body is multipart/form-data; only JSON is supported.",
        "POST /form: its body is application/x-www-form-urlencoded; only JSON is supported.",
        "POST /empty: its body is empty; only JSON is supported.",
        "GET /missing/{what}: its path contains {what}, which no parameter defines.",
    ]


def test_openapi_3_1_document():
    """Recursive references end in `{}`, `allOf` is flattened, equal names in two places become distinct."""
    report = read(MODERN)
    assert report.skipped == []
    assert (report.bundle["slug"], report.tools[0].version) == ("bäume-http-trees", "v1")
    bodies = tools(report)
    grow = bodies["grow-tree"]
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
    assert request(bodies["http-choose"])["urlTemplate"] == "http://other.test:81/x/choices"
    assert [request(bodies[slug])["body"] for slug in ("http-choose", "free", "closed")] == [
        "${body}",
        "${body}",
        {"a": "${a}"},
    ]


def test_every_security_scheme_has_its_own_secrets():
    report = read(MODERN)
    assert sorted(report.secrets) == [
        "BAUME_HTTP_TREES_API_KEY",
        "BAUME_HTTP_TREES_API_KEY_2",
        "BAUME_HTTP_TREES_FIRST_TOKEN",
        "BAUME_HTTP_TREES_SECOND_TOKEN",
    ]


def test_hostile_document_cannot_use_other_secrets():
    """A tool refers only to its own secrets, and no argument has the name of a secret."""
    report = read_hostile()
    assert report.secrets == ["GITHUB_TOKEN_TOKEN"]
    assert report.hosts == ["evil.test"]
    bodies = tools(report)
    ok = bodies["get-ok-github-token"]
    assert request(ok)["urlTemplate"] == (
        "https://evil.test/%24%7BGITHUB_TOKEN%7D/%24%24/ok/%24${GITHUB_TOKEN}"
    )
    assert secret_names(ok["httpImpl"], ok["argSchema"]) == []
    shadow = bodies["get-shadow"]
    assert request(shadow)["query"] == {"GITHUB_TOKEN_TOKEN": "${GITHUB_TOKEN_TOKEN_query}"}
    assert secret_names(shadow["httpImpl"], shadow["argSchema"]) == ["GITHUB_TOKEN_TOKEN"]
    assert request(bodies["post-body"])["body"] == "${body}"
    assert "headers" not in request(bodies["get-host"])
    assert bodies["post-loop"]["argSchema"]["properties"]["body"] == {}
    assert "outputSchema" not in bodies["get-output"]


@pytest.mark.guards("imported-archive")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/secret/", "its path contains {GITHUB_TOKEN}, which no parameter defines"),
        ("/query", "'${GITHUB_TOKEN}' is not a valid query name"),
        ("/header", "is not a valid header name"),
        ("/nowhere", "parameters in 'nowhere' are not supported"),
        ("/unnamed", "a parameter has no name"),
        ("/unused", "its path does not contain the path parameter 'x'"),
        ("/../up", "'.' or '..' in its path"),
        ("/a?b=c", "have no query and no fragment"),
        ("relative", "must start with /"),
        ("/remote", "only references within the document are supported"),
        ("/file", "only references within the document are supported"),
        ("/beside", "only references within the document are supported"),
        ("/number", "only references within the document are supported"),
        ("/gone", "which is not in the document"),
        ("/index", "which is not in the document"),
        ("/large", "larger than 200000 bytes"),
        ("/deep", "nested more than 64 levels deep"),
        ("/loops", "a chain of more than 20 references"),
        ("/odd", "'no schema' instead of a schema"),
        ("/wrong", "its schema is not valid"),
        ("/pattern", "its schema is not valid"),
        ("/words", "has 'words' instead of an object"),
        ("/templated", "a secret that its security scheme does not declare"),
        ("/line", "is invalid"),
        ("/token", "has a query or a fragment"),
        ("/scope", "a secret that its security scheme does not declare"),
        ("/server:", "user name or password"),
        ("/servers", "is not a host"),
        ("/variables", "'{x}' is not a host"),
        ("/ftp", "https://"),
        ("/fragment", "has a query or a fragment"),
        ("/bracket", "its server is invalid"),
        ("/item", "only references within the document are supported"),
        ("/none", "instead of an object"),
    ],
)
def test_invalid_operation_is_skipped_with_a_reason(path, reason):
    lines = [line for line in read_hostile().skipped if f" {path}" in f" {line}"]
    assert len(lines) == 1
    assert reason in lines[0]
    assert lines[0].endswith(".")
    assert not lines[0].endswith("..")


@pytest.mark.guards("imported-yaml")
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not an object"),
        (b"[]", "not an object"),
        (b"{", "not JSON"),
        (b"[" * 900 + b"]" * 900, "more than 200 levels deep"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a: [", "not valid YAML"),
        (b"a: 1\n---\nb: 2", r"a second document.* \(line 2\)"),
        (b"a: \x00", "not valid YAML"),
        (b"a: 0x_", "not a valid YAML value"),
        (b"a: 1\na: 2", r"duplicate key 'a' \(line 2\)"),
        (b"<<: [1]", "only maps can be merged"),
        (b"a: !!python/object:os.system x", r"unknown tag \(line 1\)"),
        (b"a: !!timestamp x", "unknown tag"),
        (b"a: *b", "alias without an anchor"),
        (b"a: &a {b: *a}", r"alias without an anchor \(line 1\)"),
        (b"a: &a 1\nb: &a {c: *a}", "alias without an anchor"),
        (b"- " * 200 + b"x", "nested more than 100 levels"),
        (b"swagger: '2.0'", "Convert it to OpenAPI 3"),
        (b"info: {}", "Unknown OpenAPI version 'None'. Valid: 3.0 and 3.1"),
        (b"openapi: 3.2.0", "Unknown OpenAPI version '3.2.0'"),
        (b"openapi: 3.10.0", "Unknown OpenAPI version '3.10.0'"),
        (b" " * (5 * 2**20 + 1), "the maximum is 5242880"),
        (b"openapi: 3.1.0", "names no server. Pass the URL of the API with --base-url"),
        (b"openapi: 3.1\nservers: [{url: /v1}]", "its server is '/v1'. Pass the URL .* --base-url"),
        (b"openapi: 3.0.1\nservers: [{url: 'https://u:p@x.test'}]", "user name or password"),
    ],
)
def test_invalid_document_is_rejected(content, problem):
    with pytest.raises(InvalidBundle, match=problem):
        read_openapi(content)


@pytest.mark.guards("imported-yaml")
def test_expansion_of_yaml_aliases_is_limited():
    """A small file with nested aliases is rejected; expanding it would not end."""
    nested = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )
    merged = "m0: &m0 {k: v}\n" + "".join(
        f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
    )
    long = "a: &a " + "x" * 100_000 + "\nb: [" + "*a, " * 10_000 + "]\n"
    for text in (nested, merged, long):
        with pytest.raises(InvalidBundle, match=f"more than {document.MAX_EXPANDED} bytes"):
            read_openapi(text.encode())


def test_yaml_aliases_are_supported():
    text = b"""
openapi: 3.1.0
servers: [{url: &here 'https://x.test'}]
info: {title: *here}
paths:
  /a: &item {get: {parameters: [{name: on, in: query, schema: {enum: [true, on]}}]}}
  /b: *item
  /c: {<<: [*item, {get: {}, delete: {}}], delete: {summary: Delete c.}}
"""
    bodies = tools(read_openapi(b"\xef\xbb\xbf" + text))
    assert list(bodies) == ["get-a", "get-b", "get-c", "delete-c"]
    assert bodies["get-c"]["argSchema"] == bodies["get-a"]["argSchema"]
    assert bodies["delete-c"]["description"] == "Delete c."
    assert bodies["get-b"]["argSchema"]["properties"] == {"on": {"enum": [True, "on"]}}


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
def test_server_url(servers, base_url, url):
    """The first absolute server is used. A relative one is joined with the base URL of the user."""
    report = read(small({"/x": {"get": {}}}, servers=servers), base_url=base_url)
    assert request(report.tools[0].body)["urlTemplate"] == url


def test_invalid_base_url_is_rejected():
    with pytest.raises(InvalidBundle, match="does not start with http:// or https://"):
        read(small(servers=[]), base_url="api.test")


def test_too_many_operations_are_rejected():
    with pytest.raises(InvalidBundle, match="more than 10000 operations"):
        read(small({f"/{number}": {"trace": {}} for number in range(10_001)}))
    read(small({f"/{number}": {"trace": {}} for number in range(10_000)}))


@pytest.mark.guards("imported-archive")
def test_total_work_for_references_is_limited(monkeypatch):
    """Many references to one large part are rejected."""
    monkeypatch.setattr(document, "MAX_WORK", 3_000_000)
    schema = {"$ref": "#/components/schemas/L15"}
    paths = {f"/{number}": {"post": with_body(schema)} for number in range(5_000)}
    with pytest.raises(InvalidBundle, match="more than 3000000 bytes"):
        read(small(paths, components={"schemas": doubling_schemas(16)}))
    parameter = {"name": "q", "in": "query", "description": "x" * 100_000}
    paths = {f"/{number}": {"$ref": "#/components/item"} for number in range(5_000)}
    with pytest.raises(InvalidBundle, match="more than 3000000 bytes"):
        read(small(paths, components={"item": {"get": {"parameters": [parameter]}}}))


def test_depth_of_a_schema_is_limited():
    """A schema of the maximum depth is imported."""

    def nested(depth):
        schema = {"type": "string"}
        for _ in range(depth):
            schema = {"type": "array", "items": schema}
        return with_body(schema)

    report = read(small({"/deep": {"post": nested(MAX_DEPTH)}, "/deeper": {"post": nested(MAX_DEPTH + 1)}}))
    assert [request(tool.body)["urlTemplate"] for tool in report.tools] == ["https://small.test/deep"]
    assert [line.partition(":")[0] for line in report.skipped] == ["POST /deeper"]


def test_size_of_a_tool_is_limited():
    """So is the number of its arguments."""
    long = {"parameters": [{"name": "q", "in": "query", "description": "x" * 300_000}]}
    many = {
        "parameters": [{"name": f"q{n}", "in": "query", "required": True, "schema": {}} for n in range(1_001)]
    }
    report = read(small({"/long": {"get": long}, "/many": {"get": many}}))
    assert report.tools == []
    assert [line.partition(":")[0] for line in report.skipped] == ["GET /long", "GET /many"]
    assert "the maximum is 200000" in report.skipped[0]
    assert "more than 1000 arguments" in report.skipped[1]


def test_long_texts_are_truncated():
    """Tags that are too long are dropped."""
    body = import_one({"summary": "s" * 300, "description": "d" * 20_000, "tags": ["t" * 201, "ok"]})
    assert (len(body["displayName"]), len(body["description"]), body["tags"]) == (200, 10_000, ["ok"])


def test_operation_that_is_not_a_valid_tool_is_skipped():
    report = read(small({"/" + "x" * 11_000: {"get": {}}}))
    assert report.tools == []
    assert "it is not a valid tool: String should have at most 10000 characters" in report.skipped[0]


def test_equal_names_get_numbers():
    """The numbered names stay within the maximum length."""
    paths = {f"/{n}": {"get": {"operationId": "x" * 70}} for n in range(11)}
    slugs = [tool.slug for tool in read(small(paths)).tools]
    assert slugs[0] == "x" * 64
    assert slugs[1] == "x" * 62 + "-2"
    assert slugs[10] == "x" * 61 + "-11"
    names = ["a-b", "a.b", "a_b", "2nd", "steps"]
    body = import_one({"parameters": [{"name": name, "in": "query", "schema": True} for name in names]})
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
def test_only_plain_objects_are_flattened(schema, expected):
    assert request(import_one(with_body(schema)))["body"] == expected


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
    """Keywords of OpenAPI 3.0 are converted, and unknown keywords are dropped."""
    components = {"schemas": {"Yes": True, "A/b c": {"type": "string"}}, "list": [{"type": "null"}]}
    operation = with_body({"properties": {"a": schema}})
    assert import_one(operation, components=components)["argSchema"]["properties"] == {"a": expected}


@given(json_schemas())
def test_any_schema_gives_a_valid_tool_or_a_reason(schema):
    operation = with_body(schema) | {
        "responses": {"200": {"content": {"application/json": {"schema": schema}}}}
    }
    report = read_openapi(encode(small({"/x": {"post": jsonable(operation)}})))
    assert len(report.tools) + len(report.skipped) == 1
    check(report)


def _positions(node):
    if isinstance(node, dict):
        yield from ((node, key) for key in node)
        children = list(node.values())
    else:
        yield from ((node, index) for index in range(len(node)))
        children = node
    for child in children:
        if isinstance(child, dict | list):
            yield from _positions(child)


@given(st.data())
def test_document_with_any_part_replaced_is_imported_or_rejected(data):
    """It gives a valid bundle or InvalidBundle, and no other exception."""
    document_data = deepcopy(data.draw(st.sampled_from([MODERN, document.read_document(PETSTORE).root])))
    node, key = data.draw(st.sampled_from(list(_positions(document_data))))
    node[key] = data.draw(json_values())
    try:
        report = read_openapi(json.dumps(document_data, allow_nan=True).encode())
    except InvalidBundle:
        return
    check(report)


async def test_imported_tool_sends_what_the_document_describes():
    """Arguments that are not passed are not sent."""
    http = HttpClients(["127.0.0.1"])
    invocation = Invocation("1", "t", {}, Caller(interface="python"), time.monotonic() + HANG_S, CancelFlag())
    response = StubResponse({"value": 1}, headers={"Content-Type": "application/json"})
    with HttpStub({"/v1/trees/7": response, "/v1/trees/8": response}) as stub:
        body = tools(read(MODERN | {"servers": [{"url": f"{stub.url}/v1"}]}))["grow-tree"]
        tool = HttpToolRunner(
            body["httpImpl"],
            arg_schema=body["argSchema"],
            limits=None,
            secrets=Secrets({"BAUME_HTTP_TREES_SECOND_TOKEN": Secret(name="x", value="s3cret")}),
            http=http,
            allowed_hosts=["127.0.0.1"],
            tokens=TokenCache(MemoryTokens()),
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
