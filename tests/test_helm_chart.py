"""The Helm chart: its values are checked by their schema, and what it renders is restricted and runs."""

import json
import re
import shutil
import subprocess
from functools import cache
from typing import Any

import jsonschema
import pytest
import yaml

from onetool.bootstrap.worker import STORE_S
from onetool.interfaces.cli.main import cli
from onetool.interfaces.rest.server import GRACE_PERIOD_S
from onetool.version import __version__
from support.paths import PROJECT

CHART = PROJECT / "deploy" / "helm" / "onetool"
CASES = sorted((CHART / "ci").glob("*.yaml"))
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SECRET = re.compile(r"_URL|_KEYS|_SECRET")
PUBLIC = "ONETOOL_PUBLIC_URL"
HELM, VALIDATE = shutil.which("helm"), shutil.which("kubernetes-validate")
needs_helm = pytest.mark.skipif(HELM is None, reason="helm is not installed")
each_case = pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)


def merge(values: Any, more: Any) -> Any:
    """Return values with others in their places, as Helm does."""
    if not (isinstance(values, dict) and isinstance(more, dict)):
        return more
    return values | {key: merge(values.get(key), value) for key, value in more.items()}


def helm(*words: str) -> subprocess.CompletedProcess[str]:
    assert HELM is not None
    return subprocess.run([HELM, *words], capture_output=True, text=True, check=False)


@cache
def render(case: Any) -> list[dict[str, Any]]:
    """Return the resources that the chart creates with the values of a file."""
    rendered = helm("template", "release", str(CHART), "--values", str(case))
    assert rendered.returncode == 0, rendered.stderr
    return [resource for resource in yaml.safe_load_all(rendered.stdout) if resource]


def pods(case: Any) -> dict[str, dict[str, Any]]:
    """Return the pods of the resources, by component."""
    return {
        resource["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"]: resource["spec"][
            "template"
        ]["spec"]
        for resource in render(case)
        if resource["kind"] in ("Deployment", "Job")
    }


def test_version_is_that_of_onetool():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


@each_case
def test_schema_accepts_the_values(case):
    values = merge(VALUES, yaml.safe_load(case.read_text(encoding="utf-8")))
    jsonschema.validate(values, SCHEMA)


@pytest.mark.parametrize(
    "wrong",
    [
        {"server": {"replica": 3}},
        {"publicUrl": "tools.example.com"},
        {"publicUrl": "https://tools.example.com/path"},
        {"env": {"ONETOOL_KEYS": "in plain text"}},
        {"env": {"ONETOOL_DATABASE_URL": "postgresql://in:plain@text"}},
        {"pgbouncer": {"serverTlsMode": "yes"}},
    ],
    ids=str,
)
def test_schema_refuses(wrong):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(merge(VALUES, wrong), SCHEMA)


def test_templates_use_only_values_that_exist():
    for template in (CHART / "templates").iterdir():
        for path in re.findall(r"\.Values\.([\w.]*\w)", template.read_text(encoding="utf-8")):
            value = VALUES
            for key in path.split("."):
                assert key in value, f"{template.name}: {path}"
                value = value[key]


@needs_helm
@each_case
def test_helm_accepts_the_chart(case):
    checked = helm("lint", "--strict", str(CHART), "--values", str(case))
    assert checked.returncode == 0, checked.stdout + checked.stderr


@needs_helm
@pytest.mark.skipif(VALIDATE is None, reason="kubernetes-validate is not installed")
@each_case
def test_kubernetes_accepts_the_resources(case, tmp_path):
    """Except for the ServiceMonitor, which belongs to the Prometheus operator."""
    resources = [resource for resource in render(case) if resource["kind"] != "ServiceMonitor"]
    (tmp_path / "resources.yaml").write_text(yaml.safe_dump_all(resources), encoding="utf-8")
    command = [str(VALIDATE), "--strict", str(tmp_path / "resources.yaml")]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@needs_helm
@pytest.mark.parametrize("missing", ["image.repository", "existingSecret", "publicUrl"])
def test_missing_value_is_named(missing):
    rendered = helm("template", "release", str(CHART), "--values", str(CASES[-1]), "--set", f"{missing}=")
    assert rendered.returncode != 0
    assert f"{missing} is required" in rendered.stderr


@needs_helm
@each_case
def test_pods_are_restricted(case):
    for pod in pods(case).values():
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not [
            volume for volume in pod["volumes"] if {"persistentVolumeClaim", "hostPath"} & set(volume)
        ]
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert {"requests", "limits"} <= set(container["resources"])


@needs_helm
@each_case
def test_secrets_are_references(case):
    """Only the migration refers to the URL of the owner."""
    for component, pod in pods(case).items():
        variables = {variable["name"]: variable for variable in pod["containers"][0].get("env", ())}
        for name, variable in variables.items():
            assert ("valueFrom" in variable) == (bool(SECRET.search(name)) and name != PUBLIC), name
        assert ("ONETOOL_OWNER_DATABASE_URL" in variables) == (component == "migrate")


@needs_helm
@each_case
def test_containers_start_commands_that_exist(case):
    for component in {"server", "worker", "migrate"} & set(pods(case)):
        name, *words = pods(case)[component]["containers"][0]["args"]
        command = cli.get_command(cli.make_context("onetool", [name]), name)
        assert command is not None
        command.make_context(name, words)


@needs_helm
@each_case
def test_pods_have_the_time_that_they_need_to_end(case):
    server, worker = pods(case)["server"], pods(case)["worker"]
    (container,) = server["containers"]
    wait_s = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert server["terminationGracePeriodSeconds"] > wait_s + GRACE_PERIOD_S
    (container,) = worker["containers"]
    grace_s = int(container["args"][container["args"].index("--grace") + 1])
    assert worker["terminationGracePeriodSeconds"] > grace_s + STORE_S


@needs_helm
@each_case
def test_only_servers_are_probed_over_http(case):
    probes = {"startupProbe", "livenessProbe", "readinessProbe"}
    for component, pod in pods(case).items():
        (container,) = pod["containers"]
        assert any("httpGet" in container[name] for name in probes & set(container)) == (
            component == "server"
        )
    assert not probes & set(pods(case)["worker"]["containers"][0])


@needs_helm
def test_policies_admit_nothing_else():
    """Every pod has a policy for both directions, and no policy admits a peer without saying which."""
    (case,) = [case for case in CASES if case.stem == "full"]
    policies = [resource["spec"] for resource in render(case) if resource["kind"] == "NetworkPolicy"]
    selected = {policy["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for policy in policies}
    assert selected == set(pods(case))
    for policy in policies:
        assert policy["policyTypes"] == ["Ingress", "Egress"]
        assert all(rule.get("from") and rule["ports"] for rule in policy["ingress"])
        assert all(rule.get("to") and rule["ports"] for rule in policy["egress"])
