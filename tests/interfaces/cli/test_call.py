"""`onetool call`: arguments as words, and errors that say what the tool takes."""

import json

import pytest

from support.onetool_process import onetool

PACK = '''
def show(text: str, count: int = 1, tags: list[str] | None = None, strict: bool = False) -> dict:
    """Return the arguments."""
    return {"text": text, "count": count, "tags": tags, "strict": strict}

def nothing() -> int:
    """Return 1."""
    return 1
'''


@pytest.fixture
def pack(home):
    """A user with a pack that returns its arguments."""
    home.write("tools/probe.py", PACK)
    (home.cwd / "args.json").write_text('{"text": "from the file", "count": 7}')
    (home.cwd / "tags.json").write_text('["from", "a file"]')
    (home.cwd / "text.txt").write_text("Grüße\n", encoding="utf-8")
    return home


def data_of(*words, **options):
    done = onetool("call", "probe.show", *words, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["data"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["text=5", "count=5"], {"text": "5", "count": 5}),
        (["text=a=b@c:=d"], {"text": "a=b@c:=d"}),
        (["text=@alice"], {"text": "@alice"}),
        (["text=", "strict=true"], {"text": "", "strict": True}),
        (['text:="5"', "count:=5", 'tags:=["a"]'], {"text": "5", "count": 5, "tags": ["a"]}),
        (["text=x", 'tags=["a", "b"]'], {"tags": ["a", "b"]}),
        (["@args.json"], {"text": "from the file", "count": 7}),
        (["count=2", "@args.json"], {"text": "from the file", "count": 2}),
        (["text@text.txt"], {"text": "Grüße\n"}),
        (["text=x", "tags:=@tags.json"], {"tags": ["from", "a file"]}),
        (["--args", '{"text": "x", "count": 3}', "count:=4"], {"text": "x", "count": 4}),
    ],
)
def test_arguments_as_words(pack, words, expected):
    """What names one parameter replaces what a file or `--args` contains, in any order."""
    assert expected.items() <= data_of(*words).items()


def test_arguments_from_stdin(pack):
    assert data_of("@-", stdin='{"text": "x"}')["text"] == "x"
    assert data_of("text@-", stdin="x\n")["text"] == "x\n"


def test_tools_invoke_takes_the_same_words(pack):
    done = onetool("tools", "invoke", "probe.show", "text=5", "count=5")
    assert json.loads(done.stdout)["data"]["count"] == 5


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (
            ["hello"],
            [
                "Unexpected argument 'hello'. Pass arguments as key=value, such as 'text=hello'.",
                "onetool call probe.show text=str [count=int]",
            ],
        ),
        (["text=a", "text=b"], ["'text' has two values."]),
        (["text=a", "text:=1"], ["'text' has two values."]),
        (["count:=five"], ["count:=: not valid JSON: 'five'", "write count=VALUE"]),
        (["count:=NaN"], ["a number is out of range"]),
        (["@none.json"], ["Cannot read 'none.json': No such file or directory."]),
        (["text@none.txt"], ["Cannot read 'none.txt': No such file or directory."]),
        (["@text.txt"], ["@text.txt: not valid JSON: Expecting value"]),
        (["count:=@none.json"], ["Cannot read 'none.json': No such file or directory."]),
        (["count:=@text.txt"], ["count:=@text.txt: not valid JSON: Expecting value"]),
        (["@latin.txt"], ["'latin.txt' is not UTF-8 text (byte 3)."]),
        (["@list.json"], ["@list.json: not a JSON object."]),
        (["@-", "text@-"], ["Only one argument can be read from stdin."]),
    ],
)
def test_wrong_words_are_usage_errors(pack, words, messages):
    """The contents of a file are not repeated."""
    (pack.cwd / "latin.txt").write_bytes(b"caf\xe9")
    (pack.cwd / "list.json").write_text("[1]")
    done = onetool("call", "probe.show", *words, stdin="{}")
    assert (done.returncode, done.stdout) == (2, "")
    assert [message for message in messages if message not in done.stderr] == [], done.stderr
    assert "Grüße" not in done.stderr
    assert "Traceback" not in done.stderr


def test_word_for_a_tool_without_parameters(pack):
    assert "probe.nothing has no parameters." in onetool("call", "probe.nothing", "x").stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], '"text" is a required property'),
        (["txet=a"], "unknown parameter 'txet'. Did you mean text?"),
        (["text=a", "count=many"], 'count: "many" is not of type "integer"'),
    ],
)
def test_invalid_arguments_show_what_the_tool_takes(pack, words, message):
    done = onetool("call", "probe.show", *words)
    assert (done.returncode, message in json.loads(done.stdout)["error"]["message"]) == (1, True)
    usage = "Call it with: onetool call probe.show text=str [count=int] [tags=list | None] [strict=bool]\n"
    assert done.stderr == usage


def test_text_with_an_at_sign_that_does_not_fit_shows_how_files_are_read(pack):
    stderr = onetool("call", "probe.show", "text=@alice", "tags=@tags.json").stderr
    assert "To read tags from a file: tags:=@tags.json (JSON) or tags@tags.json (text)\n" in stderr
    assert "To read text" not in stderr


def test_unknown_tool_suggests_the_nearest(pack):
    done = onetool("call", "probe.shwo", "text=a")
    assert done.returncode == 1
    assert "Did you mean probe.show?" in json.loads(done.stdout)["error"]["message"]


def test_function_is_changed_between_two_calls(home):
    """Also if the file is replaced by one of the same size."""
    onetool("scaffold", "pack", "greet")
    file = home.config / "tools" / "greet.py"
    for word in ("Hello", "Hallo"):
        file.unlink()
        file.write_text(f'def hello(name: str) -> str:\n    """Greet."""\n    return f"{word} {{name}}"\n')
        assert json.loads(onetool("call", "greet.hello", "name=Ada").stdout)["data"] == f"{word} Ada"
