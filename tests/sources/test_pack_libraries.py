"""Packs with libraries of their own: installation, and when the pack appears."""

import asyncio
import shutil
import sys
from contextlib import AbstractAsyncContextManager
from importlib import metadata
from pathlib import Path

import pytest

from onetool.bootstrap import open_runtime
from onetool.domain.calls.caller import Caller
from onetool.domain.errors import Reason
from onetool.runtime.health import check_health
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.sources.python_packs import index, libraries
from onetool.sources.python_packs.environments import InstallFailed, PackEnvironments, last_lines
from onetool.sources.python_packs.script_metadata import ScriptMetadata
from onetool.threads import Threads
from support.local_wheels import make_wheel
from support.user_home import Home
from support.waiting import HANG_S, until

pytestmark = pytest.mark.skipif(shutil.which("uv") is None, reason="needs uv")
CALLER = Caller(interface="python")
SETTINGS = "execution: {timeout_s: 170}\n"


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is the only package index."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, value in {
        "FIND_LINKS": folder,
        "OFFLINE": 1,
        "NO_INDEX": 1,
        "CACHE_DIR": tmp_path / "cache",
    }.items():
        monkeypatch.setenv(f"UV_{name}", str(value))
    return folder


def pack(library: str, code: str) -> str:
    return f'# /// script\n# dependencies = ["{library}"]\n# ///\n{code}\n'


def runtime(home: Home, *, waits: bool = True) -> AbstractAsyncContextManager[Runtime]:
    home.write("onetool.yaml", SETTINGS)
    paths = find_paths(home.env, home.cwd)
    return open_runtime(lambda: load_configuration(paths, {}), waits_for_libraries=waits)


async def test_two_packs_use_conflicting_versions_of_a_library(home, wheels):
    """Each pack has its own version, and the runtime has none."""
    for version in ("1.0", "2.0"):
        make_wheel(wheels, "fruit", version, f"VERSION = {version!r}\n")
    code = "import fruit\n\ndef version() -> str:\n    return fruit.VERSION\n"
    home.write("tools/old.py", pack("fruit<2", code))
    home.write("tools/new.py", pack("fruit>=2", code))
    async with runtime(home) as ot, asyncio.timeout(HANG_S):
        results = [await ot.call_tool(f"{name}.version", {}, CALLER, "python") for name in ("old", "new")]
    assert [result.data for result in results] == ["1.0", "2.0"], results
    assert "fruit" not in sys.modules


async def test_installed_libraries_are_used_without_uv_and_without_the_wheels(home, wheels, monkeypatch):
    make_wheel(wheels, "fruit", "1.0", "def eat() -> str:\n    return 'apple'\n")
    home.write("tools/meal.py", pack("fruit", "import fruit\n\ndef eat() -> str:\n    return fruit.eat()\n"))
    async with runtime(home) as ot, asyncio.timeout(HANG_S):
        assert (await ot.call_tool("meal.eat", {}, CALLER, "python")).ok
    shutil.rmtree(wheels)
    monkeypatch.setenv("PATH", "")
    async with runtime(home) as ot, asyncio.timeout(HANG_S):
        assert (await ot.call_tool("meal.eat", {}, CALLER, "python")).data == "apple"


async def test_start_of_a_server_does_not_wait_for_an_installation(home, wheels, tmp_path, monkeypatch):
    """Until then the pack is not ready, as calls and health report; other packs work."""
    make_wheel(wheels, "fruit", "1.0", "")
    gate, real = tmp_path / "gate", shutil.which("uv")
    programs = tmp_path / "bin"
    programs.mkdir()
    slow = programs / "uv"
    slow.write_text(f'#!/bin/sh\nwhile [ ! -e {gate} ]; do sleep 0.05; done\nexec {real} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    home.write("tools/meal.py", pack("fruit", "def eat() -> int:\n    return 1\n"))
    home.write("tools/plain.py", "def f() -> int:\n    return 2\n")
    async with runtime(home, waits=False) as ot, asyncio.timeout(HANG_S):
        assert (await ot.call_tool("plain.f", {}, CALLER, "python")).data == 2
        early = await ot.call_tool("meal.eat", {}, CALLER, "python")
        assert "installing its libraries: fruit" in early.error.message
        assert "installing" in (await check_health(ot.state, ot.threads)).skipped["meal"]
        gate.touch()
        while not (late := await ot.call_tool("meal.eat", {}, CALLER, "python")).ok:
            assert "is not ready" in late.error.message
            await asyncio.sleep(0.01)
        assert late.data == 1


async def test_server_does_not_wait_for_a_slow_import(home, wheels, tmp_path, monkeypatch):
    """Although its libraries are installed."""
    monkeypatch.setattr(libraries, "SHORT_WAIT_S", 0.1)
    gate = tmp_path / "gate"
    home.write("tools/meal.py", pack("fruit", "def eat() -> int:\n    return 1\n"))
    make_wheel(wheels, "fruit", "1.0", "")
    async with runtime(home) as ot:
        assert (await ot.call_tool("meal.eat", {}, CALLER, "python")).data == 1
    wait = f"import os, time\nwhile not os.path.exists({str(gate)!r}):\n    time.sleep(0.01)\n"
    home.write("tools/meal.py", pack("fruit", wait + "def eat() -> int:\n    return 2\n"))
    async with runtime(home, waits=False) as ot, asyncio.timeout(HANG_S):
        early = await ot.call_tool("meal.eat", {}, CALLER, "python")
        assert "is not ready: importing it" in early.error.message
        gate.touch()
        while not (late := await ot.call_tool("meal.eat", {}, CALLER, "python")).ok:
            await asyncio.sleep(0.01)
        assert late.data == 2


async def test_server_tries_a_failed_installation_again(home, wheels, monkeypatch):
    """Without a change of any file."""
    monkeypatch.setattr(libraries, "RETRY_AFTER_S", 0.1)
    monkeypatch.setattr(index, "RETRY_AFTER_S", 0.1)
    home.write("tools/meal.py", pack("fruit", "def eat() -> int:\n    return 1\n"))
    async with runtime(home, waits=False) as ot, asyncio.timeout(HANG_S):
        while "could not install" not in ot.state.catalog.skipped.get("meal", ""):
            await ot.state.catalog.specs()
            await asyncio.sleep(0.01)
        make_wheel(wheels, "fruit", "1.0", "")
        while not (await ot.call_tool("meal.eat", {}, CALLER, "python")).ok:
            await asyncio.sleep(0.01)


async def test_failed_installation_is_reported_with_the_words_of_uv(home, wheels):
    home.write("tools/meal.py", pack("fruit>=9", "import fruit\n"))
    home.write("tools/plain.py", "def f() -> int:\n    return 2\n")
    async with runtime(home) as ot, asyncio.timeout(HANG_S):
        assert (await ot.call_tool("plain.f", {}, CALLER, "python")).data == 2
        reason = ot.state.catalog.skipped["meal"]
        missing = await ot.call_tool("meal.eat", {}, CALLER, "python")
    assert "uv could not install its libraries" in reason
    assert "fruit" in reason.partition("libraries:")[2]
    assert missing.meta.reason is Reason.UNKNOWN


@pytest.mark.guards("project-libraries")
async def test_libraries_of_a_project_are_installed_only_if_it_is_trusted(home, wheels):
    make_wheel(wheels, "fruit", "1.0", "")
    folder = home.cwd / ".onetool" / "tools"
    folder.mkdir(parents=True)
    (folder / "meal.py").write_text(pack("fruit", "def eat() -> int:\n    return 1\n"))
    async with runtime(home) as ot:
        await ot.call_tool("meal.eat", {}, CALLER, "python")
    assert not (home.state / "environments").exists()


async def test_concurrent_processes_install_once(tmp_path, wheels):
    """The first one installs; the others wait and use the same directory."""
    make_wheel(wheels, "fruit", "1.0", "")
    script, threads = ScriptMetadata(("fruit",)), Threads()
    several = [PackEnvironments(tmp_path / "environments", threads) for _ in range(4)]
    async with asyncio.timeout(HANG_S):
        paths = await asyncio.gather(*(environments.ensure(script) for environments in several))
    assert len(set(paths)) == 1
    assert (paths[0] / "fruit.py").exists()
    left = {path.name for path in (tmp_path / "environments").iterdir()}
    assert left == {paths[0].name, f"{paths[0].name}.lock"}


@pytest.mark.guards("project-libraries")
async def test_uv_settings_of_the_working_directory_are_ignored(tmp_path, wheels, monkeypatch):
    """A repository must not choose where libraries come from."""
    evil, work = tmp_path / "evil", tmp_path / "work"
    make_wheel(evil, "fruit", "9.0", "")
    make_wheel(wheels, "fruit", "1.0", "")
    work.mkdir()
    (work / "uv.toml").write_text(f'find-links = ["{evil}"]\n')
    monkeypatch.chdir(work)
    environments = PackEnvironments(tmp_path / "environments", Threads())
    installed = await environments.ensure(ScriptMetadata(("fruit",)))
    assert (installed / "fruit-1.0.dist-info").exists()


@pytest.mark.linux
async def test_programs_that_uv_started_end_with_it(tmp_path, monkeypatch):
    programs, child = tmp_path / "bin", tmp_path / "child"
    programs.mkdir()
    uv = programs / "uv"
    uv.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! > {child}.part\nmv {child}.part {child}\nwait\n")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    environments = PackEnvironments(tmp_path / "environments", Threads())
    installing = asyncio.create_task(environments.ensure(ScriptMetadata(("fruit",))))
    await until(child.exists)
    await environments.close()
    await asyncio.wait([installing])
    status = Path(f"/proc/{int(child.read_text())}/stat")
    await until(lambda: not status.exists() or ") Z " in status.read_text())


def test_libraries_are_installed_again_when_the_sdk_needs_other_versions(tmp_path, monkeypatch):
    script, packs = ScriptMetadata(("fruit",)), PackEnvironments(tmp_path, Threads())
    before = packs.path(script)
    monkeypatch.setattr(metadata, "requires", lambda _name: ["annotated-types>=99"])
    assert packs.path(script) != before


async def test_missing_uv_is_reported_with_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(InstallFailed, match="uv is needed to install libraries"):
        await PackEnvironments(tmp_path / "e", Threads()).ensure(ScriptMetadata(("fruit",)))


def test_credentials_of_an_index_are_not_shown():
    assert last_lines("error: https://user:pass@index.example/simple failed") == (
        "error: https://***@index.example/simple failed"
    )


async def test_missing_library_is_reported_once_with_lines_to_paste(home):
    """Each call has the reason, but the log has it once, not at each reload."""
    home.write("tools/meal.py", "import yaml_of_no_one\n")
    async with runtime(home) as ot, asyncio.timeout(HANG_S):
        for _ in range(2):
            missing = await ot.call_tool("meal.eat", {}, CALLER, "python")
            assert '# /// script\n# dependencies = ["yaml-of-no-one"]\n# ///' in missing.error.message
            await ot.reload()
        assert "meal" in (await check_health(ot.state, ot.threads)).skipped
    assert len([record for record in home.log() if "skipped pack file" in record["message"]]) == 1
