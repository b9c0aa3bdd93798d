"""Browser tests of tools made of code: saving a run as a tool, and the forms for steps and for code."""

import pytest
from playwright.async_api import Locator, Page, expect

from support.rest_process import new_slug
from support.web_app import (
    AXE,
    browser_test,
    create_tool_and_bundle,
    find_violations,
    open_page,
    open_tool,
)
from web.hosted_pages import OVERFLOW

pytestmark = browser_test

ADD_SCHEMA = {
    "type": "object",
    "properties": {"count": {"type": "integer"}, "label": {"type": "string", "default": "x"}},
    "required": ["count"],
    "additionalProperties": False,
}
STEPS = [
    {"name": "total", "tool": "probes.add", "args": {"a": {"from": "args.count"}, "b": {"value": 1}}},
    {
        "name": "rows",
        "tool": "notes.many",
        "args": {"number": {"from": "total"}},
        "when": {"from": "args.label", "is": "not_equals", "value": "none"},
    },
]


def code_tool(impl, schema=ADD_SCHEMA):
    """Return the body of a tool made of code."""
    return {"type": "code", "description": "Make rows.", "argSchema": schema, "codeImpl": impl}


async def choose(scope: Locator | Page, label: str, option: str) -> None:
    """Choose an option of a list."""
    await scope.get_by_role("combobox", name=label).click()
    page = scope if isinstance(scope, Page) else scope.page
    await page.get_by_role("option", name=option, exact=True).click()


async def fill_name(page: Page, bundle: str, tool: str) -> None:
    """Enter the names of a new bundle and a tool."""
    await choose(page, "Bundle", "New bundle")
    await page.get_by_label("Short name of the new bundle").fill(bundle)
    await page.get_by_role("textbox", name="Short name", exact=True).fill(tool)


async def add_step(page: Page, number: int, tool: str) -> Locator:
    """Add a step that calls a tool."""
    await page.get_by_role("button", name="Add step").click()
    step = page.get_by_role("region", name=f"Step {number}", exact=True)
    field = step.get_by_role("combobox", name="Tool")
    await expect(field).to_be_focused()
    await field.fill(tool)
    await page.get_by_role("option", name=tool).first.click()
    return step


async def type_program(page: Page, code: str) -> None:
    """Type code into the Playground."""
    await page.goto("/playground")
    await page.get_by_role("textbox", name="Code").click()
    await page.keyboard.insert_text(code)


def call(web_app, name: str, **args):
    """Call a tool by its name, and return the value."""
    body = web_app.client.post("/tools/call", json={"name": name, "args": args}).json()
    assert body["ok"], body
    return body["value"]


def name_in_code(bundle: str, tool: str) -> str:
    """Return the name of a stored tool in code."""
    return f"{bundle}.{tool}".replace("-", "_")


async def test_run_is_saved_as_a_tool_with_inputs(web_app, page):
    """The chosen values become inputs, and the present values stay their defaults."""
    await type_program(page, 'rows = notes.many(number=2)\n[row["text"] for row in rows] + ["end"]')
    await page.keyboard.press("Control+Enter")
    await expect(page.get_by_text("Done", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Save as tool").click()
    await page.get_by_role("checkbox", name="2, line 1").check()
    await expect(page.get_by_role("textbox", name="2, line 1: Name")).to_have_value("number")
    await page.get_by_role("checkbox", name='"end", line 2').check()
    await page.get_by_role("textbox", name='"end", line 2: Name').fill("last")
    await page.get_by_role("textbox", name='"end", line 2: Description').fill("What comes last")
    program = page.get_by_role("textbox", name="Program of the tool")
    await expect(program).to_contain_text("number=number")
    bundle, tool = new_slug("saved"), new_slug("run")
    await fill_name(page, bundle, tool)
    await page.get_by_role("textbox", name="Display name").fill("Saved run")
    await page.get_by_role("textbox", name="Description", exact=True).fill("List the texts of notes.")
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("heading", name="Saved run")).to_be_visible()
    await page.get_by_label("last").fill("over")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text('"over"')
    name = name_in_code(bundle, tool)
    assert call(web_app, name) == ["note 0", "note 1", "end"]
    assert call(web_app, name, number=1, last="over") == ["note 0", "over"]


async def test_recorded_run_is_saved_as_a_tool(web_app, page):
    """The page has the code of the record, also after a reload."""
    code = 'probes.add(a=40, b=2) + len("recorded")'
    assert web_app.client.post("/run", json={"command": code}).json()["ok"]
    await page.goto("/activity")
    await page.get_by_role("link", name="run").first.click()
    await page.get_by_role("button", name="Save as tool").click()
    await expect(page.get_by_role("checkbox", name="40, line 1")).to_be_visible()
    await page.reload()
    await page.get_by_role("checkbox", name="40, line 1").check()
    bundle, tool = new_slug("saved"), new_slug("record")
    await fill_name(page, bundle, tool)
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("button", name="Delete this version")).to_be_visible()
    assert call(web_app, name_in_code(bundle, tool), a=1) == 1 + 2 + len("recorded")


async def test_errors_of_a_saved_run_are_shown_at_their_fields(web_app, page):
    _, stored = create_tool_and_bundle(web_app)
    await type_program(page, "probes.add(a=1, b=22)")
    await page.get_by_role("button", name="Save as tool").click()
    await page.get_by_role("checkbox", name="1, line 1").check()
    await page.get_by_role("checkbox", name="22, line 1").check()
    name = page.get_by_role("textbox", name="22, line 1: Name")
    await name.fill("class")
    await expect(name).to_have_attribute("aria-invalid", "true")
    await name.fill("a")
    await expect(name).to_have_attribute("aria-invalid", "true")
    await name.fill("b")
    await expect(name).not_to_have_attribute("aria-invalid", "true")
    await fill_name(page, new_slug("saved"), "not_a_slug")
    await page.get_by_role("button", name="Save tool").click()
    slug = page.get_by_role("textbox", name="Short name", exact=True)
    await expect(slug).to_have_attribute("aria-invalid", "true")
    await choose(page, "Bundle", stored["bundleSlug"])
    await slug.fill(stored["slug"])
    await page.get_by_role("button", name="Save tool").click()
    version = page.get_by_role("textbox", name="Version")
    await expect(version).to_have_attribute("aria-invalid", "true")
    await version.fill("v2")
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("button", name="Delete this version")).to_be_visible()
    assert web_app.get_tool(stored | {"version": "v2"})["codeImpl"] == {"program": "probes.add(a=a, b=b)"}


async def test_code_that_is_no_program_is_not_saved(web_app, page):
    """The page says what is wrong, and without a program where to write one."""
    await type_program(page, "1 +")
    await page.get_by_role("button", name="Save as tool").click()
    await expect(page.get_by_role("alert")).to_contain_text("line 1")
    page = await page.context.new_page()
    await page.goto("/tools/save")
    await expect(page.get_by_role("heading", name="No program to save")).to_be_visible()


async def test_two_steps_make_a_tool_without_code(web_app, page):
    """The second step uses the result of the first one; the tool does what the two calls do by hand."""
    bundle, tool = new_slug("steps"), new_slug("rows")
    await page.goto("/tools/new")
    await fill_name(page, bundle, tool)
    await page.get_by_text("Steps", exact=True).click()
    await page.get_by_role("button", name="Add input").click()
    await expect(page.get_by_role("textbox", name="Name", exact=True)).to_be_focused()
    await page.keyboard.type("count")
    parameter = page.get_by_role("group", name="count")
    await choose(parameter, "Value type", "Whole number")
    first = await add_step(page, 1, "probes.add")
    await expect(first.get_by_role("textbox", name="Name of its result")).to_have_value("add")
    await first.get_by_role("textbox", name="Name of its result").fill("total")
    await choose(first.get_by_role("group", name="a *"), "Comes from", "args.count")
    await first.get_by_role("group", name="b *").get_by_label("Value").fill("1")
    second = await add_step(page, 2, "notes.many")
    await second.get_by_role("button", name="Show 1 optional argument").click()
    await choose(second.get_by_role("group", name="number"), "Comes from", "total")
    program = page.get_by_role("textbox", name="Program of these steps")
    await expect(program).to_contain_text("total = probes.add(a=count, b=1)")
    await expect(program).to_contain_text("many = notes.many(number=total)")
    test = page.get_by_role("region", name="Try it")
    await test.get_by_label("count").fill("1")
    await test.get_by_role("button", name="Run test").click()
    await expect(test.get_by_role("cell", name="note 1")).to_be_visible()
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("button", name="Delete this version")).to_be_visible()
    by_hand = call(web_app, "notes.many", number=call(web_app, "probes.add", a=3, b=1))
    assert call(web_app, name_in_code(bundle, tool), count=3) == by_hand
    await page.get_by_role("tab", name="Program").click()
    await expect(page.get_by_role("textbox", name="Program")).to_contain_text(
        "many = notes.many(number=total)"
    )


async def test_steps_open_again_in_their_form(web_app, page):
    """A renamed input is renamed in all steps, and a moved step cannot use later results."""
    tool = web_app.create_tool(slug=new_slug("again"), **code_tool({"steps": STEPS}))
    await open_tool(page, tool)
    await page.get_by_role("link", name="New version").click()
    first, second = (page.get_by_role("region", name=f"Step {number}", exact=True) for number in (1, 2))
    await expect(first.get_by_role("combobox", name="Tool")).to_have_value("probes.add")
    await expect(first.get_by_role("group", name="b *").get_by_label("Value")).to_have_value("1")
    await expect(second.get_by_label("Compared with")).to_have_value("none")
    name = page.get_by_role("textbox", name="Name", exact=True).first
    await name.fill("")
    await name.fill("size")
    program = page.get_by_role("textbox", name="Program of these steps")
    await expect(program).to_contain_text("total = probes.add(a=size, b=1)")
    await second.get_by_role("button", name="Move step 2 up").click()
    await expect(first.get_by_role("combobox", name="Tool")).to_have_value("notes.many")
    source = first.get_by_role("group", name="number").get_by_role("combobox", name="Comes from")
    await expect(source).to_have_attribute("aria-invalid", "true")
    await first.get_by_role("button", name="Move step 1 down").click()
    await expect(page.get_by_role("button", name="Move step 2 down")).to_be_focused()
    await first.get_by_role("group", name="b *").get_by_label("Value").fill("2")
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("button", name="Delete this version")).to_be_visible()
    stored = web_app.get_tool(tool | {"version": "v2"})
    assert stored["codeImpl"]["steps"][0]["args"] == {"a": {"from": "args.size"}, "b": {"value": 2}}
    assert len(web_app.invoke_value(tool | {"version": "v2"}, size=1)) == 3
    assert web_app.invoke_value(tool | {"version": "v2"}, size=1, label="none") is None
    assert len(web_app.invoke_value(tool, count=1)) == 2


async def test_errors_of_steps_are_shown_at_their_fields(web_app, page):
    await page.goto("/tools/new")
    await page.get_by_text("Steps", exact=True).click()
    step = await add_step(page, 1, "probes.one")
    name = step.get_by_role("textbox", name="Name of its result")
    await name.fill("probes")
    await expect(name).to_have_attribute("aria-invalid", "true")
    await name.fill("one")
    await expect(name).not_to_have_attribute("aria-invalid", "true")
    for _ in range(2):
        await page.get_by_role("button", name="Add input").click()
        await page.keyboard.type("city")
    names = page.get_by_role("group", name="city").get_by_role("textbox", name="Name", exact=True)
    await expect(names.first).to_have_attribute("aria-invalid", "true")
    await fill_name(page, new_slug("steps"), new_slug("bad"))
    await page.get_by_role("button", name="Save tool").click()
    await page.get_by_role("button", name="Remove input city").first.click()
    await expect(names).not_to_have_attribute("aria-invalid", "true")
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("button", name="Delete this version")).to_be_visible()


async def test_steps_are_continued_as_code_and_code_opens_as_code(web_app, page):
    tool = web_app.create_tool(slug=new_slug("code"), **code_tool({"steps": STEPS[:1]}))
    await open_tool(page, tool)
    await page.get_by_role("link", name="New version").click()
    await page.get_by_role("button", name="Continue as code").click()
    editor = page.get_by_role("textbox", name="Program", exact=True)
    await expect(editor).to_contain_text("total = probes.add(a=count, b=1)")
    await editor.press("Control+End")
    await page.keyboard.insert_text("total * 10 +\n")
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("alert").filter(has_text="line").first).to_be_visible()
    await page.keyboard.press("Control+Home")
    await editor.press("Control+a")
    await page.keyboard.insert_text("probes.add(a=count, b=1) * 10")
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("button", name="Delete this version")).to_be_visible()
    assert web_app.invoke_value(tool | {"version": "v2"}, count=4) == 50
    await page.get_by_role("link", name="New version").click()
    await expect(editor).to_contain_text("probes.add(a=count, b=1) * 10")
    assert await page.get_by_role("group", name="label").get_by_label("Default value").input_value() == "x"


async def test_steps_form_needs_only_the_keyboard(web_app, page):
    """All fields are filled in by keys; the focus follows what is added, moved and removed."""
    press = page.keyboard.press
    await page.goto("/tools/new")
    await page.get_by_role("radio", name="HTTP request").focus()
    await press("ArrowRight")
    await page.get_by_role("button", name="Add step").focus()
    await press("Enter")
    await page.keyboard.type("probes.two")
    await expect(page.get_by_role("option").first).to_contain_text("probes.two")
    await press("ArrowDown")
    await press("Enter")
    await press("Tab")
    await expect(page.get_by_role("textbox", name="Name of its result")).to_be_focused()
    await expect(page.get_by_role("textbox", name="Name of its result")).to_have_value("two")
    await page.get_by_role("button", name="Add step").focus()
    await press("Enter")
    await page.keyboard.type("probes.one")
    await press("Escape")
    await press("Tab")
    await page.get_by_role("button", name="Move step 2 up").focus()
    await press("Enter")
    await expect(page.get_by_role("button", name="Move step 1 up")).to_be_focused()
    await press("Enter")
    await expect(
        page.get_by_role("region", name="Step 1", exact=True).get_by_role("combobox").first
    ).to_have_value("probes.one")
    await page.get_by_role("button", name="Remove step 1").focus()
    await press("Enter")
    await expect(page.get_by_role("button", name="Add step")).to_be_focused()
    await expect(page.get_by_role("textbox", name="Program of these steps")).to_contain_text(
        "two = probes.two()"
    )


@pytest.mark.skipif(not AXE.exists(), reason="requires axe-core: just web")
@pytest.mark.parametrize(("scheme", "width", "language"), [("light", 1280, "en"), ("dark", 360, "zh")])
async def test_pages_of_code_tools_are_accessible(web_app, browser, scheme, width, language):
    """The forms have no serious violations and do not scroll horizontally, on a desktop and on a phone."""
    steps = web_app.create_tool(slug=new_slug("axe"), **code_tool({"steps": STEPS}))
    code = web_app.create_tool(slug=new_slug("axe"), **code_tool({"program": "count * 2"}))
    page = await open_page(browser, web_app, viewport={"width": width, "height": 800}, color_scheme=scheme)
    texts = {"en": ("Compared with", "Save as tool"), "zh": ("比较的值", "保存为工具")}[language]
    for tool in (steps, code):
        await page.goto(f"/tools/{tool['bundleID']}/{tool['slug']}/new?lang={language}")
        await page.get_by_text("count").first.wait_for()
        if tool is steps:
            await expect(page.get_by_label(texts[0])).to_have_value("none")
        assert (await find_violations(page), await page.evaluate(OVERFLOW)) == ([], 0)
    await page.goto("/playground")
    await page.locator(".cm-content").click()
    await page.keyboard.insert_text(f'probes.add(a=1, b=len("{"long " * 40}"))')
    await page.get_by_role("button", name=texts[1]).click()
    for box in await page.get_by_role("checkbox").all():
        await box.check()
    assert (await find_violations(page), await page.evaluate(OVERFLOW)) == ([], 0)


async def test_callers_of_a_workspace_cannot_save_tools(browser, workspace, carl, mia):
    """Only makers see the button."""
    for view, count in ((carl, 0), (mia, 1)):
        page = await open_page(browser, view)
        await page.goto(f"{view.url}/playground")
        await page.get_by_role("textbox", name="Code").wait_for()
        await page.get_by_role("link", name="Playground").wait_for()  # depends on the rights, too
        await expect(page.get_by_role("button", name="Save as tool")).to_have_count(count)
