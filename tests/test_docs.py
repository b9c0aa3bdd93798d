"""Documentation is made from the code, or executed."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def test_every_setting_is_documented():
    """docs/settings.md is what `just docs` writes."""
    made = runpy.run_path(str(DOCS / "generate.py"))["page"]()
    assert (DOCS / "settings.md").read_text(encoding="utf-8") == made


def test_everything_in_the_sdk_is_documented():
    """A name that pack authors may import is named in docs/tools.md."""
    import onetool.sdk

    text = (DOCS / "tools.md").read_text(encoding="utf-8")
    assert [name for name in onetool.sdk.__all__ if f"`{name}`" not in text] == []
