"""HTTP definitions: what they may say, and how their placeholders are filled in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain.bundle import InvalidBundle
from onetool.domain.hosts import BadUrl, is_listed, is_listed_exactly, parse_url
from onetool.domain.placeholders import (
    ABSENT,
    BadValue,
    Malformed,
    fill_header,
    fill_path,
    fill_query,
    fill_text,
    fill_value,
    names_in,
    parse,
)
from onetool.domain.templates import argument_names, check_http_impl, requests_of, secret_names

HOSTS = ["api.test", "*.wild.test", "127.0.0.1"]
SCHEMA = {"type": "object", "properties": {"id": {}, "user": {"type": "object"}}}


def one(url="https://api.test/x", **request):
    return {"request": {"method": "GET", "urlTemplate": url, **request}}


def refused(impl, schema=SCHEMA, hosts=HOSTS):
    with pytest.raises(InvalidBundle) as caught:
        check_http_impl(impl, schema, hosts)
    return str(caught.value)


@pytest.mark.spec("BND-12", "BND-17", "BND-18", "BND-19")
@pytest.mark.parametrize(
    "impl",
    [
        one(),
        one("http://api.test"),
        one("https://API.test.:8443/${id}/ü?q=${KEY}&all"),
        one("https://deep.in.wild.test/$${id}"),
        one("http://127.0.0.1:1/${user.name}"),
        one(headers={"Content-Type": "application/json"}, body="${id}"),
        one(headers={"Content-Type": "text/xml"}, body="<a>${id}</a>"),
        one(auth={"type": "apiKey", "in": "header", "name": "X-Key", "value": "${K}"}),
        one(auth={"type": "apiKey", "in": "query", "name": "the key", "value": "${K}"}),
        one(auth={"type": "hmac", "secret": "${K}", "payload": "${method}${body}"}),
        one(auth={"type": "hmac", "secret": "${K}", "header": "S", "timestampHeader": "T"}),
        one(
            auth={
                "type": "oauth2",
                "tokenUrl": "https://api.test/t",
                "clientId": "a",
                "clientSecret": "${K}",
            }
        ),
        {"request": None, "requests": [one()["request"], one("https://api.test/${steps.0.id}")["request"]]},
    ],
)
def test_good_definitions(impl):
    """Listed hosts in any case and with any port; placeholders everywhere else."""
    check_http_impl(impl, SCHEMA, HOSTS)


URLS = {
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
    "https://evil.test/": "'evil.test', which is not in allowedHosts. Add it there. Listed: api.test",
    "https://api.test.evil.test/": "not in allowedHosts",
    "https://wild.test/": "not in allowedHosts",
    "https://xwild.test/": "not in allowedHosts",
    "https://api.test\\@evil.test/": "user name or password",
    "https://api.test\\.evil.test/": "is not a host",
    "https://api.test/a\\b": "holds '\\\\'",
    "https://api.test/a b": "holds ' '",
    "https://api.test/a\nb": "holds '\\n'",
    "https:///path": "is not a host",
    "https://api.test:/": "is not a host",
    "https://api.test:0/": "port 0 does not exist. Valid: 1 to 65535",
    "https://api.test:70000/": "port 70000",
    "https://api..test/": "is not a host",
    "https://-api.test/": "is not a host",
    f"https://{'a' * 64}.test/": "is not a host",
    f"https://{'a.' * 130}test/": "is not a host",
    "https://127.1/": "is not an address in its full form. Example: 127.0.0.1",
    "https://0x7f000001/": "is not an address",
    "https://2130706433/": "is not an address",
    "https://[::1%25eth0]/": "is not a host",
    "https://[127.0.0.1]/": "is not an address in its full form. Example: [::1]",
    "https://api.test/#part": "'#part', which no server is sent",
    "https://api.test/../x": "'.' or '..'",
    "https://api.test/%2E%2e/x": "'.' or '..'",
    "https://api.test/${id": "has no end",
    "https://api.test/${}": "is no placeholder",
    "https://api.test/${user-id}": "is no placeholder",
    "https://api.test/${a b}": "holds ' '",
    "https://api.test/${1}": "is no placeholder",
    "https://api.test/${steps.0.id}": "There is none before the first",
    "https://api.test/${steps.x}": "names no answer",
    "https://api.test/${steps}": "names no answer",
}


@pytest.mark.spec("BND-17", "BND-18", "BND-19")
@pytest.mark.parametrize("url", URLS)
def test_urls_that_are_refused(url):
    """Another scheme, a host that is not listed or not literal, and all that readers take differently."""
    assert URLS[url] in refused(one(url))


OTHERS = [
    (one(headers={"X Y": "a"}), "header name 'X Y' cannot be sent"),
    (one(headers={"X-${id}": "a"}), "cannot be sent"),
    (one(headers={"": "a"}), "cannot be sent"),
    (one(headers={"Host": "a"}), "written by OneTool"),
    (one(headers={"Content-length": "1"}), "written by OneTool"),
    (one(headers={"Proxy-Authorization": "a"}), "written by OneTool"),
    (one(headers={"X-A": "1", "x-a": "2"}), "given twice"),
    (one(headers={"X": "a\r\nY: b"}), "holds '\\r'"),
    (one(headers={"X": "a\0"}), "holds '\\x00'"),
    (one(headers={"X": "${"}), "has no end"),
    (one(body={"a": ["${x y}"]}), "is no placeholder"),
    (one(headers={"content-type": "application/json"}, body='{"a": "${id}"}'), "Write it as JSON"),
    (one(auth={"type": "apiKey", "in": "header", "name": "a b", "value": "x"}), "cannot be sent"),
    (one(auth={"type": "apiKey", "name": "Host", "value": "x"}), "written by OneTool"),
    (one(auth={"type": "hmac", "secret": "x", "header": "a:b"}), "cannot be sent"),
    (one(auth={"type": "hmac", "secret": "x", "timestampHeader": "a:b"}), "cannot be sent"),
    (one(auth={"type": "oauth2", "tokenUrl": "https://evil.test/"}), "tokenUrl leads to 'evil.test'"),
    (one(auth={"type": "oauth2", "tokenUrl": "https://api.test/"}), "needs clientId"),
    (
        one(auth={"type": "oauth2", "grant": "refresh_token", "tokenUrl": "https://api.test/"}),
        "needs refreshToken",
    ),
]


@pytest.mark.parametrize(("impl", "problem"), OTHERS)
def test_other_parts_that_are_refused(impl, problem):
    """Headers that cannot be sent, texts where JSON belongs, auth that would lead elsewhere."""
    assert problem in refused(impl)


def test_an_answer_is_used_only_after_it_came():
    """A request names earlier requests, and the message names the place."""
    both = [one()["request"], one("https://api.test/${steps.1.id}")["request"]]
    why = "requests[1]: ${steps.1.id} names a request that has not run by then. Earlier ones: 0 to 0."
    assert refused({"requests": both}) == why
    assert refused({"requests": [one("https://api.test/${")["request"]]}).startswith("requests[0]: ")
    assert "Listed: none." in refused(one(), hosts=[])
    assert requests_of({}) == []
    check_http_impl(one("https://api.test/${steps}"), {"properties": {"steps": {}}}, HOSTS)


@pytest.mark.spec("BND-18")
def test_names_are_arguments_or_secrets():
    """What argSchema declares is an argument, never a secret; the rest are secrets, save earlier answers."""
    impl = one(
        "https://api.test/${id}?k=${QUERY_KEY}",
        query={"${NAME}": "${user.name}"},
        headers={"X": "a ${HEADER_KEY}"},
        body=[{"${BODY_NAME}": "${steps.0.id} $${NOT}"}, 5],
        auth={"type": "hmac", "secret": "${SIGN}", "payload": "${method} ${body} ${SALT}"},
    )
    assert secret_names(impl, SCHEMA) == [
        "BODY_NAME",
        "HEADER_KEY",
        "NAME",
        "QUERY_KEY",
        "SALT",
        "SIGN",
    ]
    assert argument_names(impl, SCHEMA) == ["id", "user.name"]
    assert secret_names(one("https://api.test/${id}"), {}) == ["id"]


def test_placeholders_are_found():
    """`$${` is a literal, a lone `$` is nothing special."""
    assert parse("a$b $${c} ${d.0}$") == ("a$b ", "${", "c} ", ("d.0",), "$")
    assert list(names_in({"a": [None, "${x}"], "${y}": 1})) == ["x", "y"]
    with pytest.raises(Malformed):
        parse("${a")


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
def test_a_whole_value_keeps_its_type(template, filled):
    """Inside a longer text it is text; a member without a value is left out."""
    assert fill_value(template, VALUES.get) == filled
    assert repr(ABSENT) == "ABSENT"


@pytest.mark.parametrize("template", ["a ${none}", ["${none}"], {"${none}": 1}, {"a": ["${none}"]}])
def test_a_missing_value_is_never_empty_text(template):
    """Anywhere but as a whole member it is a refusal."""
    with pytest.raises(BadValue, match="'none' has no value"):
        fill_value(template, VALUES.get)


def test_half_a_character_is_refused():
    """What UTF-8 cannot write is not sent."""
    with pytest.raises(BadValue, match="'half' holds half of a character"):
        fill_text("a${half}", VALUES.get)


def test_a_value_stays_within_its_part_of_the_url():
    """Slashes, question marks and percent signs of a value are encoded; the author's own are not."""
    assert fill_path("/x%20y/ü/${text}", VALUES.get) == "/x%20y/%C3%BC/a%2Fb%3Fc%23d%25e"
    assert fill_query("a=${text}&b=${none}&c&d=${n}x", VALUES.get) == "a=a%2Fb%3Fc%23d%25e&c&d=5x"


@pytest.mark.parametrize("value", ["", ".", "..", "../x", "x/..", "..\\x", "a/./b"])
def test_no_value_moves_the_path(value):
    """An empty or dotted segment would name another resource."""
    with pytest.raises(BadValue, match="path of the URL"):
        fill_path("/a/${v}/b", {"v": value}.get)


def test_dots_that_meet_are_seen():
    """A dot of the author and a dot of the value are two dots."""
    with pytest.raises(BadValue):
        fill_path("/a/%2e${v}", {"v": "."}.get)
    assert fill_path("/a/v${v}", {"v": ".."}.get) == "/a/v.."


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_value_escapes_its_segment(value):
    """Whatever it is, the URL has the same host, the same number of segments, and no query."""
    try:
        url = parse_url("http://api.test" + fill_path("/a/${v}/b", {"v": value}.get))
    except BadValue:
        return
    assert (url.host, url.query, url.path.count("/")) == ("api.test", None, 3)


def test_header_values():
    """Filled in and trimmed; left out without a value; refused where they would begin another header."""
    assert fill_header("Bearer ${text}", VALUES.get) == "Bearer a/b?c#d%e"
    assert fill_header("${v}", {"v": " x\ty "}.get) == "x\ty"
    assert fill_header("${none}", VALUES.get) is None
    for odd in "\r\n\0\x7f\x1b":
        with pytest.raises(BadValue, match="cannot stand in a header"):
            fill_header("a ${v}", {"v": f"b{odd}c"}.get)
    with pytest.raises(BadValue, match="has no value"):
        fill_header("a ${none}", VALUES.get)


def test_urls_have_one_form():
    """The host in lower case without its last dot, addresses in their short form, default ports left out."""
    assert str(parse_url("http://API.test.:80?x=1#part")) == "http://api.test/?x=1"
    assert str(parse_url("https://[0:0:0:0:0:0:0:1]:80/a")) == "https://[::1]:80/a"
    for odd in ("http://api.test/\x7f", "http://api.test/ü", "http://api.test/\\", "http:/api.test"):
        with pytest.raises(BadUrl):
            parse_url(odd)


def test_hosts_are_listed_exactly_or_by_pattern():
    """`*` is any host, `*.domain` any below it; names of other scripts are compared in their ASCII form."""
    assert is_listed("any.where", ["*"])
    assert not is_listed_exactly("any.where", ["*"])
    assert is_listed_exactly("xn--bcher-kva.test", ["BÜCHER.test"])
    assert is_listed_exactly("::1", ["[0::1]"])
    assert not is_listed("x", ["ü" * 70, "[a-z]", "x*"])
