"""HTTP tool definitions: validation, and substitution of placeholders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain.bundles.bundle import InvalidBundle
from onetool.domain.http.placeholders import (
    ABSENT,
    InvalidValue,
    MalformedTemplate,
    fill_header,
    fill_path,
    fill_query,
    fill_text,
    fill_value,
    parse_template,
    placeholder_names,
)
from onetool.domain.http.templates import argument_names, check_http_impl, requests_of, secret_names
from onetool.domain.http.urls import InvalidUrl, is_listed, is_listed_exactly, parse_url

HOSTS = ["api.test", "*.wild.test", "127.0.0.1"]
SCHEMA = {"type": "object", "properties": {"id": {}, "user": {"type": "object"}}}


def impl(url="https://api.test/x", **request):
    return {"request": {"method": "GET", "urlTemplate": url, **request}}


def rejection(definition, schema=SCHEMA, hosts=HOSTS):
    with pytest.raises(InvalidBundle) as caught:
        check_http_impl(definition, schema, hosts)
    return str(caught.value)


@pytest.mark.spec("BND-12", "BND-17", "BND-18", "BND-19")
@pytest.mark.parametrize(
    "definition",
    [
        impl(),
        impl("http://api.test"),
        impl("https://API.test.:8443/${id}/ü?q=${KEY}&all"),
        impl("https://deep.in.wild.test/$${id}"),
        impl("http://127.0.0.1:1/${user.name}"),
        impl(headers={"Content-Type": "application/json"}, body="${id}"),
        impl(headers={"Content-Type": "text/xml"}, body="<a>${id}</a>"),
        impl(auth={"type": "apiKey", "in": "header", "name": "X-Key", "value": "${K}"}),
        impl(auth={"type": "apiKey", "in": "query", "name": "the key", "value": "${K}"}),
        impl(auth={"type": "hmac", "secret": "${K}", "payload": "${method}${body}"}),
        impl(auth={"type": "hmac", "secret": "${K}", "header": "S", "timestampHeader": "T"}),
        impl(
            auth={
                "type": "oauth2",
                "tokenUrl": "https://api.test/t",
                "clientId": "a",
                "clientSecret": "${K}",
            }
        ),
        {"request": None, "requests": [impl()["request"], impl("https://api.test/${steps.0.id}")["request"]]},
    ],
)
def test_valid_definitions_are_accepted(definition):
    """Hosts match in any case and with any port; placeholders are allowed outside the host and port."""
    check_http_impl(definition, SCHEMA, HOSTS)


INVALID_URLS = {
    "ftp://api.test/": "must start with http:// or https://",
    "//api.test/": "must start with http:// or https://",
    "HTTPX://api.test/": "must start with http:// or https://",
    "HTTPS://api.test/": "must start with http:// or https://",
    " https://api.test/": "must start with http:// or https://",
    "${SCHEME}://api.test/": "must start with http:// or https://",
    "https://${id}/": "has a placeholder in '${id}'",
    "https://${id}.api.test/": "has a placeholder",
    "https://api.test:${id}/": "has a placeholder",
    "https://${id}@api.test/": "has a placeholder",
    "https://me:word@api.test/": "user name or password",
    "https://api.test@evil.test/": "user name or password",
    "https://evil.test/": "'evil.test', which is not in allowedHosts. Add it to this setting. Listed",
    "https://api.test.evil.test/": "not in allowedHosts",
    "https://wild.test/": "not in allowedHosts",
    "https://xwild.test/": "not in allowedHosts",
    "https://api.test\\@evil.test/": "user name or password",
    "https://api.test\\.evil.test/": "is not a host",
    "https://api.test/a\\b": "contains '\\\\'",
    "https://api.test/a b": "contains ' '",
    "https://api.test/a\nb": "contains '\\n'",
    "https:///path": "is not a host",
    "https://api.test:/": "is not a host",
    "https://api.test:0/": "port 0 is out of range. Valid: 1 to 65535",
    "https://api.test:70000/": "port 70000",
    "https://api..test/": "is not a host",
    "https://-api.test/": "is not a host",
    f"https://{'a' * 64}.test/": "is not a host",
    f"https://{'a.' * 130}test/": "is not a host",
    "https://127.1/": "is not an IP address in standard notation. Example: 127.0.0.1",
    "https://0x7f000001/": "is not an IP address",
    "https://2130706433/": "is not an IP address",
    "https://[::1%25eth0]/": "is not a host",
    "https://[127.0.0.1]/": "is not an IP address in standard notation. Example: [::1]",
    "https://api.test/#part": "fragment '#part', which is never sent",
    "https://api.test/../x": "'.' or '..'",
    "https://api.test/%2E%2e/x": "'.' or '..'",
    "https://api.test/${id": "is not closed",
    "https://api.test/${}": "is not a placeholder",
    "https://api.test/${user-id}": "is not a placeholder",
    "https://api.test/${a b}": "contains ' '",
    "https://api.test/${1}": "is not a placeholder",
    "https://api.test/${steps.0.id}": "No request runs before the first",
    "https://api.test/${steps.x}": "does not refer to a response",
    "https://api.test/${steps}": "does not refer to a response",
}


@pytest.mark.guards("model-http")
@pytest.mark.spec("BND-17", "BND-18", "BND-19")
@pytest.mark.parametrize("url", INVALID_URLS)
def test_invalid_urls_are_rejected(url):
    """Other schemes, hosts that are not listed or not literal, and URLs that parsers read differently."""
    assert INVALID_URLS[url] in rejection(impl(url))


INVALID_DEFINITIONS = [
    (impl(headers={"X Y": "a"}), "header name 'X Y' is invalid"),
    (impl(headers={"X-${id}": "a"}), "is invalid"),
    (impl(headers={"": "a"}), "is invalid"),
    (impl(headers={"Host": "a"}), "set by OneTool"),
    (impl(headers={"Content-length": "1"}), "set by OneTool"),
    (impl(headers={"Proxy-Authorization": "a"}), "set by OneTool"),
    (impl(headers={"X-A": "1", "x-a": "2"}), "defined twice"),
    (impl(headers={"X": "a\r\nY: b"}), "contains '\\r'"),
    (impl(headers={"X": "a\0"}), "contains '\\x00'"),
    (impl(headers={"X": "${"}), "is not closed"),
    (impl(body={"a": ["${x y}"]}), "is not a placeholder"),
    (impl(headers={"content-type": "application/json"}, body='{"a": "${id}"}'), "Write it as JSON"),
    (impl(auth={"type": "apiKey", "in": "header", "name": "a b", "value": "x"}), "is invalid"),
    (impl(auth={"type": "apiKey", "name": "Host", "value": "x"}), "set by OneTool"),
    (impl(auth={"type": "hmac", "secret": "x", "header": "a:b"}), "is invalid"),
    (impl(auth={"type": "hmac", "secret": "x", "timestampHeader": "a:b"}), "is invalid"),
    (impl(auth={"type": "oauth2", "tokenUrl": "https://evil.test/"}), "tokenUrl has the host 'evil.test'"),
    (impl(auth={"type": "oauth2", "tokenUrl": "https://api.test/"}), "requires clientId"),
    (
        impl(auth={"type": "oauth2", "grant": "refresh_token", "tokenUrl": "https://api.test/"}),
        "requires refreshToken",
    ),
]


@pytest.mark.parametrize(("definition", "problem"), INVALID_DEFINITIONS)
def test_invalid_headers_bodies_and_auth_are_rejected(definition, problem):
    assert problem in rejection(definition)


def test_request_can_refer_only_to_earlier_responses():
    """The message names the request."""
    requests = [impl()["request"], impl("https://api.test/${steps.1.id}")["request"]]
    problem = "requests[1]: ${steps.1.id} refers to a request that has not run yet. Earlier requests: 0 to 0."
    assert rejection({"requests": requests}) == problem
    assert rejection({"requests": [impl("https://api.test/${")["request"]]}).startswith("requests[0]: ")
    assert "Listed: none." in rejection(impl(), hosts=[])
    assert requests_of({}) == []
    check_http_impl(impl("https://api.test/${steps}"), {"properties": {"steps": {}}}, HOSTS)


@pytest.mark.spec("BND-18")
def test_placeholders_are_arguments_or_secrets():
    """Names declared in argSchema are arguments; the others are secrets, except earlier responses."""
    definition = impl(
        "https://api.test/${id}?k=${QUERY_KEY}",
        query={"${NAME}": "${user.name}"},
        headers={"X": "a ${HEADER_KEY}"},
        body=[{"${BODY_NAME}": "${steps.0.id} $${NOT}"}, 5],
        auth={"type": "hmac", "secret": "${SIGN}", "payload": "${method} ${body} ${SALT}"},
    )
    assert secret_names(definition, SCHEMA) == [
        "BODY_NAME",
        "HEADER_KEY",
        "NAME",
        "QUERY_KEY",
        "SALT",
        "SIGN",
    ]
    assert argument_names(definition, SCHEMA) == ["id", "user.name"]
    assert secret_names(impl("https://api.test/${id}"), {}) == ["id"]


def test_template_is_split_into_literals_and_placeholders():
    """`$${` is a literal `${`, and a lone `$` is a literal."""
    assert parse_template("a$b $${c} ${d.0}$") == ("a$b ", "${", "c} ", ("d.0",), "$")
    assert list(placeholder_names({"a": [None, "${x}"], "${y}": 1})) == ["x", "y"]
    with pytest.raises(MalformedTemplate):
        parse_template("${a")


VALUES = {"n": 5, "yes": True, "text": "a/b?c#d%e", "list": [1, "ü"], "map": {"a": None}, "half": "\ud800"}


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("${n}", 5),
        ("${list}", [1, "ü"]),
        ("n=${n} ${yes} ${list} ${map}", 'n=5 true [1,"ü"] {"a":null}'),
        ({"a": "${n}", "b": "${none}", "c-${n}": {"d": "${none}"}}, {"a": 5, "c-5": {}}),
        (["${n}", 1, None], [5, 1, None]),
        ("${none}", ABSENT),
        ("$${n}", "${n}"),
    ],
)
def test_sole_placeholder_keeps_the_type_of_its_value(template, filled):
    """In a longer string it becomes text; object members without a value are dropped."""
    assert fill_value(template, VALUES.get) == filled
    assert repr(ABSENT) == "ABSENT"


@pytest.mark.parametrize("template", ["a ${none}", ["${none}"], {"${none}": 1}, {"a": ["${none}"]}])
def test_missing_value_is_an_error_except_as_a_whole_member(template):
    with pytest.raises(InvalidValue, match="'none' has no value"):
        fill_value(template, VALUES.get)


def test_lone_surrogate_is_rejected():
    with pytest.raises(InvalidValue, match="'half' contains a lone surrogate"):
        fill_text("a${half}", VALUES.get)


def test_values_in_urls_are_percent_encoded():
    """Reserved characters in the template itself are not encoded."""
    assert fill_path("/x%20y/ü/${text}", VALUES.get) == "/x%20y/%C3%BC/a%2Fb%3Fc%23d%25e"
    assert fill_query("a=${text}&b=${none}&c&d=${n}x", VALUES.get) == "a=a%2Fb%3Fc%23d%25e&c&d=5x"


@pytest.mark.guards("model-http")
@pytest.mark.parametrize("value", ["", ".", "..", "../x", "x/..", "..\\x", "a/./b"])
def test_value_that_makes_a_segment_empty_or_dotted_is_rejected(value):
    with pytest.raises(InvalidValue, match="path of the URL"):
        fill_path("/a/${v}/b", {"v": value}.get)


def test_dots_of_template_and_value_are_checked_together():
    with pytest.raises(InvalidValue):
        fill_path("/a/%2e${v}", {"v": "."}.get)
    assert fill_path("/a/v${v}", {"v": ".."}.get) == "/a/v.."


@pytest.mark.guards("model-http")
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_value_leaves_its_path_segment(value):
    try:
        url = parse_url("http://api.test" + fill_path("/a/${v}/b", {"v": value}.get))
    except InvalidValue:
        return
    assert (url.host, url.query, url.path.count("/")) == ("api.test", None, 3)


@pytest.mark.guards("model-http")
def test_header_values_are_substituted_and_trimmed():
    """A missing sole value drops the header, and control characters are rejected."""
    assert fill_header("Bearer ${text}", VALUES.get) == "Bearer a/b?c#d%e"
    assert fill_header("${v}", {"v": " x\ty "}.get) == "x\ty"
    assert fill_header("${none}", VALUES.get) is None
    for char in "\r\n\0\x7f\x1b":
        with pytest.raises(InvalidValue, match="not allowed in a header"):
            fill_header("a ${v}", {"v": f"b{char}c"}.get)
    with pytest.raises(InvalidValue, match="has no value"):
        fill_header("a ${none}", VALUES.get)


def test_urls_are_normalized():
    """Hosts are in lower case without a final dot, addresses compressed, and default ports omitted."""
    assert str(parse_url("http://API.test.:80?x=1#part")) == "http://api.test/?x=1"
    assert str(parse_url("https://[0:0:0:0:0:0:0:1]:80/a")) == "https://[::1]:80/a"
    for invalid in ("http://api.test/\x7f", "http://api.test/ü", "http://api.test/\\", "http:/api.test"):
        with pytest.raises(InvalidUrl):
            parse_url(invalid)


def test_hosts_are_listed_by_name_or_pattern():
    """`*` matches any host, `*.domain` any subdomain; international names are compared in ASCII form."""
    assert is_listed("any.where", ["*"])
    assert not is_listed_exactly("any.where", ["*"])
    assert is_listed_exactly("xn--bcher-kva.test", ["BÜCHER.test"])
    assert is_listed_exactly("::1", ["[0::1]"])
    assert not is_listed("x", ["ü" * 70, "[a-z]", "x*"])
