"""The Tools screen in a real browser: list, switch, search, create, change, delete, import, try out."""

import io
import json
import zipfile

import pytest
from playwright.async_api import Page, expect
from web_site import on_screens, turn

from rest_server import KEY, Answer, http_tool, new_slug

pytestmark = on_screens

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def own(site, **fields):
    """A bundle with one tool that no other test uses."""
    slug = new_slug("b")
    return slug, site.tool(site.bundle(slug=slug, displayName=slug), slug=new_slug("t"), **fields)


async def search(page: Page, text: str) -> None:
    await page.goto("/tools")
    await page.get_by_label("Search tools").fill(text)


async def open_tool(page: Page, tool: dict) -> None:
    await page.goto(f"/tools/{tool['bundleID']}/{tool['slug']}")
    await page.get_by_role("heading", level=1).wait_for()


@pytest.mark.spec("BND-07", "BND-09")
async def test_a_tool_and_its_bundle_are_switched(site, page):
    """What the screen switches is what the server knows."""
    slug, tool = own(site)
    await search(page, tool["slug"])
    await turn(page, page.get_by_role("switch", name=f"Tool {tool['name']}"))
    await expect(page.get_by_role("switch", name=f"Tool {tool['name']}")).not_to_be_checked()
    assert site.get(tool)["isEnabled"] is False
    await page.goto("/tools")
    switch = page.get_by_role("switch", name=f"Bundle {slug}")
    await turn(page, switch)
    await expect(switch).not_to_be_checked()
    assert site.find_bundle(tool["bundleID"])["isEnabled"] is False


@pytest.mark.spec("BND-09")
async def test_search_finds_as_one_types_and_says_when_nothing_fits(site, page):
    """The same ranking as everywhere, without a key press beyond the words."""
    _, tool = own(site)
    await search(page, tool["slug"][:10])
    await expect(page.get_by_role("link", name=tool["slug"])).to_be_visible()
    await page.get_by_label("Search tools").fill("qqqqxxxxzzzz")
    await expect(page.get_by_text("Nothing fits")).to_be_visible()


@pytest.mark.spec("BND-07", "BND-09")
async def test_the_tester_calls_with_a_form_and_shows_a_table(site, upstream, page):
    """The form is made from the schema; an argument that is missing is told beside its field."""
    path = upstream.script(Answer(body=[{"day": 1, "mm": 3}, {"day": 2, "mm": 0}]))
    _, tool = own(site, **http_tool(f"{upstream.url}{path}/${{city}}", argSchema=CITY))
    await open_tool(page, tool)
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_text("is needed")).to_be_visible()
    assert upstream.seen(path) == []
    await page.get_by_label("city").fill("São Paulo")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_text("Done", exact=True)).to_be_visible()
    await expect(page.get_by_role("cell", name="3", exact=True)).to_be_visible()
    assert upstream.seen(path)[0].path.endswith("/S%C3%A3o%20Paulo")
    await page.get_by_text("JSON", exact=True).last.click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text('"mm": 3')
    await expect(page.get_by_role("button", name="São Paulo")).to_be_visible()


async def test_the_tester_shows_progress_and_stops(site, page, tmp_path):
    """Progress is shown while the tool runs; stopping it leaves a word, not an error."""
    gate = tmp_path / "gate"
    steps = {"type": "object", "properties": {"gate": {"type": "string"}}}
    _, tool = own(site, func="probes.stepwise", argSchema=steps)
    await open_tool(page, tool)
    await page.get_by_label("gate").fill(str(gate))
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_text("half")).to_be_visible()
    await page.get_by_role("button", name="Stop").click()
    await expect(page.get_by_text("Stopped.")).to_be_visible()
    gate.touch()
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_text("opened")).to_be_visible()


async def test_a_failure_is_told_in_words_and_secrets_never_appear(site, upstream, page):
    """The request that was sent is shown, with a mask where a secret stood."""
    path = upstream.script(Answer(500, "broken"))
    sent = {"headers": {"X-Key": "${API_KEY}"}}
    _, tool = own(site, **http_tool(upstream.url + path, request=sent))
    await open_tool(page, tool)
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Request that was sent").first).to_contain_text(
        "X-Key: [secret]"
    )
    await expect(page.get_by_text("The tool failed")).to_be_visible()
    assert upstream.seen(path)[0].headers["x-key"] == KEY
    assert KEY not in await page.content()


@pytest.mark.spec("BND-09")
async def test_a_tool_is_edited_by_a_new_version_and_deleted(site, upstream, page):
    """A version never changes: editing makes another one, and each can be removed."""
    path = upstream.script(Answer(body="one"))
    _, tool = own(site, **http_tool(f"{upstream.url}{path}/${{city}}", argSchema=CITY))
    await open_tool(page, tool)
    await page.get_by_role("link", name="New version").click()
    await expect(page.get_by_role("textbox", name="Version")).to_have_value("v2")
    await page.get_by_label("Description").fill("Better than before.")
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("heading", name="Try it")).to_have_count(0)
    await expect(page.get_by_text("Better than before.")).to_be_visible()
    second = {**tool, "version": "v2"}
    assert site.get(second)["description"] == "Better than before."
    assert site.get(tool)["description"] == tool["description"]
    await page.get_by_role("button", name="Delete this version").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("Better than before.")).to_have_count(0)
    assert site.client.get(site.url_of(second)).status_code == 404


@pytest.mark.spec("BND-70", "BND-09")
async def test_a_recipe_makes_a_tool_without_json(site, upstream, page):
    """Form steps only: placeholders are found, a test call is made, the tool is saved and answers."""
    path = upstream.script(Answer(body={"mm": 7}))
    bundle, slug = new_slug("weather"), new_slug("rain")
    await page.goto("/tools/new")
    await page.get_by_role("combobox", name="Bundle").click()
    await page.get_by_role("option", name="A new bundle").click()
    await page.get_by_label("Name of the new bundle").fill(bundle)
    await page.get_by_label("Short name").fill(slug)
    await page.get_by_label("Description").fill("Tell how much it rains.")
    await page.get_by_label("Address").fill(f"{upstream.url}{path}/${{city}}")
    await page.get_by_role("combobox", name="Sign-in").click()
    await page.get_by_role("option", name="Token (Bearer)").click()
    await page.get_by_role("textbox", name="Secret").fill("API_KEY")
    group = page.get_by_role("group", name="city")
    await group.get_by_label("city: What should be entered?").fill("Which city")
    trying = page.get_by_role("region", name="Try it")
    await trying.get_by_label("city").fill("Oslo")
    await trying.get_by_role("button", name="Test call").click()
    await expect(trying.get_by_text("Done", exact=True)).to_be_visible()
    assert not [it for it in site.every("/tools/bundles") if it["slug"].startswith("draft-")]
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("button", name="Delete this version")).to_be_visible()
    await page.get_by_label("city").fill("Bergen")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text('"mm": 7')
    cities = [it.path.rpartition("/")[2] for it in upstream.seen(path)]
    assert cities == ["Oslo", "Bergen"]
    assert {it.headers["authorization"] for it in upstream.seen(path)} == {f"Bearer {KEY}"}


async def test_mistakes_stand_beside_their_fields(site, page):
    """What the server refuses is told where it was entered, in the form and in the JSON."""
    _, tool = own(site)
    await page.goto(f"/tools/new?bundle={tool['bundleID']}")
    await page.get_by_label("Short name").fill("not_a_slug")
    await page.get_by_label("Address").fill("https://elsewhere.example/")
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("textbox", name="Short name")).to_have_attribute("aria-invalid", "true")
    await page.get_by_label("Short name").fill(new_slug())
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("textbox", name="Address")).to_have_attribute("aria-invalid", "true")
    await page.get_by_role("tab", name="JSON").click()
    await page.get_by_label("Short name").fill(new_slug())
    await page.get_by_role("textbox", name="JSON", exact=True).fill('{"type": "http", "tags": 5}')
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("alert").filter(has_text="tags").first).to_be_visible()


async def test_built_in_tools_are_read_only(site, page):
    """They can be tried and switched, and nothing else."""
    now = next(it for it in site.every("/tools/tools") if it["name"] == "time.now")
    await open_tool(page, now)
    await expect(page.get_by_role("link", name="New version")).to_have_count(0)
    await expect(page.get_by_role("button", name="Delete this version")).to_have_count(0)
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text("iso")


async def test_a_bundle_is_created_and_deleted_with_a_question(site, page):
    """A new one is brought into sight, however long the list is; deleting asks, and declining is heeded."""
    for _ in range(30):
        site.bundle(slug=new_slug("a"))
    slug = new_slug("made")
    await page.goto("/tools")
    await page.get_by_role("button", name="New bundle").click()
    await page.get_by_label("Short name").fill(slug)
    await page.get_by_role("button", name="Create bundle").click()
    await expect(page.get_by_role("switch", name=f"Bundle {slug}")).to_be_in_viewport()
    for answer, left in (("Cancel", 1), ("Delete", 0)):
        await page.get_by_role("button", name=f"More for {slug}").click()
        await page.get_by_role("menuitem", name="Delete bundle").click()
        await page.get_by_role("dialog").get_by_role("button", name=answer, exact=True).click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(page.get_by_role("switch", name=f"Bundle {slug}")).to_have_count(left)


async def test_an_api_is_imported_reviewed_and_switched_on(site, page):
    """Nothing is enabled before somebody has seen what came."""
    title = new_slug("petstore")
    pets = {
        "get": {
            "operationId": "listPets",
            "summary": "List pets.",
            "responses": {"200": {"description": "ok"}},
        }
    }
    servers = [{"url": "https://pets.example"}]
    document = {"openapi": "3.0.0", "info": {"title": title, "version": "1"}, "servers": servers}
    content = json.dumps(document | {"paths": {"/pets": pets}}).encode()
    await page.goto("/tools/import")
    chosen = {"name": "pets.json", "mimeType": "application/json", "buffer": content}
    await page.get_by_label("Choose a file").set_input_files(chosen)
    await expect(page.get_by_text("Look before you switch it on")).to_be_visible()
    await expect(page.get_by_text("pets.example").first).to_be_visible()
    found = [it for it in site.every("/tools/bundles", includeDisabled="true") if title in it["displayName"]]
    assert [it["isEnabled"] for it in found] == [False]
    await page.get_by_role("button", name="Switch it on").click()
    await page.get_by_role("heading", name="Tools", exact=True).wait_for()
    assert site.find_bundle(found[0]["id"])["isEnabled"] is True


async def test_an_archive_is_imported_and_a_broken_one_is_told(site, page):
    """The first bytes say what a file is, whatever it is called."""
    _, tool = own(site)
    archive = site.client.get(f"/tools/bundles/{tool['bundleID']}/export").content
    site.client.delete(site.url_of(tool))
    site.client.delete(f"/tools/bundles/{tool['bundleID']}")
    broken = io.BytesIO()
    with zipfile.ZipFile(broken, "w") as file:
        file.writestr("x.txt", "nothing")
    await page.goto("/tools/import")
    for content, seen in ((broken.getvalue(), "That did not work"), (archive, "Look before you")):
        chosen = {"name": "a.zip", "mimeType": "application/zip", "buffer": content}
        await page.get_by_label("Choose a file").set_input_files(chosen)
        await expect(page.get_by_text(seen)).to_be_visible()
