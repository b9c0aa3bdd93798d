"""Commands of servers: packages that they download, paths that they name, containers and profiles."""

from pathlib import Path

import pytest

from onetool.sources.mcp_servers.sandbox.containers import wrap_in_container
from onetool.sources.mcp_servers.sandbox.packages import find_download
from onetool.sources.mcp_servers.sandbox.policy import (
    GrantRefused,
    Mechanism,
    MechanismSupport,
    PathGrant,
    SandboxPolicy,
)
from onetool.sources.mcp_servers.sandbox.proposals import propose_paths
from onetool.sources.mcp_servers.sandbox.wrapping import wrap

DOWNLOADS = {
    "npx -y @scope/server .": "npx -y --package @scope/server -- node --version",
    "npx server@1.2 --root x": "npx -y --package server@1.2 -- node --version",
    "/usr/bin/npx --yes -- server": "/usr/bin/npx -y --yes --package server -- node --version",
    "npx -y --package a --package b run": "npx -y --package a --package b -- node --version",
    "npx --package=a -c run": "npx -y --package a -- node --version",
    "npx --registry http://r server": "npx -y --registry http://r --package server -- node --version",
    "npm exec -y server": "npm exec -y --package server -- node --version",
    "uvx mcp-server-time --local-timezone UTC": "uvx --from mcp-server-time python --version",
    "uvx mcp-server-time@2.1": "uvx --from mcp-server-time==2.1 python --version",
    "uvx mcp-server-time@latest": "uvx --from mcp-server-time python --version",
    "uvx --python 3.12 --from pkg[extra]==1 run": ("uvx --python 3.12 --from pkg[extra]==1 python --version"),
    "uvx --from git+https://host/x@v1 run": "uvx --from git+https://host/x@v1 python --version",
    "uv tool run pkg": "uv tool run --from pkg python --version",
    "bunx pkg x": "bunx --package pkg bun --version",
    "bun x pkg": "bun x --package pkg bun --version",
    "pipx run --python 3.12 pkg x": "pipx run --python 3.12 --spec pkg python --version",
    "pipx run --spec pkg==1 run": "pipx run --spec pkg==1 python --version",
}
INSTALLED = [
    "python -m server",
    "node server.js",
    "uv run server",
    "npm start",
    "npx",
    "uvx --version",
    "docker run x",
]


@pytest.mark.parametrize("command", DOWNLOADS)
def test_package_is_downloaded_by_the_same_runner_in_a_separate_step(command):
    program, *args = command.split()
    download = find_download(program, args)
    assert download is not None
    assert " ".join(download.argv) == DOWNLOADS[command]


@pytest.mark.parametrize("command", INSTALLED)
def test_command_that_runs_what_is_installed_downloads_nothing(command):
    program, *args = command.split()
    assert find_download(program, args) is None


def test_package_starts_without_network_after_the_download():
    assert find_download("npx", ["x"]).offline_env["npm_config_offline"] == "true"
    assert find_download("uvx", ["x"]).offline_env == {"UV_OFFLINE": "1"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a directory in the home directory of a user."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("project/docs", ".ssh", "project/data"):
        (tmp_path / name).mkdir(parents=True)
    for name in (".ssh/id", "project/server.py", "project/data/base.db"):
        (tmp_path / name).touch()
    return tmp_path / "project"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("npx -y @modelcontextprotocol/server-filesystem .", [(".", True)]),
        ("npx -y @modelcontextprotocol/server-filesystem docs data", [("docs", True), ("data", True)]),
        ("npx -y @modelcontextprotocol/server-filesystem . docs", [(".", True)]),
        ("uvx mcp-server-git --repository={0}/docs", [("docs", True)]),
        ("python server.py ./server.py", [("server.py", False)]),
        ("node ~/project/server.py --root=docs --level=3", [("server.py", False), ("docs", False)]),
        ("server --db ./data/base.db", [("data/base.db", False)]),
        ("uvx mcp-server-sqlite --db-path ./data/base.db", [("data/base.db", True)]),
        ("uvx mcp-server-sqlite --db-path ./data/new.db", [("data", True)]),
        ("server --db ./data/new.db", []),
        ("server file://{0}/docs https://host/docs", [("docs", False)]),
        ("server missing ./missing --root=missing -v", []),
        ("server ~ / .. ../.ssh ~/.ssh/id", []),
    ],
)
def test_paths_in_arguments_are_proposed(project, command, expected):
    program, *args = command.format(project).split()
    proposed = [(grant.path, grant.write) for grant in propose_paths(program, args, project)]
    assert proposed == [(project / name, write) for name, write in expected]


def test_container_gets_the_granted_paths_and_nothing_else(project):
    policy = SandboxPolicy(
        home=project / "own",
        cwd=project / "docs",
        paths=(PathGrant(path=project / "docs"), PathGrant(path=project / "data", write=True)),
        network=False,
    )
    command = wrap_in_container("/usr/bin/docker", "image:1", ["--flag"], {"TOKEN": "secret"}, policy)
    words = command.argv
    assert words[:5] == ("/usr/bin/docker", "run", "-i", "--rm", "--init")
    assert words[-2:] == ("image:1", "--flag")
    volumes = [words[index + 1] for index, word in enumerate(words) if word == "-v"]
    docs, data = project / "docs", project / "data"
    assert volumes == [f"{project / 'own'}:/home/server", f"{docs}:{docs}:ro", f"{data}:{data}"]
    assert words[words.index("--network") + 1] == "none"
    assert words[words.index("-w") + 1] == str(docs)
    assert {"--cap-drop=ALL", "--read-only", "--security-opt=no-new-privileges"} <= set(words)
    assert not any("secret" in word for word in words)
    assert command.env["TOKEN"] == "secret"
    assert command.restrictions.network


def test_container_cannot_get_the_home_directory(project):
    policy = SandboxPolicy(home=project / "own", cwd=project, paths=(PathGrant(path=project.parent),))
    with pytest.raises(GrantRefused, match="too wide"):
        wrap_in_container("/usr/bin/docker", "image", [], {}, policy)


def seatbelt(project: Path, *, network: bool) -> tuple[str, str]:
    policy = SandboxPolicy(
        home=project / "own",
        cwd=project,
        paths=(PathGrant(path=project / "docs"), PathGrant(path=project / "data", write=True)),
        network=network,
        secret_places=(project / "docs/secret",),
    )
    (project / "docs/secret").mkdir()
    support = MechanismSupport(mechanism=Mechanism.SEATBELT, program="/usr/bin/sandbox-exec")
    command = wrap(["/bin/sh", "-c", "true"], {}, policy, support)
    assert command.argv[:2] == ("/usr/bin/sandbox-exec", "-p")
    assert command.argv[3:] == ("/bin/sh", "-c", "true")
    return command.argv[2], command.restrictions.text


def test_profile_of_seatbelt_denies_everything_but_the_grants(project):
    profile, text = seatbelt(project, network=False)
    assert "(deny default)" in profile
    assert "network" not in profile
    writable = profile.index("(allow file-write*\n")
    assert f'(subpath "{project}/data")' in profile[writable:]
    denied = profile.index("(deny file-read* file-write*")
    assert f'(subpath "{project}/docs/secret")' in profile[denied:]
    assert profile.rstrip().endswith(f'(allow file-read* file-write*\n  (subpath "{project}/own"))')
    assert "processes not restricted" in text
    assert "untried" in text


def test_profile_of_seatbelt_allows_the_network_if_the_policy_does(project):
    assert "(allow network-outbound" in seatbelt(project, network=True)[0]


def test_profile_of_seatbelt_quotes_paths(project):
    name = 'a")(allow default)("'
    (project / name).mkdir()
    support = MechanismSupport(mechanism=Mechanism.SEATBELT, program="/usr/bin/sandbox-exec")
    policy = SandboxPolicy(home=project / "own", cwd=project, paths=(PathGrant(path=project / name),))
    profile = wrap(["/bin/sh"], {}, policy, support).argv[2]
    assert r"a\")(allow default)(\"" in profile
