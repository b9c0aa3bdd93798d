"""The command or URL of a registry entry: what a person approves is what runs."""

import pytest

from onetool.domain.servers.registry_entry import parse_entry
from onetool.domain.servers.registry_inputs import UnsupportedEntry
from onetool.domain.servers.registry_launch import with_variable
from onetool.domain.servers.registry_packages import find_launch
from support.registry_stub import SHA256, entry, filesystem_entry, npm_package, time_entry

DIGEST = "sha256:" + "a" * 64


def launch_of(kind=None, **server):
    return find_launch(parse_entry(entry("a.b/c", **server)), kind)


def npm(**fields):
    return launch_of(packages=[npm_package("pkg", "1.2.3") | fields])


def docker(identifier="mcp/fs", version="1.0.2", **fields):
    package = {"registryType": "oci", "identifier": identifier, "version": version, **fields}
    return launch_of(packages=[package])


def remote(url="https://mcp.example.com/mcp", **fields):
    return launch_of(remotes=[{"type": "streamable-http", "url": url, **fields}])


def variable(name="LEVEL", **fields):
    return {"name": name, **fields}


def positional(**fields):
    return {"type": "positional", **fields}


def named(name, **fields):
    return {"type": "named", "name": name, **fields}


def input_of(launch, name):
    return next(found for found in launch.inputs if found.name == name)


def test_npm_package_runs_with_its_exact_version():
    launch = find_launch(parse_entry(filesystem_entry("2025.8.21")))
    assert launch.settings_entry({"directory": ["/a", "/b c"]}) == {
        "command": "npx",
        "args": ["-y", "@modelcontextprotocol/server-filesystem@2025.8.21", "/a", "/b c"],
    }
    found = input_of(launch, "directory")
    assert (found.is_path, found.is_required, found.default) == (True, True, "")


def test_pypi_package_runs_with_its_exact_version():
    launch = find_launch(parse_entry(time_entry("0.5.1")))
    assert launch.settings_entry({}) == {"command": "uvx", "args": ["mcp-server-time==0.5.1"]}
    assert launch.settings_entry({"local-timezone": ["Asia/Tokyo"]})["args"][1:] == [
        "--local-timezone=Asia/Tokyo"
    ]


@pytest.mark.parametrize(
    ("identifier", "version", "image"),
    [
        ("mcp/fs", "1.0.2", "mcp/fs:1.0.2"),
        ("ghcr.io/owner/fs:1.0.2", None, "ghcr.io/owner/fs:1.0.2"),
        ("localhost:5000/fs:v1", "2", "localhost:5000/fs:v1"),
        (f"mcp/fs@{DIGEST}", None, f"mcp/fs@{DIGEST}"),
        (f"mcp/fs@{DIGEST}", "1.0", f"mcp/fs@{DIGEST}"),
    ],
)
def test_image_runs_with_its_tag_or_digest(identifier, version, image):
    assert docker(identifier, version).settings_entry({})["args"] == ["run", "-i", "--rm", image]


def test_docker_passes_variables_from_its_environment():
    """The value of a secret is not on the command line."""
    token = named("-e", value="TOKEN={token}", variables={"token": {"isSecret": True, "isRequired": True}})
    launch = docker(
        environmentVariables=[variable(default="info")],
        runtimeArguments=[positional(value="-i"), named("--rm"), token],
    )
    assert launch.settings_entry({"token": ["${S}"]}) == {
        "command": "docker",
        "args": ["run", "-e", "LEVEL", "-e", "TOKEN", "-i", "--rm", "mcp/fs:1.0.2"],
        "env": {"LEVEL": "info", "TOKEN": "${S}"},
    }
    assert input_of(launch, "token").is_secret
    extended = with_variable(launch, "EXTRA").settings_entry({"EXTRA": ["1"]})
    assert extended["args"][:3] == ["run", "-e", "EXTRA"]
    assert extended["env"]["EXTRA"] == "1"


@pytest.mark.parametrize(
    ("flag", "value", "word"),
    [
        ("--mount", "type=bind,src={src},dst={target_path}", "--mount=type=bind,src=/h,dst=/project"),
        ("--mount", "source={src},target=/x,readonly", "--mount=source=/h,target=/x,readonly"),
        ("-v", "{src}:/data:ro", "-v /h:/data:ro"),
    ],
)
def test_mounted_directory_is_chosen_by_the_user(flag, value, word):
    variables = {
        "src": {"isRequired": True, "value": "/", "default": "/"},
        "target_path": {"default": "/project"},
    }
    launch = docker(runtimeArguments=[named(flag, value=value, variables=variables, isRepeated=True)])
    found = input_of(launch, "src")
    assert (found.is_path, found.is_required, found.default) == (True, True, "")
    assert f" {word} mcp/fs:1.0.2" in " ".join(launch.settings_entry({"src": ["/h"]})["args"])


@pytest.mark.parametrize(
    "argument",
    [
        named("--mount", value="type=bind,src=/,dst=/host"),
        named("--mount", value="type=bind,src={x},dst=/host"),
        named("-v", value="/var/run/docker.sock:/s"),
        named("-v", value="{src}/..:/s", variables={"src": {}}),
        named("--privileged"),
        named("--network", value="host"),
        named("--rm", value="false"),
        positional(value="--privileged"),
        named("-e", value="{x}"),
        named("-e", value="LD_PRELOAD=/x"),
    ],
)
def test_other_arguments_of_docker_are_rejected(argument):
    with pytest.raises(UnsupportedEntry):
        docker(runtimeArguments=[argument])


def test_confirmation_flag_of_npx_is_not_repeated():
    launch = npm(runtimeArguments=[positional(value="-y"), named("--yes", value="true")])
    assert launch.settings_entry({})["args"] == ["-y", "pkg@1.2.3"]


@pytest.mark.parametrize("word", ["--package=evil", "-c", "--registry=https://evil.example", "evil"])
def test_other_arguments_of_npx_are_rejected(word):
    with pytest.raises(UnsupportedEntry, match="is not allowed"):
        npm(runtimeArguments=[positional(value=word)])


@pytest.mark.parametrize(
    "fields",
    [
        {"registryType": "nuget"},
        {"registryType": "mcpb"},
        {"runtimeHint": "bash"},
        {"runtimeHint": "/tmp/npx"},
        {"runtimeHint": "docker"},
        {"transport": {"type": "streamable-http", "url": "http://localhost"}},
        {"registryBaseUrl": "https://evil.example"},
        {"identifier": "--config=x"},
        {"identifier": "../../x"},
        {"identifier": "https://evil.example/x.tgz"},
        {"identifier": "pkg@npm:evil"},
        {"identifier": "a b"},
        {"identifier": "p" * 215},
        {"version": "latest"},
        {"version": "^1.2.3"},
        {"version": "1.x"},
        {"version": "1.2"},
        {"version": None},
        {"version": "1.2.3 --registry=x"},
        {"version": 1},
        {"fileSha256": "abc"},
        {"packageArguments": [positional(value="a\x1b[2K")]},
        {"packageArguments": [positional(value="a\u202eb")]},
        {"packageArguments": [positional(value="x" * 2_001)]},
        {"packageArguments": [positional(valueHint="a b")]},
        {"packageArguments": [named("--x y")]},
        {"packageArguments": [named("--x", choices="abc")]},
        {"packageArguments": [named("--key", isSecret=True, isRequired=True)]},
        {"packageArguments": [named("--x", value="{a}", variables={"a": 1})]},
        {"packageArguments": [named("--x", value="{a}", variables=[])]},
        {"packageArguments": "abc"},
        {"environmentVariables": [variable("A B")]},
        {"environmentVariables": [variable("A\n")]},
        {"environmentVariables": [variable("A", default="${GITHUB_TOKEN}")]},
        {"environmentVariables": [variable("A", value="Bearer ${GITHUB_TOKEN}")]},
        {"environmentVariables": [variable("A", choices=["${X}"])]},
        {"environmentVariables": [{}]},
    ],
)
def test_package_that_could_run_something_else_is_rejected(fields):
    with pytest.raises(UnsupportedEntry):
        npm(**fields)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "LD_PRELOAD",
        "NODE_OPTIONS",
        "npm_config_registry",
        "UV_INDEX_URL",
        "PYTHONPATH",
        "HTTPS_PROXY",
    ],
)
def test_variable_that_changes_the_program_is_rejected(name):
    with pytest.raises(UnsupportedEntry, match="could change which program runs"):
        npm(environmentVariables=[variable(name, value="x")])
    with pytest.raises(UnsupportedEntry):
        with_variable(npm(), name)


def test_variable_that_the_entry_does_not_declare_can_be_added():
    launch = with_variable(npm(), "EXTRA")
    assert launch.settings_entry({"EXTRA": ["1"]})["env"] == {"EXTRA": "1"}
    assert launch.settings_entry({}) == {"command": "npx", "args": ["-y", "pkg@1.2.3"]}


def test_harmless_variables_of_runtimes_are_accepted():
    launch = npm(
        environmentVariables=[variable("PYTHONUNBUFFERED", value="1"), variable("NODE_ENV", value="x")]
    )
    assert launch.settings_entry({})["env"] == {"PYTHONUNBUFFERED": "1", "NODE_ENV": "x"}


def test_parts_cannot_be_joined_to_a_reference_to_a_secret():
    variables = {"a": {"default": "$"}, "b": {"default": "{GITHUB_TOKEN}"}}
    launch = npm(environmentVariables=[variable("X", value="{a}{b}", variables=variables)])
    with pytest.raises(UnsupportedEntry, match="when they are joined"):
        launch.settings_entry({})


def test_value_that_would_be_read_as_an_option_is_rejected():
    """A fixed argument of the package may be an option; the user reviews it."""
    launch = npm(packageArguments=[positional(value="--safe"), positional(valueHint="name")])
    assert launch.settings_entry({"name": ["x"]})["args"][2:] == ["--safe", "x"]
    with pytest.raises(UnsupportedEntry, match="would be read as an option"):
        launch.settings_entry({"name": ["--config=/etc/x"]})


def test_shell_syntax_is_an_ordinary_argument():
    launch = npm(packageArguments=[positional(value="; rm -rf ~ $(id)"), named("-m", value="`id`")])
    assert launch.settings_entry({})["args"][2:] == ["; rm -rf ~ $(id)", "-m", "`id`"]


def test_optional_arguments_without_a_value_are_omitted():
    launch = npm(
        packageArguments=[named("--port"), named("--mode", default="fast"), named("--tag", isRepeated=True)],
        environmentVariables=[variable("A"), variable("B", value="{x}-{y}", variables={"x": {"value": "1"}})],
    )
    assert launch.repeated_inputs == {"tag"}
    entry_ = launch.settings_entry({"tag": ["a", "b"]})
    assert entry_["args"][2:] == ["--mode=fast", "--tag=a", "--tag=b"]
    assert entry_["env"] == {"B": "1-{y}"}


def test_input_that_is_used_twice_is_secret_and_required_if_one_use_is():
    first = variable("A", value="{t}", variables={"t": {"description": "First\x07"}})
    second = variable("B", value="{t}", isRequired=True, isSecret=True, variables={"t": {}})
    launch = npm(environmentVariables=[first, second])
    (found,) = launch.inputs
    assert (found.is_secret, found.is_required, found.description) == (True, True, "First\\x07")
    assert launch.accepts_secrets == {"t"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": "API_TOKEN"}, True),
        ({"name": "API_TOKEN", "default": "none"}, False),
        ({"name": "AUTH_MODE", "choices": ["a", "b"]}, False),
        ({"name": "KEY_FILE", "format": "filepath"}, False),
        ({"name": "LEVEL"}, False),
        ({"name": "LEVEL", "isSecret": True}, True),
    ],
)
def test_variables_with_a_secret_name_are_secret(fields, expected):
    assert npm(environmentVariables=[fields]).inputs[0].is_secret is expected


def test_optional_secret_argument_does_not_prevent_the_use():
    launch = npm(packageArguments=[named("--key", isSecret=True)])
    assert launch.accepts_secrets == frozenset()


def test_remote_server_has_a_url_and_headers():
    header = variable(
        "Authorization", value="Bearer {token}", isRequired=True, variables={"token": {"isSecret": True}}
    )
    launch = remote(
        "https://{tenant}.example.com/mcp", variables={"tenant": {"default": "eu"}}, headers=[header]
    )
    assert launch.settings_entry({"token": ["${S}"]}) == {
        "url": "https://eu.example.com/mcp",
        "headers": {"Authorization": "Bearer ${S}"},
    }
    assert remote("https://93.184.216.34:8443/?q=1").settings_entry({}) == {
        "url": "https://93.184.216.34:8443/?q=1"
    }
    with pytest.raises(UnsupportedEntry):
        launch.settings_entry({"tenant": ["evil.example/"], "token": ["${S}"]} | {"tenant": ["10.0.0.1:1@"]})


@pytest.mark.parametrize(
    "url",
    [
        "http://mcp.example.com",
        "https://user:pw@mcp.example.com/",
        "https://127.0.0.1/mcp",
        "https://[::1]/mcp",
        "https://169.254.169.254/latest",
        "https://localhost/mcp",
        "https://printer.local/mcp",
        "https://0x7f.1/mcp",
        "https://intranet/mcp",
        "https://mcp.example.com/\u202e",
        "https://mcp.example.com/ x",
        "file:///etc/passwd",
        "",
        None,
    ],
)
def test_url_that_is_not_public_https_is_rejected(url):
    with pytest.raises(UnsupportedEntry):
        remote(url)


@pytest.mark.parametrize(
    "fields", [{"type": "sse"}, {"headers": [variable("X-A\r\nHost")]}, {"headers": [{}]}]
)
def test_remote_server_with_another_transport_or_invalid_header_is_rejected(fields):
    with pytest.raises(UnsupportedEntry):
        remote(**fields)


def test_first_supported_package_is_chosen_or_the_requested_kind():
    packages = [{"registryType": "nuget"}, npm_package("pkg", "1.2.3", fileSha256=SHA256)]
    remotes = [{"type": "streamable-http", "url": "https://mcp.example.com"}]
    chosen = launch_of(packages=packages, remotes=remotes)
    assert (chosen.kind, chosen.sha256) == ("npm", SHA256)
    assert launch_of("remote", packages=packages, remotes=remotes).kind == "remote"


@pytest.mark.parametrize(
    ("kind", "server", "message"),
    [
        (None, {}, "it has no package and no URL"),
        ("pypi", {"packages": [npm_package("p", "1.0.0")]}, "it has no pypi package"),
        ("remote", {"packages": [npm_package("p", "1.0.0")]}, "it has no URL"),
        (None, {"packages": [{"registryType": "mcpb"}]}, "mcpb: packages of this kind cannot run"),
    ],
)
def test_error_says_why_nothing_can_run(kind, server, message):
    with pytest.raises(UnsupportedEntry, match=message):
        launch_of(kind, **server)
