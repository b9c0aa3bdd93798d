"""What the sandbox of an MCP server grants, refuses and hides."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from onetool.sources.mcp_servers.sandbox.bubblewrap import ABSTRACT_SOCKETS, bubblewrap_restrictions
from onetool.sources.mcp_servers.sandbox.landlock_rules import SIGNALS, landlock_restrictions
from onetool.sources.mcp_servers.sandbox.mechanisms import available_mechanisms, choose_mechanism
from onetool.sources.mcp_servers.sandbox.policy import (
    GrantRefused,
    Mechanism,
    MechanismSupport,
    PathGrant,
    Restrictions,
    SandboxPolicy,
    SandboxUnavailable,
)
from onetool.sources.mcp_servers.sandbox.visible_files import list_visible_files
from onetool.sources.mcp_servers.sandbox.wrapping import wrap
from sources.attacked_user import run_command, start_command, supported
from support.processes import descendants
from support.waiting import HANG_S

pytestmark = pytest.mark.linux


@pytest.fixture
def user_home(tmp_path, monkeypatch):
    """Return the home directory of a user with secrets and a project."""
    home = tmp_path / "user"
    for name in (
        ".ssh/id",
        ".config/app/token",
        "project/notes.txt",
        "data/secrets.yaml",
        "data/servers/a/x",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("content")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return home


@pytest.fixture(params=[Mechanism.BUBBLEWRAP, Mechanism.LANDLOCK], ids=str)
def support(request):
    return supported(request.param)


def policy_for(
    home: Path, *grants: PathGrant, cwd: Path | None = None, network: bool = True
) -> SandboxPolicy:
    return SandboxPolicy(
        home=home / "data/servers/own",
        cwd=cwd or home / "project",
        paths=grants,
        network=network,
        secret_places=(home / "data",),
    )


def run(policy: SandboxPolicy, support: MechanismSupport, script: str, **env: str) -> str:
    """Run a shell script as the server and return its output, with errors."""
    argv = [shutil.which("sh"), "-c", script]
    command = wrap(argv, {"PATH": os.defpath} | env, policy, support)
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with start_command(command, cwd=command.cwd, text=True, **pipes) as process:
        return process.communicate(timeout=HANG_S)[0]


@pytest.mark.guards("server-sandbox")
@pytest.mark.parametrize(
    "path", ["~/.ssh", "~/.ssh/id", "~/.config", "~/.config/app", "~/data", "~/data/servers/a"]
)
def test_secret_place_is_refused(user_home, path):
    grant = PathGrant(path=Path(path).expanduser())
    with pytest.raises(GrantRefused, match="is secret"):
        list_visible_files(["/bin/sh"], {}, policy_for(user_home, grant))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        *((path, "too wide") for path in ("/", "/home", "/etc", "/tmp", "/run", "~", "~/..")),
        *((path, "kernel") for path in ("/proc/self", "/dev/shm")),
        ("~/missing", "does not exist"),
    ],
)
def test_wide_or_impossible_path_is_refused(user_home, path, reason):
    grant = PathGrant(path=Path(path).expanduser())
    with pytest.raises(GrantRefused, match=reason):
        list_visible_files(["/bin/sh"], {}, policy_for(user_home, grant))


def test_link_to_a_secret_place_is_refused(user_home):
    (user_home / "project/keys").symlink_to(user_home / ".ssh")
    with pytest.raises(GrantRefused, match="is secret"):
        list_visible_files(["/bin/sh"], {}, policy_for(user_home, PathGrant(path=user_home / "project/keys")))


def test_link_that_a_server_could_have_created_is_refused(user_home):
    """It may write to the project, and would gain access to any directory at its next start."""
    (user_home / "documents").mkdir()
    (user_home / "project/sub").symlink_to(user_home / "documents")
    grants = (
        PathGrant(path=user_home / "project", write=True),
        PathGrant(path=user_home / "project/sub"),
    )
    with pytest.raises(GrantRefused, match="a server can change it"):
        list_visible_files(["/bin/sh"], {}, policy_for(user_home, *grants))


def test_home_directory_of_the_user_cannot_be_the_servers_own(user_home):
    policy = SandboxPolicy(home=user_home, cwd=user_home)
    with pytest.raises(GrantRefused, match="contains your files"):
        list_visible_files(["/bin/sh"], {}, policy)


def test_granted_path_is_readable_and_writable_only_if_asked(user_home, support):
    reading = policy_for(user_home, PathGrant(path=user_home / "project"))
    output = run(reading, support, "pwd; cat notes.txt; echo changed > notes.txt")
    assert output.startswith(f"{user_home}/project\ncontent")
    assert (user_home / "project/notes.txt").read_text() == "content"
    writing = policy_for(user_home, PathGrant(path=user_home / "project", write=True))
    run(writing, support, "echo changed > notes.txt; mkdir new")
    assert (user_home / "project/notes.txt").read_text() == "changed\n"
    assert (user_home / "project/new").is_dir()


def test_single_file_can_be_granted(user_home, support):
    policy = policy_for(user_home, PathGrant(path=user_home / "project/notes.txt"))
    output = run(policy, support, f"cat {user_home}/project/notes.txt; ls {user_home}/project/new")
    assert output.startswith("content")


def test_server_starts_in_its_own_directory_unless_the_working_directory_is_granted(user_home, support):
    own = user_home / "data/servers/own"
    assert run(policy_for(user_home), support, "pwd; echo $HOME").split() == [str(own), str(own)]


def test_servers_own_directory_persists(user_home, support):
    run(
        policy_for(user_home),
        support,
        "mkdir -p $XDG_CACHE_HOME && echo 1 > $XDG_CACHE_HOME/x; echo 2 > $TMPDIR/y",
    )
    assert run(policy_for(user_home), support, "cat $XDG_CACHE_HOME/x") == "1\n"


def test_secret_place_inside_a_grant_is_covered_by_bubblewrap(user_home):
    """The directory of OneTool may be anywhere, also in a directory that is granted."""
    support = supported(Mechanism.BUBBLEWRAP)
    policy = SandboxPolicy(
        home=user_home / "project/onetool/servers/own",
        cwd=user_home,
        paths=(PathGrant(path=user_home / "project", write=True),),
        secret_places=(user_home / "project/onetool", user_home / "project/secret.yaml"),
    )
    (user_home / "project/onetool").mkdir()
    for name in ("onetool/token", "secret.yaml"):
        (user_home / "project" / name).write_text("hidden")
    attempts = "ls onetool; cat onetool/token secret.yaml; echo x > onetool/new; echo own > ~/file"
    output = run(policy, support, f"cd {user_home}/project; {attempts}; cat notes.txt")
    assert "hidden" not in output
    assert output.startswith("servers\n")
    assert output.endswith("content")
    assert not (user_home / "project/onetool/new").exists()
    assert (user_home / "project/onetool/servers/own/file").read_text() == "own\n"


def test_secret_place_inside_a_grant_is_refused_by_the_fallback(user_home):
    policy = SandboxPolicy(
        home=user_home / "own",
        cwd=user_home,
        paths=(PathGrant(path=user_home / "project"),),
        secret_places=(user_home / "project/notes.txt",),
    )
    with pytest.raises(GrantRefused, match="without bubblewrap"):
        wrap(["/bin/sh"], {}, policy, MechanismSupport(mechanism=Mechanism.LANDLOCK, landlock_version=7))


def test_read_only_directory_in_a_writable_one(user_home):
    (user_home / "project/sub").mkdir()
    grants = (PathGrant(path=user_home / "project/sub"), PathGrant(path=user_home / "project", write=True))
    fallback = MechanismSupport(mechanism=Mechanism.LANDLOCK, landlock_version=7)
    with pytest.raises(GrantRefused, match="read-only inside"):
        wrap(["/bin/sh"], {}, policy_for(user_home, *grants), fallback)
    run(policy_for(user_home, *grants), supported(Mechanism.BUBBLEWRAP), "echo 1 > a; echo 1 > sub/b")
    assert [path.name for path in (user_home / "project").rglob("?")] == ["a"]


def test_runtime_in_the_home_directory_is_readable_and_its_neighbours_are_not(user_home, support):
    """Version managers install there: the program is a link into a directory with libraries."""
    prefix = user_home / ".nvm/versions/node/v1"
    for name in ("bin", "lib/node_modules/tool"):
        (prefix / name).mkdir(parents=True)
    (prefix / "lib/node_modules/tool/cli").write_text("#!/usr/bin/env interpreter\n")
    (prefix / "lib/node_modules/tool/data").write_text("library\n")
    data = prefix / "lib/node_modules/tool/data"
    (prefix / "bin/interpreter").write_text(f'#!/bin/sh\ncat {data} "$2"\n')
    (prefix / "bin/tool").symlink_to("../lib/node_modules/tool/cli")
    for name in ("bin/interpreter", "lib/node_modules/tool/cli"):
        (prefix / name).chmod(0o755)
    (user_home / "bin").mkdir()
    (user_home / "bin/tool").symlink_to(prefix / "bin/tool")
    env = {"PATH": f"{prefix}/bin:{os.defpath}"}
    argv = [str(user_home / "bin/tool"), str(user_home / ".ssh/id")]
    command = wrap(argv, env, policy_for(user_home), support)
    done = run_command(command)
    assert done.stdout == "library\n"
    assert str(user_home / ".ssh/id") in done.stderr


def test_runtime_in_a_secret_place_is_readable_without_its_neighbours(user_home):
    """The version manager nvm may be in ~/.config."""
    prefix = user_home / ".config/nvm/versions/node/v1"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib/node_modules").mkdir(parents=True)
    (user_home / ".config/app/bin").mkdir()
    path = f"{prefix}/bin:{user_home}/.config/app/bin:{user_home}/.ssh"
    files = list_visible_files(["/bin/sh"], {"PATH": path}, policy_for(user_home))
    in_home = [file.source for file in files.runtime if file.source.is_relative_to(user_home)]
    assert in_home == [prefix]


@pytest.mark.parametrize("directory", [".local/bin", "bin", ".cargo/bin", "work/bin"])
def test_directory_around_the_programs_of_a_user_is_not_readable(user_home, directory):
    """Keys are beside them in ~/.local/share and ~/.cargo, and projects in ~/work."""
    programs = user_home / directory
    programs.mkdir(parents=True)
    files = list_visible_files(["/bin/sh"], {"PATH": str(programs)}, policy_for(user_home))
    assert programs in [file.target for file in files.runtime]
    assert programs.parent not in [file.source for file in files.runtime]


def test_virtual_environment_includes_its_interpreter(user_home, tmp_path):
    base, environment = tmp_path / "base", user_home / "project/.venv"
    (base / "lib/python3.11").mkdir(parents=True)
    (base / "lib/python3.11/os.py").touch()
    (base / "bin").mkdir()
    (base / "bin/python3.11").touch(mode=0o755)
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").touch()
    (environment / "bin/python").symlink_to(base / "bin/python3.11")
    (environment / "bin/server").write_text(f"#!{environment}/bin/python\n")
    files = list_visible_files([str(environment / "bin/server")], {"PATH": "/bin"}, policy_for(user_home))
    assert {environment, base} <= {file.source for file in files.runtime}


def test_server_gets_no_sockets_and_no_other_directories(user_home, support):
    env = {"SSH_AUTH_SOCK": "/a", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/b", "DISPLAY": ":0", "TOKEN": "1"}
    names = {
        line.partition("=")[0] for line in run(policy_for(user_home), support, "env", **env).splitlines()
    }
    assert names & {*env, "XDG_RUNTIME_DIR"} == {"TOKEN"}


def test_libraries_that_are_preloaded_are_loaded_inside_only(user_home, support):
    """A server could otherwise run code outside its sandbox, from its own directory, at its next start."""
    command = wrap(
        ["/bin/sh"], {"LD_PRELOAD": "/x.so", "LD_LIBRARY_PATH": "/x"}, policy_for(user_home), support
    )
    assert not [name for name in command.env if name.startswith("LD_")]
    output = run(policy_for(user_home), support, "echo $LD_LIBRARY_PATH", LD_LIBRARY_PATH="/nonexistent")
    assert output == "/nonexistent\n"


@pytest.mark.guards("server-sandbox")
def test_no_variable_is_in_a_command_line(user_home, support):
    """Every user of the machine can read command lines. Names like those of the loader are ordinary ones."""
    names = ("LD_API_KEY", "DYLD_TOKEN", "LD_LIBRARY_PATH", "TOKEN")
    env = {"PATH": os.defpath} | {name: f"value-of-{name}" for name in names}
    script = "echo started; read line; env"
    command = wrap([shutil.which("sh"), "-c", script], env, policy_for(user_home), support)
    assert command.env["LD_API_KEY"] == "value-of-LD_API_KEY"
    with start_command(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "started\n"
        pids = {process.pid, *descendants(process.pid)}
        lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids]
        output, _ = process.communicate("\n", timeout=HANG_S)
    assert any(script.encode() in line for line in lines)
    assert [line for line in lines if b"value-of" in line or str(user_home / "data").encode() in line] == []
    assert {f"{name}=value-of-{name}" for name in names} <= set(output.splitlines())


def test_link_in_the_servers_directory_is_not_followed_at_its_next_start(user_home, support):
    own = user_home / "data/servers/own"
    run(
        policy_for(user_home),
        support,
        f"rm -rf tmp .cache; ln -s {user_home}/project/a tmp; ln -s {user_home} .cache",
    )
    run(policy_for(user_home), support, "echo x > $XDG_CACHE_HOME/attacked; echo x > tmp/attacked")
    assert own.is_dir()
    assert not (user_home / "attacked").exists()
    assert not (user_home / "project/a").exists()


def test_server_has_no_capabilities_and_cannot_gain_privileges(user_home, support):
    lines = run(policy_for(user_home), support, "while read line; do echo $line; done < /proc/self/status")
    status = dict(line.split(": ", 1) for line in lines.splitlines() if ": " in line)
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


SET_IDENTITY_BITS = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)

def call(number, *args):
    if libc.syscall(number, *args) < 0:
        raise OSError(ctypes.get_errno(), "failed")

def create(name, mode):
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, mode))

def change_open_file(mode):
    descriptor = os.open("plain", os.O_RDONLY)
    os.fchmod(descriptor, mode)

create("plain", 0o755)
folder = os.open(".", os.O_RDONLY)
how = struct.pack("3Q", os.O_CREAT | os.O_WRONLY, 0o6755, 0)
attempts = {
    "chmod": lambda: os.chmod("plain", 0o4755),
    "chmod of the group": lambda: os.chmod("plain", 0o2755),
    "fchmod": lambda: change_open_file(0o6755),
    "fchmodat": lambda: os.chmod("plain", 0o4755, dir_fd=folder),
    "fchmodat2": lambda: call(452, folder, b"plain", 0o4755, 0),
    "open": lambda: create("opened", 0o4755),
    "open without a name": lambda: os.open(".", os.O_TMPFILE | os.O_RDWR, 0o4755),
    "openat2": lambda: call(437, folder, b"opened2", how, len(how)),
    "mkdir": lambda: os.mkdir("made", 0o2755),
    "mkdirat": lambda: os.mkdir("made2", 0o2755, dir_fd=folder),
    "mknod": lambda: os.mknod("node", 0o104755),
    "mknodat": lambda: os.mknod("node2", 0o104755, dir_fd=folder),
}
for name, attempt in attempts.items():
    try:
        attempt()
        print(name)
    except OSError:
        pass
os.chmod("plain", 0o1700)
os.mkdir("sticky", 0o1777)
create("sticky/program", 0o755)
os.open("plain", os.O_RDONLY, 0o4000)  # the mode does not count
"""


@pytest.mark.guards("server-sandbox")
def test_server_cannot_create_programs_that_run_as_its_user(user_home, support):
    """Another user of the machine could run them. Other permissions can be set."""
    policy = policy_for(user_home, PathGrant(path=user_home / "project", write=True))
    argv = [sys.executable, "-I", "-c", SET_IDENTITY_BITS]
    command = wrap(argv, {"PATH": os.defpath}, policy, support)
    done = run_command(command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found = {path.name: path.stat().st_mode for path in (user_home / "project").rglob("*")}
    assert [name for name, mode in found.items() if mode & 0o6000] == []
    assert {"plain", "sticky", "program"} <= set(found)
    assert found["plain"] & 0o7777 == 0o1700


def test_server_ends_if_no_one_reads_its_output(user_home, support):
    """Python ignores the signal, and programs that it executes would as well."""
    output = run(
        policy_for(user_home), support, "(while :; do echo x || { echo ignored >&2; exit; }; done) | :"
    )
    assert output == ""


def test_missing_program_is_reported(user_home, support):
    command = wrap(["/missing/program"], {}, policy_for(user_home), support)
    done = run_command(command)
    assert done.returncode != 0
    assert "No such file" in done.stderr


def test_exit_code_of_the_server_is_returned(user_home, support):
    command = wrap(["/bin/sh", "-c", "exit 7"], {}, policy_for(user_home), support)
    assert run_command(command).returncode == 7


@pytest.mark.guards("server-sandbox")
def test_nothing_runs_if_a_restriction_cannot_be_applied(user_home):
    support = supported(Mechanism.LANDLOCK)
    command = wrap(["/bin/sh", "-c", "echo started"], {}, policy_for(user_home), support)
    done = run_command(replace(command, plan=command.plan.replace(b'"cwd": "', b'"cwd": "/missing')))
    assert (done.returncode, done.stdout) == (126, "")
    assert "the sandbox cannot start" in done.stderr


def test_mechanism_that_does_not_work_is_refused():
    assert available_mechanisms()[-1].mechanism == Mechanism.NONE
    assert choose_mechanism(Mechanism.NONE).mechanism == Mechanism.NONE
    with pytest.raises(SandboxUnavailable, match="not on this system"):
        choose_mechanism(Mechanism.SEATBELT)


def test_bubblewrap_that_is_missing_or_forbidden_is_reported(tmp_path, monkeypatch):
    (tmp_path / "true").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    missing, *_ = available_mechanisms.__wrapped__()
    assert "install the package bubblewrap" in missing.problem
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho No permissions to create a namespace >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    forbidden, *_ = available_mechanisms.__wrapped__()
    assert forbidden.problem == "No permissions to create a namespace"


def test_restrictions_claim_no_more_than_what_holds(user_home):
    policy = policy_for(user_home, network=False)
    old = MechanismSupport(mechanism=Mechanism.LANDLOCK, landlock_version=5)
    assert SIGNALS in landlock_restrictions(old, policy).limits
    assert not landlock_restrictions(old, policy).processes
    old = MechanismSupport(mechanism=Mechanism.BUBBLEWRAP, landlock_version=5)
    assert ABSTRACT_SOCKETS in bubblewrap_restrictions(old, policy_for(user_home)).limits
    assert bubblewrap_restrictions(old, policy).limits == ()
    assert bubblewrap_restrictions(old, policy).text == "bubblewrap: files, network, processes restricted"
    assert Restrictions(mechanism=Mechanism.NONE).text == "none: all rights of the user"


def test_without_a_sandbox_the_command_has_all_rights(user_home):
    """The launcher restricts nothing. It ends the server with this process."""
    support = choose_mechanism(Mechanism.NONE)
    command = wrap([sys.executable, "-V"], {"A": "1"}, policy_for(user_home), support)
    assert (command.argv[-2:], command.env, command.cwd) == (
        (sys.executable, "-V"),
        {"A": "1"},
        user_home / "project",
    )
    assert command.restrictions.mechanism == Mechanism.NONE
