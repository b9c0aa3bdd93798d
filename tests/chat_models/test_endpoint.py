"""Endpoints: validation, redaction, and delays before a retry."""

import subprocess
import sys

import pytest

from onetool.chat_models.endpoint import Endpoint
from onetool.chat_models.openai import OpenAIChat
from onetool.domain.errors import SettingsError
from onetool.threads import Threads

SECRET = "sk-secret-value"


def make_endpoint(**fields):
    return Endpoint(**{"name": "openai", "model": "m", "base_url": "https://api.test/v1"} | fields)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"model": ""}, "The provider 'openai' has no model"),
        ({"base_url": "api.openai.com"}, "does not start with http"),
        ({"key": SECRET + "\n"}, "The key of the provider 'openai' is invalid"),
        ({"key": SECRET + "é"}, "non-ASCII"),
        ({"key": SECRET + "\x00"}, "control characters"),
    ],
)
def test_invalid_settings_are_rejected_without_quoting_the_key(fields, problem):
    with pytest.raises(SettingsError) as caught:
        make_endpoint(**fields)
    assert problem in str(caught.value)
    assert SECRET not in str(caught.value)


def test_adapters_import_no_provider_package():
    """They take seconds to import. Nor is an HTTP client imported."""
    code = (
        "import sys; from onetool.chat_models import anthropic, gemini, ollama, openai, scripted; "
        "print(sorted({'openai', 'anthropic', 'google.genai', 'httpx2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_key_is_not_shown():
    """Neither by the endpoint nor by the model."""
    endpoint = make_endpoint(key=SECRET)
    assert SECRET not in repr(endpoint) + repr(OpenAIChat(endpoint, Threads(), str))
    assert endpoint.clean(f"a {SECRET} b") == "a [secret] b"
