"""Browser tests of creating tools: recipe form, JSON, new versions and imports."""

import io
import json
import zipfile

import pytest
from playwright.async_api import expect

from support.rest_process import API_KEY, RestReply, http_tool, new_slug, python_tool
from support.web_app import CITY_SCHEMA, browser_test, create_tool_and_bundle, open_tool, replace_text

pytestmark = browser_test

CREATE_DATA_TRANSFER = """bytes => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(bytes)], 'a.zip', {type: 'application/zip'}));
    return transfer;
}"""
"""Creates the data of a drop event with one file."""


@pytest.mark.spec("BND-09")
async def test_tool_is_edited_as_a_new_version_and_deleted(web_app, upstream, page):
    """Editing creates a new version and does not change the existing one."""
    path = upstream.script(RestReply(body="one"))
    _, tool = create_tool_and_bundle(
        web_app, **http_tool(f"{upstream.url}{path}/${{city}}", argSchema=CITY_SCHEMA)
    )
    await open_tool(page, tool)
    await page.get_by_role("link", name="New version").click()
    await expect(page.get_by_role("textbox", name="Version")).to_have_value("v2")
    await page.get_by_role("textbox", name="Description", exact=True).fill("Better than before.")
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("heading", name="Try it")).to_have_count(0)
    await expect(page.get_by_text("Better than before.")).to_be_visible()
    new_version = {**tool, "version": "v2"}
    assert web_app.get_tool(new_version)["description"] == "Better than before."
    assert web_app.get_tool(tool)["description"] == tool["description"]
    await page.get_by_role("button", name="Delete this version").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("Better than before.")).to_have_count(0)
    assert web_app.client.get(web_app.url_of(new_version)).status_code == 404


@pytest.mark.spec("BND-70", "BND-09")
async def test_recipe_creates_a_tool_without_json(web_app, upstream, page):
    """The form finds the placeholders, sends a test request and saves a working tool."""
    path = upstream.script(RestReply(body={"mm": 7}))
    bundle, slug = new_slug("weather"), new_slug("rain")
    await page.goto("/tools/new")
    await page.get_by_role("combobox", name="Bundle").click()
    await page.get_by_role("option", name="New bundle").click()
    await page.get_by_label("Short name of the new bundle").fill(bundle)
    await page.get_by_role("textbox", name="Short name", exact=True).fill(slug)
    await page.get_by_role("textbox", name="Description", exact=True).fill("Return the rainfall.")
    await page.get_by_role("textbox", name="URL").fill(f"{upstream.url}{path}/${{city}}")
    await page.get_by_role("combobox", name="Authentication").click()
    await page.get_by_role("option", name="Bearer token").click()
    await page.get_by_role("textbox", name="Secret").fill("API_KEY")
    placeholder = page.get_by_role("group", name="city")
    await placeholder.get_by_label("city: Description").fill("Which city")
    test_step = page.get_by_role("region", name="Try it")
    await test_step.get_by_label("city").fill("Oslo")
    await test_step.get_by_role("button", name="Send test request").click()
    await expect(test_step.get_by_text("Done", exact=True)).to_be_visible()
    slugs = [stored["slug"] for stored in web_app.list_all("/tools/bundles")]
    assert not [stored for stored in slugs if stored.startswith("draft-")]
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("button", name="Delete this version")).to_be_visible()
    await page.get_by_label("city").fill("Bergen")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text('"mm": 7')
    requests = upstream.requests_to(path)
    assert [request.path.rpartition("/")[2] for request in requests] == ["Oslo", "Bergen"]
    assert {request.headers["authorization"] for request in requests} == {f"Bearer {API_KEY}"}


async def test_server_errors_are_shown_at_their_fields(web_app, page):
    _, tool = create_tool_and_bundle(web_app)
    await page.goto(f"/tools/new?bundle={tool['bundleID']}")
    await page.get_by_role("textbox", name="Short name", exact=True).fill("not_a_slug")
    await page.get_by_role("textbox", name="URL").fill("https://elsewhere.example/")
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("textbox", name="Short name")).to_have_attribute("aria-invalid", "true")
    await page.get_by_role("textbox", name="Short name", exact=True).fill(new_slug())
    await page.get_by_role("button", name="Save tool").click()
    await expect(page.get_by_role("textbox", name="URL")).to_have_attribute("aria-invalid", "true")


async def test_recipe_and_json_show_the_same_draft(web_app, page):
    """A definition that the recipe form does not support stays in the JSON tab."""
    await page.goto("/tools/new")
    url = page.get_by_role("textbox", name="URL")
    await url.fill("https://api.example.com/rain/${city}")
    await page.get_by_role("tab", name="JSON").click()
    editor = page.get_by_role("textbox", name="JSON", exact=True)
    await expect(editor).to_contain_text("https://api.example.com/rain/${city}")
    definition = http_tool("https://api.example.com/snow/${city}", argSchema=CITY_SCHEMA, description="Snow.")
    await replace_text(editor, json.dumps(definition))
    await page.get_by_role("tab", name="Form", exact=True).click()
    await expect(url).to_have_value("https://api.example.com/snow/${city}")
    await expect(page.get_by_role("textbox", name="Description", exact=True)).to_have_value("Snow.")
    await page.get_by_role("tab", name="JSON").click()
    await replace_text(editor, json.dumps(definition | {"httpImpl": {"steps": []}}))
    await page.get_by_role("tab", name="Form", exact=True).click()
    await expect(page.get_by_text("does not support everything this tool uses")).to_be_visible()
    await expect(editor).to_contain_text("steps")


async def test_tool_is_created_from_json(web_app, page):
    slug, bundle = new_slug("pasted"), web_app.create_bundle()
    await page.goto(f"/tools/new?bundle={bundle}")
    await page.get_by_role("tab", name="JSON").click()
    await page.get_by_role("textbox", name="Short name", exact=True).fill(slug)
    definition = json.dumps(python_tool("probes.two", description="Return two."))
    await replace_text(page.get_by_role("textbox", name="JSON", exact=True), definition)
    await page.get_by_role("button", name="Save tool").click()
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Result")).to_have_text("2")
    assert web_app.list_slugs(bundle) == [slug]


async def test_api_is_imported_reviewed_and_enabled(web_app, page):
    """An imported bundle is disabled until the user enables it."""
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
    file = {"name": "pets.json", "mimeType": "application/json", "buffer": content}
    await page.get_by_label("Choose file").set_input_files(file)
    await expect(page.get_by_text("Review before enabling")).to_be_visible()
    await expect(page.get_by_text("pets.example").first).to_be_visible()
    bundles = web_app.list_all("/tools/bundles", includeDisabled="true")
    (imported,) = [bundle for bundle in bundles if title in bundle["displayName"]]
    assert imported["isEnabled"] is False
    await page.get_by_role("button", name="Enable bundle").click()
    await page.get_by_role("heading", name="Tools", exact=True).wait_for()
    assert web_app.find_bundle(imported["id"])["isEnabled"] is True


async def test_archive_is_imported_and_an_invalid_one_is_reported(web_app, page):
    """The type of a file is detected from its first bytes."""
    _, tool = create_tool_and_bundle(web_app)
    archive = web_app.client.get(f"/tools/bundles/{tool['bundleID']}/export").content
    web_app.client.delete(web_app.url_of(tool))
    web_app.client.delete(f"/tools/bundles/{tool['bundleID']}")
    invalid = io.BytesIO()
    with zipfile.ZipFile(invalid, "w") as file:
        file.writestr("x.txt", "nothing")
    await page.goto("/tools/import")
    drop_zone = page.get_by_text("Drop a file here")
    for content, text in ((invalid.getvalue(), "Request failed."), (archive, "Review before enabling")):
        transfer = await page.evaluate_handle(CREATE_DATA_TRANSFER, list(content))
        await drop_zone.dispatch_event("drop", {"dataTransfer": transfer})
        await expect(page.get_by_text(text)).to_be_visible()
    await page.get_by_role("button", name="Delete bundle").click()
    await page.get_by_role("heading", name="Tools", exact=True).wait_for()
    assert web_app.find_bundle(tool["bundleID"]) is None
