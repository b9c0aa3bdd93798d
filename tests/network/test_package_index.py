"""A wheel from a package index, as pip and uv are told where it is."""

import base64

import pytest

from file_server import serving_files
from onetool.network import package_index
from onetool.network.package_index import PYPI, WheelNotFetched, fetch_wheel, index_urls

WHEEL = "one_thing-1.0-py3-none-any.whl"
PAGE = (
    f'<a>x</a><a name="y" href="one_thing-1.0.tar.gz">a</a><a href="../../f/{WHEEL}#sha256=0">b</a>'.encode()
)


def ignore(done, total):
    """Nobody looks."""


@pytest.mark.parametrize(
    ("env", "urls"),
    [
        ({}, [PYPI]),
        ({"PIP_INDEX_URL": "https://a/simple/", "UV_INDEX_URL": "https://b"}, ["https://a/simple"]),
        ({"UV_DEFAULT_INDEX": "https://b", "UV_INDEX_URL": "https://c"}, ["https://b"]),
        ({"PIP_EXTRA_INDEX_URL": "https://c/ file:///d\nhttp://e"}, [PYPI, "https://c", "http://e"]),
        ({"PIP_INDEX_URL": "file:///d"}, []),
    ],
)
def test_indexes_are_those_of_the_machine(env, urls):
    """As pip and uv read them; what is no HTTP is left to them."""
    assert index_urls(env) == urls


def test_a_wheel_is_fetched_whole(tmp_path):
    """The page names it, relative links hold, progress is told."""
    told = []
    with serving_files({"/simple/one-thing/": PAGE, f"/f/{WHEEL}": b"w" * 200_000}) as (url, asked):
        fetch_wheel([f"{url}/simple"], "one-thing", WHEEL, tmp_path / "w", lambda *what: told.append(what))
    assert (tmp_path / "w").read_bytes() == b"w" * 200_000
    assert told[-1] == (200_000, 200_000)
    assert [path for path, _ in asked] == ["/simple/one-thing/", f"/f/{WHEEL}"]


def test_the_next_index_is_asked(tmp_path):
    """One that lacks it, or cannot be reached, is not the end."""
    with serving_files(
        {"/a/one-thing/": b"<a href='other'>", "/b/one-thing/": PAGE, f"/f/{WHEEL}": b"w"}
    ) as (url, _):
        indexes = ["http://127.0.0.1:1", f"{url}/none", f"{url}/a", f"{url}/b"]
        fetch_wheel(indexes, "one-thing", WHEEL, tmp_path / "w", ignore)
    assert (tmp_path / "w").read_bytes() == b"w"


def test_what_each_index_said_is_told_without_passwords(tmp_path):
    """The host, never the URL."""
    with serving_files({"/a/one-thing/": b"empty"}) as (url, _):
        private = url.replace("http://", "http://me:hunter2@")
        with pytest.raises(WheelNotFetched) as raised:
            fetch_wheel(
                [f"{private}/none", f"{private}/a", "http://me:hunter2"],
                "one-thing",
                WHEEL,
                tmp_path / "w",
                ignore,
            )
    text = str(raised.value)
    assert "127.0.0.1: status 404; 127.0.0.1: it is not listed there.; a URL that cannot be read" in text
    assert "hunter2" not in text
    with pytest.raises(WheelNotFetched, match="No index is reached over HTTP"):
        fetch_wheel([], "one-thing", WHEEL, tmp_path / "w", ignore)


def test_a_password_goes_to_its_own_server_only(tmp_path):
    """Links to the same server are asked with it, links elsewhere without."""
    with serving_files({f"/f/{WHEEL}": b"w"}) as (other, asked_there):
        far = f"<a href='{other.replace('127.0.0.1', 'localhost')}/f/{WHEEL}'>".encode()
        near = f"<a href='/f/{WHEEL}'>".encode()
        files = {"/far/one-thing/": far, "/near/one-thing/": near, f"/f/{WHEEL}": b"w"}
        with serving_files(files) as (url, asked):
            private = url.replace("http://", "http://me:hunter2@")
            fetch_wheel([f"{private}/near"], "one-thing", WHEEL, tmp_path / "w", ignore)
            with pytest.raises(WheelNotFetched, match="not public"):
                fetch_wheel([f"{private}/far"], "one-thing", WHEEL, tmp_path / "w", ignore)
            absolute = f"<a href='{other}/f/{WHEEL}'>".encode()
            files["/far/one-thing/"] = absolute
            fetch_wheel([f"{private}/far"], "one-thing", WHEEL, tmp_path / "w", ignore)
    basic = f"Basic {base64.b64encode(b'me:hunter2').decode()}"
    assert [auth for _, auth in asked] == [basic] * 4
    assert [auth for _, auth in asked_there] == [None]


def test_more_than_a_wheel_may_be_is_refused(tmp_path, monkeypatch):
    """An index that never stops does not fill the disk."""
    monkeypatch.setattr(package_index, "LARGEST_WHEEL", 1000)
    with (
        serving_files(
            {"/s/one-thing/": f"<a href='{WHEEL}'>".encode(), f"/s/one-thing/{WHEEL}": b"w" * 5000}
        ) as (url, _),
        pytest.raises(WheelNotFetched, match="larger than 1000 bytes"),
    ):
        fetch_wheel([f"{url}/s"], "one-thing", WHEEL, tmp_path / "w", ignore)
