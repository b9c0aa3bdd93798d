"""Settings, secrets and keys of providers over REST, without workspaces."""

import pytest
import yaml
from pytest_asyncio import fixture as async_fixture

from onetool.bootstrap import open_runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import Paths
from support.rest_in_process import serve_home, serve_rest

pytestmark = pytest.mark.asyncio(loop_scope="module")
KEY = "s3cret-0123456789abcdef"
MINE = "# mine\nlog: {level: info}  # quiet\n"


@async_fixture(scope="module", loop_scope="module")
async def served(tmp_path_factory):
    root = tmp_path_factory.mktemp("settings")
    paths = Paths(config=root / "config", data=root / "data", state=root / "state", cwd=root)
    paths.config.mkdir()
    async with (
        open_runtime(lambda: load_configuration(paths, {})) as runtime,
        serve_rest(runtime, edit_servers=True) as client,
    ):
        client.paths, client.runtime = paths, runtime
        yield client


@async_fixture(loop_scope="module")
async def rest(served):
    """Return a client of a server that may be changed, with its settings as they were, and its paths."""
    (served.paths.config / "secrets.yaml").unlink(missing_ok=True)
    (served.paths.config / "onetool.yaml").write_text(MINE)
    await served.post("/run", json={"command": "ot.reload()"})
    return served


async def read(rest, key):
    return (await rest.get(f"/settings/{key}")).json()


async def test_list_describes_every_setting_except_those_of_servers(rest):
    body = (await rest.get("/settings")).json()
    found = {setting["key"]: setting for setting in body["settings"]}
    level = found["log.level"]
    assert (level["type"], level["default"], level["value"], level["origin"]) == (
        "choice",
        "warning",
        "info",
        "user",
    )
    assert level["choices"] == ["debug", "info", "warning", "error", "critical"]
    assert found["expose"]["restart"] is True
    assert found["activity.retention_days"]["minimum"] == 1
    assert (found["allowedHosts"]["type"], found["allowedHosts"]["items"]) == ("list", "string")
    assert "servers" not in found
    assert (body["canEdit"], body["file"]) == (True, str(rest.paths.config / "onetool.yaml"))


async def test_change_is_active_at_once_and_keeps_the_rest_of_the_file(rest):
    seen = await read(rest, "log.level")
    put = await rest.put("/settings/log.level", json={"value": "debug", "digest": seen["digest"]})
    assert (put.status_code, put.json()["value"]) == (200, "debug")
    assert (rest.paths.config / "onetool.yaml").read_text() == MINE.replace("info", "debug")
    assert rest.runtime.state.configuration.settings.log.level == "debug"
    reset = await rest.delete("/settings/log.level", params={"digest": put.json()["digest"]})
    assert (reset.json()["value"], reset.json()["origin"]) == ("warning", "default")
    assert (await rest.delete("/settings/log.level")).status_code == 404


@pytest.mark.guards("client-settings")
async def test_value_that_was_changed_elsewhere_is_not_overwritten(rest):
    seen = await read(rest, "log.level")
    file = rest.paths.config / "onetool.yaml"
    file.write_text(MINE.replace("info", "error"))
    for response in (
        await rest.put("/settings/log.level", json={"value": "debug", "digest": seen["digest"]}),
        await rest.delete("/settings/log.level", params={"digest": seen["digest"]}),
    ):
        assert (response.status_code, "changed elsewhere" in response.json()["detail"]) == (409, True)
    assert file.read_text() == MINE.replace("info", "error")


WRONG_CHANGES = [
    ("log.level", "loud", 422, "should be debug, info"),
    ("log.levl", "info", 404, "Did you mean log.level?"),
    ("activity.retention_days", "7", 422, "should be an integer"),
    ("profiles.__proto__", {}, 422, "lower-case letters"),
    ("__proto__", {}, 404, "Unknown key"),
    ("aliases.a", "x" * 1_000_000, 422, "cannot be edited"),
    ("packs.mine", {"api_key": KEY}, 422, "looks like a secret"),
    ("servers.x.sandbox", False, 404, "/servers/NAME/settings"),
    ("secrets.command", ["op", KEY], 422, "{name}"),
]


@pytest.mark.guards("client-settings")
async def test_invalid_change_is_refused_and_nothing_is_written(rest):
    for key, value, status, message in WRONG_CHANGES:
        response = await rest.put(f"/settings/{key}", json={"value": value})
        assert (response.status_code, message in response.json()["detail"]) == (status, True), response.text
        assert KEY not in response.text
        assert (rest.paths.config / "onetool.yaml").read_text() == MINE


async def test_secret_in_the_file_is_hidden_and_stays(rest):
    """Settings of packs may contain one that was written by hand."""
    file = rest.paths.config / "onetool.yaml"
    file.write_text(f"packs:\n  mine: {{api_key: {KEY}, size: 1}}\n")
    await rest.post("/run", json={"command": "ot.reload()"})
    seen = await read(rest, "packs")
    assert KEY not in (await rest.get("/settings")).text
    assert seen["stored"] == {"mine": {"api_key": "[secret]", "size": 1}}
    changed = {"mine": seen["stored"]["mine"] | {"size": 2}}
    put = await rest.put("/settings/packs", json={"value": changed, "digest": seen["digest"]})
    assert (put.status_code, KEY in put.text) == (200, False)
    assert yaml.safe_load(file.read_text())["packs"] == {"mine": {"api_key": KEY, "size": 2}}
    other = await rest.put("/settings/packs.mine.other_key", json={"value": "[secret]"})
    assert other.status_code == 422


async def test_credential_in_any_text_is_hidden_and_refused(rest):
    """In an argument, a URL and a query, also under an ordinary key."""
    args, url = [f"--api-key={KEY}", "--port=80"], f"https://me:{KEY}@model.example/v1?api_key={KEY}"
    settings = {
        "packs": {"db": {"args": args}},
        "providers": {"own": {"protocol": "openai", "base_url": url}},
    }
    (rest.paths.config / "onetool.yaml").write_text(yaml.safe_dump(settings))
    await rest.post("/run", json={"command": "ot.reload()"})
    assert KEY not in (await rest.get("/settings")).text
    seen = await read(rest, "packs")
    assert seen["stored"]["db"]["args"] == ["--api-key=[secret]", "--port=80"]
    kept = await rest.put("/settings/packs.db.args", json={"value": ["--api-key=[secret]", "--port=81"]})
    assert kept.status_code == 200, kept.text
    assert (await read(rest, "providers"))["stored"]["own"]["base_url"].startswith("https://")
    stored = yaml.safe_load((rest.paths.config / "onetool.yaml").read_text())
    assert stored["packs"]["db"]["args"] == [f"--api-key={KEY}", "--port=81"]
    for key, value in (("providers.new", {"base_url": url}), ("aliases.a", f"x?token={KEY}9")):
        refused = await rest.put(f"/settings/{key}", json={"value": value})
        assert (refused.status_code, KEY in refused.text) == (422, False), refused.text


MOVED_SECRETS = {
    "removed": lambda items: items[1:],
    "reordered": lambda items: items[::-1],
    "renamed": lambda items: [items[0] | {"name": "c"}, items[1]],
    "added": lambda items: [*items, items[0]],
}


async def test_hidden_secret_is_never_given_to_another_item_of_a_list(rest):
    items = [{"name": "a", "api_key": KEY + "a1"}, {"name": "b", "api_key": KEY + "b2"}]
    file = rest.paths.config / "onetool.yaml"
    file.write_text(yaml.safe_dump({"packs": {"mine": {"accounts": items}}}))
    await rest.post("/run", json={"command": "ot.reload()"})
    shown = (await read(rest, "packs.mine.accounts"))["stored"]
    same = await rest.put("/settings/packs.mine.accounts", json={"value": shown})
    assert same.status_code == 200, same.text
    for what, change in MOVED_SECRETS.items():
        changed = await rest.put("/settings/packs.mine.accounts", json={"value": change(shown)})
        assert (changed.status_code, "Enter the whole value again" in changed.text) == (422, True), what
        assert yaml.safe_load(file.read_text())["packs"]["mine"]["accounts"] == items


async def test_secret_of_an_unset_variable_is_refused(rest):
    """OneTool would not start with it."""
    put = await rest.put("/secrets/A", json={"value": "${NO_SUCH_VARIABLE_HERE}"})
    assert (put.status_code, "'NO_SUCH_VARIABLE_HERE', which is not set" in put.text) == (422, True)
    assert not (rest.paths.config / "secrets.yaml").exists()


async def test_key_does_not_reach_attributes_of_values(rest):
    await rest.put("/settings/aliases.a", json={"value": "time.now"})
    response = await rest.get("/settings/aliases.a.__class__")
    assert response.status_code == 404 or response.json()["value"] is None, response.text


async def test_profile_can_be_created_changed_and_deleted(rest):
    value = {"packs": ["time"], "expose": "all", "approval": {"deny": ["time.now"]}}
    put = await rest.put("/settings/profiles.research", json={"value": value, "digest": ""})
    assert put.json()["stored"] == value
    decisions = (await rest.get("/access/time.now")).json()["decisions"]
    assert {"deny"} == {item["effect"] for item in decisions if item["profile"] == "research"}
    again = await rest.put("/settings/profiles.research", json={"value": {}, "digest": ""})
    assert again.status_code == 409
    assert (await rest.delete("/settings/profiles.research")).status_code == 200
    assert "profiles" not in (rest.paths.config / "onetool.yaml").read_text()


@pytest.mark.guards("client-settings")
async def test_secret_is_stored_and_never_returned(rest):
    put = await rest.put("/secrets/GITHUB_TOKEN", json={"value": KEY, "hosts": ["api.github.com"]})
    listed = await rest.get("/secrets")
    expected = {"name": "GITHUB_TOKEN", "of": "me", "hosts": ["api.github.com"], "source": "file"}
    assert (put.json(), listed.json()["secrets"]) == (expected, [expected])
    file = rest.paths.config / "secrets.yaml"
    assert yaml.safe_load(file.read_text())["GITHUB_TOKEN"]["value"] == KEY
    for body, hosts in (({}, ["api.github.com"]), ({"hosts": []}, []), ({}, []), ({"hosts": None}, None)):
        put = await rest.put("/secrets/GITHUB_TOKEN", json={"value": KEY + "2"} | body)
        assert put.json()["hosts"] == hosts
        stored = {"value": KEY + "2"} | ({} if hosts is None else {"hosts": hosts})
        assert yaml.safe_load(file.read_text())["GITHUB_TOKEN"] == stored
    assert (await rest.delete("/secrets/GITHUB_TOKEN")).status_code == 204
    assert (await rest.delete("/secrets/GITHUB_TOKEN")).status_code == 404
    assert (await rest.put("/secrets/--help", json={"value": KEY})).status_code == 400


async def test_key_of_a_provider_is_write_only(rest):
    put = await rest.put("/providers/openai/key", json={"key": KEY})
    assert (put.status_code, put.text) == (204, "")
    providers = (await rest.get("/providers")).json()
    assert {"secrets.yaml"} == {item["key"] for item in providers["providers"] if item["name"] == "openai"}
    assert KEY not in str(providers)
    assert (await rest.put("/providers/default", json={"name": "ollama"})).status_code == 204
    assert (await rest.get("/providers")).json()["default"] == "ollama"
    assert (await rest.delete("/providers/openai/key")).status_code == 204
    assert (await rest.delete("/providers/openai/key")).status_code == 404
    for path, body in (("ollama/key", {"key": KEY}), ("opnai/key", {"key": KEY}), ("default", {"name": "x"})):
        assert (await rest.put(f"/providers/{path}", json=body)).status_code == 422
    assert (await rest.put("/providers/openai/key", json={"key": "a\nb"})).status_code == 400


@pytest.mark.guards("client-settings")
async def test_nothing_can_be_changed_where_servers_cannot(home):
    """OneTool may then be reachable from other machines."""
    async with serve_home(home) as client:
        assert (await client.get("/settings")).json()["canEdit"] is False
        for method, path, body in (
            ("PUT", "/settings/log.level", {"value": "debug"}),
            ("DELETE", "/settings/log.level", None),
            ("GET", "/secrets", None),
            ("PUT", "/secrets/A", {"value": "b"}),
            ("DELETE", "/secrets/A", None),
            ("PUT", "/providers/openai/key", {"key": "k"}),
            ("DELETE", "/providers/openai/key", None),
            ("PUT", "/providers/default", {"name": "ollama"}),
        ):
            response = await client.request(method, path, json=body)
            assert (response.status_code, "cannot be changed here" in response.text) == (403, True), path
    assert not (home.config / "onetool.yaml").exists()
