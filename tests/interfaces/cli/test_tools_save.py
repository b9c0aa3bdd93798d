"""`onetool tools save`: programs become tools with parameters and versions."""

import json

from support.onetool_process import onetool


def done(*args, **options):
    result = onetool(*args, **options)
    assert result.returncode == 0, result.stderr
    return result.stdout


def refused(*args):
    result = onetool(*args)
    assert result.returncode != 0
    return result.stderr


def invoke(name, **args):
    return json.loads(done("tools", "invoke", name, "--args", json.dumps(args), "--json"))["data"]


def test_program_is_saved_with_parameters_and_versions(home, tmp_path):
    """A value and an undefined name become parameters; other code is a new version, equal code is not."""
    program = tmp_path / "greet.py"
    program.write_text("text = tools.echo(message='Hello Ada')\ntext + end")
    saved = ("tools", "save", "flows.greet", "-f", str(program), "--param", "who=Hello Ada", "--param", "end")
    assert done(*saved, "--description", "Greet.") == "Stored flows.greet@1.\n"
    assert invoke("flows.greet", end="!") == "Hello Ada!"
    assert invoke("flows.greet", end="", who="x") == "x"
    assert done(*saved, "--description", "Greet.") == "flows.greet@1 has this program already.\n"
    again = done("tools", "save", "flows.greet", "'new'", "--json")
    assert json.loads(again) == {"name": "flows.greet", "version": "2", "isNew": True}
    assert (invoke("flows.greet"), invoke("flows.greet@1", end=".")) == ("new", "Hello Ada.")


def test_recorded_run_is_saved(home):
    done("run", "tools.echo(message='from a run')")
    calls = {call["tool"]: call["id"] for call in json.loads(done("activity", "--json"))}
    assert done("tools", "save", "flows.again", "--from", calls["run"]) == "Stored flows.again@1.\n"
    assert invoke("flows.again") == "from a run"
    done("run", "'newest'")
    onetool("run", "1 / 0")
    done("tools", "save", "flows.newest", "--from", "last")
    assert invoke("flows.newest") == "newest"
    assert "is a call of tools.echo, not code" in refused(
        "tools", "save", "a.b", "--from", calls["tools.echo"]
    )
    assert "no call 'x' is recorded" in refused("tools", "save", "a.b", "--from", "x")


def test_wrong_input_is_explained(home):
    for args, message in {
        ("nodot", "1"): "'nodot' is not a name such as flows.report",
        ("a.b",): "Pass one of CODE, --file and --from",
        ("a.b", "1 +"): "The program is not valid: line 1: ",
        ("a.b", "'x'", "--param", "y=z"): "no value of the program equals 'z'",
        (
            "a.b",
            "'x'",
            "--param",
            "y",
        ): "the program has no name 'y'. Values that can become parameters: \"x\"",
        ("time.mine", "1"): "read-only",
    }.items():
        assert message in refused("tools", "save", *args), args
