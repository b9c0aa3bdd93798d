"""Download of a wheel from the package indexes of pip and uv."""

import base64

import pytest

from onetool.network import package_index
from onetool.network.package_index import PYPI, WheelDownloadError, fetch_wheel, index_urls
from support.file_server import serve_files

WHEEL = "one_thing-1.0-py3-none-any.whl"
PAGE = (
    f'<a>x</a><a name="y" href="one_thing-1.0.tar.gz">a</a><a href="../../f/{WHEEL}#sha256=0">b</a>'.encode()
)


def ignore(done, total):
    """Ignore progress."""


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
def test_indexes_come_from_the_environment(env, urls):
    """As for pip and uv, except that only HTTP indexes are used."""
    assert index_urls(env) == urls


def test_wheel_is_downloaded(tmp_path):
    """Relative links are followed, and progress is reported."""
    progress = []
    with serve_files({"/simple/one-thing/": PAGE, f"/f/{WHEEL}": b"w" * 200_000}) as (url, requests):
        fetch_wheel(
            [f"{url}/simple"], "one-thing", WHEEL, tmp_path / "w", lambda *report: progress.append(report)
        )
    assert (tmp_path / "w").read_bytes() == b"w" * 200_000
    assert progress[-1] == (200_000, 200_000)
    assert [path for path, _ in requests] == ["/simple/one-thing/", f"/f/{WHEEL}"]


def test_next_index_is_tried_if_one_fails(tmp_path):
    with serve_files({"/a/one-thing/": b"<a href='other'>", "/b/one-thing/": PAGE, f"/f/{WHEEL}": b"w"}) as (
        url,
        _,
    ):
        indexes = ["http://127.0.0.1:1", f"{url}/none", f"{url}/a", f"{url}/b"]
        fetch_wheel(indexes, "one-thing", WHEEL, tmp_path / "w", ignore)
    assert (tmp_path / "w").read_bytes() == b"w"


def test_error_lists_the_problem_of_each_index_without_passwords(tmp_path):
    """It contains the host but not the URL."""
    with serve_files({"/a/one-thing/": b"empty"}) as (url, _):
        private = url.replace("http://", "http://me:hunter2@")
        with pytest.raises(WheelDownloadError) as raised:
            fetch_wheel(
                [f"{private}/none", f"{private}/a", "http://me:hunter2"],
                "one-thing",
                WHEEL,
                tmp_path / "w",
                ignore,
            )
    text = str(raised.value)
    assert "127.0.0.1: status 404; 127.0.0.1: not in the index; invalid URL." in text
    assert "hunter2" not in text
    with pytest.raises(WheelDownloadError, match="no HTTP index configured"):
        fetch_wheel([], "one-thing", WHEEL, tmp_path / "w", ignore)


def test_password_is_sent_only_to_its_own_server(tmp_path):
    """Links to another origin are followed without it."""
    with serve_files({f"/f/{WHEEL}": b"w"}) as (other, other_requests):
        far = f"<a href='{other.replace('127.0.0.1', 'localhost')}/f/{WHEEL}'>".encode()
        near = f"<a href='/f/{WHEEL}'>".encode()
        files = {"/far/one-thing/": far, "/near/one-thing/": near, f"/f/{WHEEL}": b"w"}
        with serve_files(files) as (url, requests):
            private = url.replace("http://", "http://me:hunter2@")
            fetch_wheel([f"{private}/near"], "one-thing", WHEEL, tmp_path / "w", ignore)
            with pytest.raises(WheelDownloadError, match="not public"):
                fetch_wheel([f"{private}/far"], "one-thing", WHEEL, tmp_path / "w", ignore)
            absolute = f"<a href='{other}/f/{WHEEL}'>".encode()
            files["/far/one-thing/"] = absolute
            fetch_wheel([f"{private}/far"], "one-thing", WHEEL, tmp_path / "w", ignore)
    basic = f"Basic {base64.b64encode(b'me:hunter2').decode()}"
    assert [auth for _, auth in requests] == [basic] * 4
    assert [auth for _, auth in other_requests] == [None]


def test_too_large_wheel_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr(package_index, "MAX_WHEEL_BYTES", 1000)
    with (
        serve_files(
            {"/s/one-thing/": f"<a href='{WHEEL}'>".encode(), f"/s/one-thing/{WHEEL}": b"w" * 5000}
        ) as (url, _),
        pytest.raises(WheelDownloadError, match="larger than 1000 bytes"),
    ):
        fetch_wheel([f"{url}/s"], "one-thing", WHEEL, tmp_path / "w", ignore)
