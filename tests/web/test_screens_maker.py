"""Tools that are made in a real browser: by a form, as JSON, as a version, from an API or an archive."""

import io
import json
import zipfile

import pytest
from playwright.async_api import expect
from web_site import CITY, on_screens, open_tool, own, write

from rest_server import KEY, Answer, http_tool, new_slug, python_tool

pytestmark = on_screens

DROPPED = """bytes => {
    const moved = new DataTransfer();
    moved.items.add(new File([new Uint8Array(bytes)], 'a.zip', {type: 'application/zip'}));
    return moved;
}"""
"""What a drop of a file brings along."""


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
    await write(page.get_by_role("textbox", name="JSON", exact=True), '{"type": "http", "tags": 5}')
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("alert").filter(has_text="tags").first).to_be_visible()


async def test_a_draft_is_the_same_as_recipe_and_as_json(site, page):
    """What was entered in the one way stands there in the other; what a recipe cannot say stays JSON."""
    await page.goto("/tools/new")
    await page.get_by_label("Address").fill("https://api.example.com/rain/${city}")
    await page.get_by_role("tab", name="JSON").click()
    editor = page.get_by_role("textbox", name="JSON", exact=True)
    await expect(editor).to_contain_text("https://api.example.com/rain/${city}")
    definition = http_tool("https://api.example.com/snow/${city}", argSchema=CITY, description="Snow.")
    await write(editor, json.dumps(definition))
    await page.get_by_role("tab", name="Recipe").click()
    await expect(page.get_by_label("Address")).to_have_value("https://api.example.com/snow/${city}")
    await expect(page.get_by_label("Description")).to_have_value("Snow.")
    await page.get_by_role("tab", name="JSON").click()
    await write(editor, json.dumps(definition | {"httpImpl": {"steps": []}}))
    await page.get_by_role("tab", name="Recipe").click()
    await expect(page.get_by_text("more than the recipe can show")).to_be_visible()
    await expect(editor).to_contain_text("steps")


async def test_a_tool_is_made_from_json(site, page):
    """Whoever has a definition pastes it."""
    slug, bundle = new_slug("pasted"), site.bundle()
    await page.goto(f"/tools/new?bundle={bundle}")
    await page.get_by_role("tab", name="JSON").click()
    await page.get_by_label("Short name").fill(slug)
    definition = json.dumps(python_tool("probes.two", description="Give two."))
    await write(page.get_by_role("textbox", name="JSON", exact=True), definition)
    await page.get_by_role("button", name="Save tool").click()
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Result")).to_have_text("2")
    assert site.slugs(bundle) == [slug]


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
    place = page.get_by_text("Drop it here")
    for content, seen in ((broken.getvalue(), "That did not work"), (archive, "Look before you")):
        dropped = await page.evaluate_handle(DROPPED, list(content))
        await place.dispatch_event("drop", {"dataTransfer": dropped})
        await expect(page.get_by_text(seen)).to_be_visible()
    await page.get_by_role("button", name="Delete it again").click()
    await page.get_by_role("heading", name="Tools", exact=True).wait_for()
    assert site.find_bundle(tool["bundleID"]) is None
