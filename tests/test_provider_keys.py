"""Keys of chat models go where they may go, and are seen nowhere."""

import pytest

from onetool.bootstrap.chat_models import ConfiguredModels
from onetool.domain.errors import SettingsError
from onetool.settings.configuration import Configuration, load_configuration
from onetool.settings.places import find_places
from onetool.settings.schema import Provider, Settings
from onetool.settings.secrets import Secret, Secrets
from onetool.threads import Threads

KEY = "sk-bound-to-openai"


def models(tmp_path, secrets=(), env=None, **providers):
    places = find_places({}, tmp_path)
    known = Secrets({secret.name: secret for secret in secrets})
    configuration = Configuration(places=places, settings=Settings(providers=providers), secrets=known)
    return ConfiguredModels(configuration, env or {}, Threads(), lambda: "id")


@pytest.mark.parametrize("key", [None, "OPENAI_API_KEY"])
def test_a_key_that_is_bound_to_hosts_goes_to_no_other(tmp_path, key):
    """Whatever `base_url` says."""
    bound = Secret(name="OPENAI_API_KEY", value=KEY, hosts=("api.openai.com",))
    elsewhere = Provider(base_url="http://127.0.0.1:9/v1", model="m", key=key)
    with pytest.raises(SettingsError, match=r"may not be sent to '127\.0\.0\.1'") as caught:
        models(tmp_path, [bound], openai=elsewhere).open("openai")
    assert KEY not in str(caught.value)
    assert models(tmp_path, [bound]).open("openai").name == "openai"


def test_who_answers_by_default(tmp_path):
    """What was chosen, else what is written, else whoever has a key."""
    assert models(tmp_path, env={"GEMINI_API_KEY": KEY}).names()[0] == "gemini"
    assert (
        models(tmp_path, env={"GEMINI_API_KEY": KEY}, mine=Provider(base_url="http://a")).names()[0] == "mine"
    )
    with pytest.raises(SettingsError, match="No chat model is set up"):
        models(tmp_path).open()
    with pytest.raises(SettingsError, match=r"Provider not supported: opnai\. Did you mean openai"):
        models(tmp_path).open("opnai")
    with pytest.raises(SettingsError, match="no secret 'X'"):
        models(tmp_path, openai=Provider(key="X")).open("openai")
    with pytest.raises(SettingsError, match="has no base_url"):
        models(tmp_path, mine=Provider(model="m")).open("mine")
    odd = models(tmp_path, [Secret(name="OPENAI_API_KEY", value=KEY)], openai=Provider(base_url="nowhere"))
    with pytest.raises(SettingsError, match="cannot be used"):
        odd.open("openai")


def test_a_key_of_the_environment_is_masked_too(home):
    """A tool that returns it returns nothing of use."""
    env = {**home.env, "OPENAI_API_KEY": KEY}
    configuration = load_configuration(find_places(env, home.cwd), env)
    assert configuration.secrets.redactor.redact(f"it is {KEY}") == "it is [secret]"
    home.write("secrets.yaml", "A: other\n")
    again = load_configuration(find_places(env, home.cwd), env)
    assert KEY not in again.secrets.redactor.redact(KEY)
    assert "OPENAI_API_KEY" not in again.secrets
