"""Where a chat model is served: what the operator wrote, and when a provider is asked again."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from onetool.chat_models.endpoint import Endpoint
from onetool.chat_models.openai import OpenAIChat
from onetool.chat_models.patience import Pace
from onetool.chat_models.retry_after import retry_after
from onetool.domain.errors import SettingsError
from onetool.threads import Threads

SECRET = "sk-secret-value"


def make(**given):
    return Endpoint(**{"name": "openai", "model": "m", "base_url": "https://api.test/v1"} | given)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"model": ""}, "The provider 'openai' has no model"),
        ({"base_url": "api.openai.com"}, "does not start with http"),
        ({"key": SECRET + "\n"}, "The key of the provider 'openai' cannot be sent"),
        ({"key": SECRET + "é"}, "other than ASCII"),
        ({"key": SECRET + "\x00"}, "cannot be sent"),
    ],
)
def test_settings_that_cannot_work_are_told_at_once(given, problem):
    """Before anything is sent, and without the key."""
    with pytest.raises(SettingsError) as caught:
        make(**given)
    assert problem in str(caught.value)
    assert SECRET not in str(caught.value)


def test_nothing_is_imported_before_it_is_needed():
    """Packages of providers cost seconds: the adapters load none of them, nor an HTTP client."""
    code = (
        "import sys; from onetool.chat_models import anthropic, gemini, ollama, openai, scripted; "
        "print(sorted({'openai', 'anthropic', 'google.genai', 'httpx2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_key_is_shown():
    """Neither by the endpoint nor by the model."""
    endpoint = make(key=SECRET)
    assert SECRET not in repr(endpoint) + repr(OpenAIChat(endpoint, Threads(), str))
    assert endpoint.clean(f"a {SECRET} b") == "a [secret] b"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 -0000"}, 0.0),
    ],
)
def test_how_long_a_provider_wants_to_be_left_alone(headers, seconds):
    """Seconds, milliseconds or a date; anything else says nothing."""
    assert retry_after(headers) == seconds


def test_a_date_to_wait_for():
    """Counted from now."""
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 50 < retry_after({"retry-after": soon}) <= 60


def test_the_second_attempt_comes_a_little_later():
    """What was asked for, else half a second and a little chance."""
    assert (Pace().gap(3.0), Pace(random=lambda: 1.0).gap(None)) == (3.0, 0.75)
