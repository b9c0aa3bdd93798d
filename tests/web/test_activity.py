"""Browser tests: the page Activity lists finished calls and shows the calls inside them."""

import asyncio
import json
import os
import sys

import pytest
from playwright.async_api import expect

from support.raw_mcp import LEGACY
from support.rest_process import TOKEN, new_slug, write_private
from support.waiting import HANG_S
from support.web_app import WebApp, browser_test, find_violations, open_page
from web.hosted_pages import OVERFLOW

pytestmark = browser_test
PACK = '''"""Calls inside calls."""

import asyncio

from onetool.sdk import call_tool_async

pack = "branches"
WIDTH = 9
barriers = {}


async def branch(name: str) -> int:
    """Make calls at the same time."""
    barriers[name] = asyncio.Barrier(WIDTH)
    calls = (call_tool_async("branches.leaf", branch=name, number=number) for number in range(WIDTH))
    return sum(await asyncio.gather(*calls))


async def leaf(branch: str, number: int) -> int:
    """Wait for the other calls of the branch."""
    await barriers[branch].wait()
    return number


def echo(text: str) -> str:
    """Return the text."""
    return text


def fail(text: str) -> None:
    """Raise an error."""
    raise ValueError(text)
'''
EVIL = (
    '<img src=x onerror="alert(1)"><script>alert(2)</script><svg onload=alert(3)>'
    "[x](javascript:alert(4)) \u202eright to left \x1b[31mred\x1b[0m \x07 ‏مرحبا "
)
SHELL = 'it\'s "quoted" $(touch hacked) `touch hacked` \\ $HOME !!\nsecond line\r\n\t; touch hacked # ü'


@pytest.fixture(scope="session")
def shared_web_app(tmp_path_factory):
    app = WebApp(tmp_path_factory.mktemp("activity_app"))
    write_private(app.config / "tools" / "branches.py", PACK)
    with app:
        yield app


def call(web_app, name, **args):
    """Call a tool and return the id of the call."""
    response = web_app.client.post("/tools/call", json={"name": name, "args": args})
    return response.json()["meta"]["callId"]


def run(web_app, command):
    response = web_app.client.post("/run", json={"command": command})
    assert response.json()["ok"], response.text


def newest(web_app, **query):
    """Return the newest call with the calls inside it."""
    (record,) = web_app.client.get("/activity", params={"limit": 1, "parent": ""} | query).json()["records"]
    return web_app.client.get(f"/activity/{record['id']}").json()


def run_as_client(web_app, name, command):
    """Run code as an MCP client with this name."""
    headers = {"Accept": "application/json, text/event-stream"}

    def post(message):
        response = web_app.client.post("/mcp", json={"jsonrpc": "2.0", "id": 1} | message, headers=headers)
        assert response.status_code == 200, response.text
        return response

    info = {"name": name, "version": "1"}
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info}
    opened = post({"method": "initialize", "params": params})
    headers["Mcp-Session-Id"] = opened.headers["Mcp-Session-Id"]
    post({"method": "tools/call", "params": {"name": "run", "arguments": {"command": command}}})


def listing(page):
    return page.get_by_role("list", name="Activity").get_by_role("listitem")


def details(page):
    return page.get_by_role("region", name="Details of the call")


async def copy(page, button, start):
    """Copy a call and return the text, which starts with these words."""
    await details(page).get_by_role("button", name=button, exact=True).click()
    await page.wait_for_function(
        "async start => (await navigator.clipboard.readText()).startsWith(start)", arg=start
    )
    return await page.evaluate("navigator.clipboard.readText()")


async def execute(web_app, folder, *program):
    """Run a program in the environment of the server and return its output."""
    directories = {
        f"ONETOOL_{name.upper()}_DIR": str(web_app.root / name) for name in ("config", "data", "state")
    }
    environment = os.environ | directories | {"HOME": str(folder), "ONETOOL_TOKEN": TOKEN}
    process = await asyncio.create_subprocess_exec(
        *program, cwd=folder, env=environment, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await asyncio.wait_for(process.communicate(), HANG_S)
    assert process.returncode == 0
    return output


async def shown_tree(page):
    """Return the tool of each row and the index of its caller's row, from the levels of the rows."""
    items = await page.get_by_role("treeitem").evaluate_all(
        "rows => rows.map(row => [row.querySelector('code').textContent, +row.ariaLevel])"
    )
    rows, callers = [], []
    for index, (tool, level) in enumerate(items):
        del callers[level - 1 :]
        rows.append((tool, callers[-1] if callers else None))
        callers.append(index)
    return rows


async def test_a_run_with_nested_and_parallel_calls_appears_live_as_a_waterfall(web_app, page):
    marker = new_slug("run")
    await page.goto("/activity")
    await expect(page.get_by_role("button", name="Pause")).to_be_visible()
    names = [f"{marker}-{number}" for number in range(3)]
    command = f"[branches.branch(name=name) for name in {names!r}]"
    await asyncio.to_thread(run, web_app, command)
    record = newest(web_app)
    row = page.locator(f'a[href="/activity/{record["id"]}"]')
    await expect(row).to_contain_text("run")
    await expect(row).to_contain_text("rest")
    await row.click()
    tree = page.get_by_role("tree", name="31 calls")
    await expect(tree.get_by_role("treeitem")).to_have_count(31)
    shown = await shown_tree(page)
    assert shown[0] == ("run", None)
    assert [shown[at] for at in (1, 11, 21)] == [("branches.branch", 0)] * 3
    leaves = [("branches.leaf", at) for at in (1, 11, 21) for _ in range(9)]
    assert [row for row in shown if row[0] == "branches.leaf"] == leaves
    await expect(page.get_by_role("region", name="Code")).to_have_text(command)
    # Calls at the same time have bars that overlap; branches follow each other.
    bars = await tree.evaluate(
        """tree => [...tree.querySelectorAll('[role=treeitem]')].map(row => {
            const { left, right } = row.children[1].firstChild.getBoundingClientRect();
            return [left, right];
        })"""
    )
    assert max(left for left, _ in bars[2:11]) <= min(right for _, right in bars[2:11])
    assert bars[1][1] <= bars[11][0] + 3  # the least width of a bar
    assert await page.evaluate(OVERFLOW) <= 0
    assert await find_violations(page) == []


async def test_keys_select_calls(web_app, page):
    run(web_app, f"branches.branch(name={new_slug()!r}); branches.echo(text='last one')")
    await page.goto(f"/activity/{newest(web_app)['id']}")
    await page.get_by_role("treeitem").first.focus()
    await page.keyboard.press("End")
    focused = page.locator("[role=treeitem]:focus")
    await expect(focused).to_contain_text("branches.echo")
    await expect(details(page).get_by_role("region", name="Arguments")).to_contain_text('"text": "last one"')
    await expect(details(page).get_by_role("region", name="Result")).to_have_text("last one")
    await page.keyboard.press("ArrowUp")
    await expect(focused).to_contain_text("branches.leaf")
    await page.keyboard.press("ArrowLeft")
    await expect(focused).to_contain_text("branches.branch")
    await expect(details(page)).to_contain_text("the tool is read-only")
    await page.keyboard.press("Home")
    await expect(details(page).get_by_role("heading", name="run", exact=True)).to_be_visible()


async def test_filters_are_kept_in_the_address(web_app, page):
    client, text = new_slug("client"), new_slug()
    run_as_client(web_app, client, f"branches.echo(text={text!r})")
    call(web_app, "branches.echo", text=text)
    failed = call(web_app, "branches.fail", text=text)
    await page.goto("/activity")
    await page.get_by_role("searchbox", name="Client").fill(client)
    await expect(listing(page)).to_have_count(1)
    await expect(listing(page)).to_contain_text(client)
    await page.reload()
    await expect(page.get_by_role("searchbox", name="Client")).to_have_value(client)
    await expect(listing(page)).to_have_count(1)
    await page.get_by_role("switch", name="Also calls inside other calls").check()
    await expect(listing(page)).to_have_count(2)
    await page.get_by_role("searchbox", name="Client").fill("")
    await page.get_by_role("searchbox", name="Tool").fill("branches.f*")
    await page.get_by_role("switch", name="Failed only").check()
    await expect(listing(page).locator(f'a[href="/activity/{failed}"]')).to_contain_text("raised")
    await expect(listing(page).filter(has_text="branches.echo")).to_have_count(0)
    await page.get_by_role("combobox", name="Interface").click()
    await page.get_by_role("option", name="python").click()
    await page.get_by_role("combobox", name="Time").click()
    await page.get_by_role("option", name="Last hour").click()
    await expect(page.get_by_role("heading", name="No calls found")).to_be_visible()
    assert page.url.endswith("/activity?tool=branches.f*&interface=python&period=hour&failed=1&nested=1")


async def test_older_calls_are_loaded_by_page(web_app, page):
    ids = [call(web_app, "branches.echo", text="x") for _ in range(60)]
    await page.goto("/activity?tool=branches.echo")
    await expect(listing(page)).to_have_count(50)
    await page.get_by_role("button", name="Show older calls").click()
    await expect(listing(page).nth(59)).to_be_visible()
    links = await listing(page).get_by_role("link").evaluate_all("all => all.map(link => link.pathname)")
    assert links[:60] == [f"/activity/{id}" for id in reversed(ids)]


async def test_an_empty_page_with_a_cursor_offers_older_calls(web_app, page):
    """A search stops after many calls that do not match."""

    async def answer(route):
        if route.request.resource_type == "document" or "limit=1" in route.request.url:
            return await route.continue_()
        if "cursor=" not in route.request.url:
            body = {"records": [], "next": "100000", "generation": "0"}
            return await route.fulfill(json=body)
        return await route.continue_()

    id = call(web_app, "branches.echo", text="x")
    await page.route("**/activity?*", answer)
    await page.goto("/activity")
    await expect(page.get_by_text("None of the newest calls match.")).to_be_visible()
    await page.get_by_role("button", name="Pause").click()
    await page.get_by_role("button", name="Show older calls").click()
    await expect(page.locator(f'a[href="/activity/{id}"]')).to_be_visible()


async def test_pause_stops_requests_for_new_calls(web_app, page):
    await page.clock.install()
    await page.goto("/activity")
    await page.get_by_role("button", name="Pause").click()
    await page.wait_for_load_state("networkidle")
    requests = []
    page.on("request", lambda request: requests.append(request))
    last = call(web_app, "branches.echo", text="later")
    row = page.locator(f'a[href="/activity/{last}"]')
    await page.clock.run_for(60_000)
    fetched = [request.url for request in requests if request.resource_type == "fetch"]
    assert (fetched, await row.count()) == ([], 0)
    await page.get_by_role("button", name="Resume").click()
    await expect(row).to_be_visible()


async def test_hostile_texts_run_nothing_and_break_no_layout(web_app, page):
    """On a desktop and on a phone."""
    long = EVIL + "x" * 3_000
    run_as_client(web_app, EVIL + "y" * 300, f"branches.echo(text={long!r})")
    record = newest(web_app, interface="mcp")
    failed = call(web_app, "branches.fail", text=long)
    unknown = call(web_app, EVIL, **{EVIL: EVIL})
    await page.goto("/activity")
    await expect(page.locator(f'a[href="/activity/{record["id"]}"]')).to_contain_text("<script>alert(2)")
    paths = ("/activity", *(f"/activity/{id}" for id in (record["id"], failed, unknown)))
    for path in paths:
        await page.goto(path)
        await page.get_by_text("<script>alert(2)</script>").first.wait_for()
        for width in (1280, 390):
            await page.set_viewport_size({"width": width, "height": 844})
            assert await page.evaluate(OVERFLOW) <= 0, path
            assert await page.locator("main :is(img, iframe, script, svg[onload], [onerror])").count() == 0
            assert await find_violations(page) == []


async def test_a_call_is_copied_and_opened_in_the_tester_but_never_made(web_app, page, tmp_path):
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    first = call(web_app, "branches.echo", text=SHELL)
    await page.goto(f"/activity/{first}")
    command = await copy(page, "curl", "curl -X POST")
    output = await execute(web_app, tmp_path, "bash", "-c", command)
    assert json.loads(output)["value"] == SHELL
    again = newest(web_app)
    assert again["id"] != first
    assert (again["interface"], json.loads(again["arguments"])) == ("rest", {"text": SHELL})
    await execute(web_app, tmp_path, sys.executable, "-c", await copy(page, "Python", "from onetool"))
    last = newest(web_app)
    assert (last["interface"], last["tool"]) == ("python", "branches.echo")
    assert json.loads(last["arguments"]) == {"text": SHELL}
    assert list(tmp_path.iterdir()) == []
    await details(page).get_by_role("button", name="Call again in the tester").click()
    await page.get_by_text("JSON", exact=True).click()
    await expect(page.get_by_role("textbox", name="JSON")).to_contain_text("touch hacked")
    assert newest(web_app)["id"] == last["id"]
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text("second line")
    assert json.loads(newest(web_app)["arguments"]) == {"text": SHELL}


async def test_shortened_arguments_say_so_and_are_not_repeated(web_app, page):
    await page.goto(f"/activity/{call(web_app, 'branches.echo', text='z' * 100_000)}")
    await expect(details(page).get_by_text("shortened", exact=True)).to_have_count(2)
    await expect(details(page)).to_contain_text("This call cannot be repeated")
    await expect(details(page).get_by_role("button", name="curl")).to_have_count(0)


async def test_statistics_link_to_the_calls_of_a_tool(web_app, page):
    """Also to those inside other calls, which statistics count."""
    run(web_app, "branches.echo(text='inside')")
    await page.goto("/stats")
    await page.get_by_role("link", name="branches.echo").click()
    await expect(page.get_by_role("searchbox", name="Tool")).to_have_value("branches.echo")
    await listing(page).first.get_by_role("link").click()
    await page.get_by_role("link", name="Show the call or run that made this call").click()
    await expect(page.get_by_role("treeitem")).to_have_count(2)


async def test_activity_speaks_chinese_on_a_phone(web_app, browser):
    run(web_app, f"branches.branch(name={new_slug()!r})")
    page = await open_page(browser, web_app, viewport={"width": 390, "height": 844})
    await page.goto("/activity")
    await page.evaluate("localStorage.setItem('onetool-language', 'zh')")
    for path, text in (("/activity", "仅失败的"), (f"/activity/{newest(web_app)['id']}", "代码")):
        await page.goto(path)
        await page.get_by_text(text, exact=True).first.wait_for()
        assert await page.evaluate(OVERFLOW) <= 0
