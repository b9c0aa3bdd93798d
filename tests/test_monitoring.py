"""The alerts and the dashboard of a hosted OneTool: rules that fire, and metrics and pages that exist."""

import json
import re
import shutil
import subprocess

import pytest
import yaml

from support.hosted_process import HostedProcess
from support.paths import PROJECT
from support.processes import wait_until
from support.scraped_metrics import LISTEN, ScrapedMetrics

MONITORING, RUNBOOK = PROJECT / "deploy" / "monitoring", PROJECT / "docs" / "runbook"
RULES = MONITORING / "alerts.yaml"
ALERTS = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
METRIC = re.compile(r"\b(?:onetool|process)_[a-z0-9_]+\b")
PROMTOOL = shutil.which("promtool")
NEEDS_PROMTOOL = pytest.mark.skipif(PROMTOOL is None, reason="needs promtool, which is part of Prometheus")
SERVER, WORKER = 'job="onetool-server", instance="s"', 'job="onetool-worker", instance="w"'
REQUESTS = 'onetool_http_requests_total{interface="rest", status="%s", instance="s"}'
CALLS = 'onetool_tool_calls_total{kind="call", outcome="%s"}'
SLOW = 'onetool_tool_call_duration_seconds_bucket{kind="call", le="%s"}'
LOOP = 'onetool_event_loop_delay_seconds_bucket{le="%s"}'
SLOW_COUNT = 'onetool_tool_call_duration_seconds_count{kind="call"}'
LISTENING, AWAY = 'onetool_changes_listening{cluster="home"}', 'onetool_database_away{cluster="home"}'
POOL_WAIT = 'onetool_database_wait_seconds_total{cluster="home"}'
REFUSED = 'onetool_logins_total{method="key", outcome="refused"}'
OLDEST = 'onetool_queue_oldest_seconds{cluster="%s"}'
LOST = 'onetool_jobs_lost_total{job="onetool-worker", instance="%s"}'
STARTED = 'process_start_time_seconds{job="onetool-worker", instance="%s"}'
HOURS_4 = 240
CASES = {
    "OneToolProcessDown": ({f"up{{{SERVER}}}": "0x30"}, {f"up{{{SERVER}}}": "1x30"}),
    "OneToolNoServers": ({f"up{{{SERVER}}}": "0x30"}, {f"up{{{SERVER}}}": "1x30"}),
    "OneToolWorkerMissing": (
        {f"up{{{SERVER}}}": "1x30"},
        {f"onetool_worker_concurrency{{{WORKER}}}": "20x30", LISTENING: "1x30", OLDEST % "home": "0x30"},
    ),
    "OneToolDegraded": (
        {f'onetool_status{{status="unavailable", {SERVER}}}': "1x30"},
        {f'onetool_status{{status="draining", {SERVER}}}': "1x30"},
    ),
    "OneToolChangesNotAnnounced": ({LISTENING: "0x30", AWAY: "0x30"}, {LISTENING: "0x30", AWAY: "1x30"}),
    "OneToolErrors": (
        {REQUESTS % "200": "0+600x30", REQUESTS % "503": "0+60x30"},
        {REQUESTS % "200": "0+600x30", REQUESTS % "503": "0+6x30", REQUESTS % "401": "0+600x30"},
    ),
    "OneToolCallsFail": (
        {CALLS % "ok": "0+600x30", CALLS % "unavailable": "0+60x30"},
        {CALLS % "ok": "0+600x30", CALLS % "raised": "0+600x30", CALLS % "upstream": "0+600x30"},
    ),
    "OneToolCallsSlow": (
        {SLOW % "10": "0+80x40", SLOW % "30": "0+100x40", SLOW % "+Inf": "0+100x40", SLOW_COUNT: "0+100x40"},
        {SLOW % "10": "0+99x40", SLOW % "30": "0+100x40", SLOW % "+Inf": "0+100x40", SLOW_COUNT: "0+100x40"},
    ),
    "OneToolEventLoopDelayed": (
        {LOOP % "0.25": "0+80x30", LOOP % "0.5": "0+100x30", LOOP % "+Inf": "0+100x30"},
        {LOOP % "0.25": "0+99x30", LOOP % "0.5": "0+100x30", LOOP % "+Inf": "0+100x30"},
    ),
    "OneToolSlotsExhausted": (
        {"onetool_slots_waiting": "3x30"},
        {"onetool_slots_waiting": "3 0" + " 3 0" * 15},
    ),
    "OneToolDatabasePoolExhausted": (
        {POOL_WAIT: "0+60x30", AWAY: "0x30"},
        {POOL_WAIT: "0+6x30", AWAY: "0x30"},
    ),
    "OneToolRecordsDropped": (
        {"onetool_records_dropped_total": "0x20 5x10"},
        {"onetool_records_dropped_total": "5x30"},
    ),
    "OneToolRedisAway": ({"onetool_redis_away": "1x30"}, {"onetool_redis_away": "1 1 1 0" + " 1 1 1 0" * 7}),
    "OneToolQueueDelayed": (
        {"onetool_queue_oldest_seconds": "301x30"},
        {"onetool_queue_oldest_seconds": "299x30"},
    ),
    "OneToolJobsLost": (
        {LOST % "old": "0x20 1x10"},
        {LOST % "old": "3x5 _x10 3x14", STARTED % "old": "-7200x30", LOST % "new": "_x20 0x10"},
    ),
    "OneToolLoginsRefused": ({REFUSED: "0+10x30"}, {REFUSED: "0+1x30"}),
    "OneToolMemoryGrows": (
        {f"process_resident_memory_bytes{{{SERVER}}}": f"500000000+5000000x{HOURS_4}"},
        {f"process_resident_memory_bytes{{{SERVER}}}": f"2000000000x{HOURS_4}"},
    ),
}
"""For each alert, values of metrics, one a minute: it fires with the first ones, and not with the others."""
MORE_FIRING = {
    "OneToolProcessDown": {f"up{{{WORKER}}}": "0x30"},
    "OneToolWorkerMissing": {f"onetool_worker_concurrency{{{WORKER}}}": "20x30", LISTENING: "1x30"},
    "OneToolJobsLost": {LOST % "new": "_x20 2x10", STARTED % "new": "_x20 1200x10"},
}
"""A worker that is down, one that cannot use its queue, and one that ended jobs before it was first read."""


def page_of(alert):
    """Return the name of the page of an alert.

    >>> page_of("OneToolProcessDown")
    'process-down'
    """
    return "-".join(re.findall("[A-Z][a-z]+", alert.removeprefix("OneTool"))).lower()


def expressions():
    """Return the expressions of all panels and variables of the dashboard."""
    targets = [target for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    return [target["expr"] for target in targets]


def rule_test(alert, series, is_firing):
    minutes = HOURS_4 if alert == "OneToolMemoryGrows" else 30
    expected = [{"labels": "{}", "value": 1}] if is_firing else []
    firing = f'count(ALERTS{{alertname="{alert}", alertstate="firing"}})'
    return {
        "name": f"{alert} fires" if is_firing else f"{alert} does not fire",
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": firing, "eval_time": f"{minutes}m", "exp_samples": expected}],
    }


@NEEDS_PROMTOOL
def test_each_alert_fires_and_does_not_fire(tmp_path):
    tests = [
        rule_test(alert, series, bool(not number))
        for alert in CASES
        for number, series in enumerate(CASES[alert])
    ]
    tests += [rule_test(alert, series, True) for alert, series in MORE_FIRING.items()]
    file = tmp_path / "tests.yaml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run([PROMTOOL, "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@NEEDS_PROMTOOL
def test_prometheus_accepts_the_configuration():
    config = MONITORING / "prometheus.yaml"
    done = subprocess.run([PROMTOOL, "check", "config", config], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@NEEDS_PROMTOOL
def test_prometheus_can_parse_each_expression_of_the_dashboard(tmp_path):
    rules = [
        {"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "5m")}
        for number, expression in enumerate(expressions())
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    done = subprocess.run([PROMTOOL, "check", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_has_cases():
    assert list(CASES) == [rule["alert"] for rule in ALERTS]


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_alert_has_a_severity_texts_and_a_page(rule):
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    assert rule["annotations"]["runbook_url"].split("/")[-2] == page_of(rule["alert"])


def test_each_alert_has_a_page_and_each_page_an_alert():
    pages = {path.stem: path.read_text() for path in RUNBOOK.glob("*.md")}
    index = pages.pop("index")
    assert set(pages) == {page_of(rule["alert"]) for rule in ALERTS}
    for rule in ALERTS:
        page = page_of(rule["alert"])
        assert pages[page].startswith(f"# {rule['alert']}\n")
        assert f"[{rule['alert']}]({page}.md)" in index


@pytest.mark.parametrize("page", sorted(RUNBOOK.glob("[!i]*.md")), ids=lambda path: path.stem)
def test_page_says_what_to_do(page):
    headings = re.findall("^## (.+)$", page.read_text(), re.MULTILINE)
    assert headings == ["What it means", "What users notice", "Check", "What to do", "What not to do"]


def test_dashboard_can_be_imported():
    assert (DASHBOARD["uid"], DASHBOARD["title"]) == ("onetool-hosted", "OneTool")
    (source,) = [each for each in DASHBOARD["templating"]["list"] if each["type"] == "datasource"]
    for panel in DASHBOARD["panels"]:
        if panel["type"] != "row":
            assert panel["datasource"] == {"type": "prometheus", "uid": f"${{{source['name']}}}"}
            assert panel["title"]
            assert panel["targets"]
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))


def test_panels_do_not_overlap():
    taken = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells


def test_alerts_and_dashboard_use_only_metrics_that_exist(installation, own_redis, tmp_path):
    used = {
        name for text in [*expressions(), *(rule["expr"] for rule in ALERTS)] for name in METRIC.findall(text)
    }
    options = {"installation": installation, "ONETOOL_REDIS_URL": own_redis.url}
    with HostedProcess(tmp_path, *LISTEN, "--with-worker", **options) as server:
        metrics = ScrapedMetrics(server)
        assert wait_until(lambda: metrics.value("onetool_queue_oldest_seconds", cluster="home") is not None)
        existing = {name for name, _ in metrics.read()}
    assert used - existing == set()
    assert {name for name in existing - used if name.startswith("onetool_")} <= UNUSED


UNUSED = {
    "onetool_event_loop_delay_seconds_count",
    "onetool_event_loop_delay_seconds_sum",
    "onetool_tool_call_duration_seconds_sum",
}
"""Metrics that neither an alert nor a panel uses."""
