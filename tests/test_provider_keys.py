"""API keys of chat models are sent only to allowed hosts and never shown."""

import pytest

from onetool.bootstrap.chat_models import ConfiguredChatModels
from onetool.domain.errors import SettingsError
from onetool.domain.secrets.redaction import Redactor
from onetool.domain.secrets.secret import Secret
from onetool.settings.configuration import Configuration, load_configuration
from onetool.settings.paths import find_paths
from onetool.settings.schema import ProviderSettings, Settings
from onetool.settings.secrets import Secrets
from onetool.threads import Threads

KEY = "sk-bound-to-openai"


def configured_models(tmp_path, secrets=(), env=None, **providers):
    paths = find_paths({}, tmp_path)
    stored = Secrets({secret.name: secret for secret in secrets})
    configuration = Configuration(paths=paths, settings=Settings(providers=providers), secrets=stored)
    return ConfiguredChatModels(configuration, env or {}, Threads(), lambda: "id")


@pytest.mark.parametrize("key", [None, "OPENAI_API_KEY"])
def test_key_bound_to_hosts_is_not_sent_to_another_base_url(tmp_path, key):
    bound = Secret(name="OPENAI_API_KEY", value=KEY, hosts=("api.openai.com",))
    elsewhere = ProviderSettings(base_url="http://127.0.0.1:9/v1", model="m", key_secret=key)
    with pytest.raises(SettingsError, match=r"may not be sent to '127\.0\.0\.1'") as caught:
        configured_models(tmp_path, [bound], openai=elsewhere).open("openai")
    assert KEY not in str(caught.value)
    assert configured_models(tmp_path, [bound]).open("openai").name == "openai"


def test_default_provider_and_errors_for_unusable_providers(tmp_path):
    """The default is the selected provider, else a configured one, else one with a key."""
    assert configured_models(tmp_path, env={"GEMINI_API_KEY": KEY}).names()[0] == "gemini"
    assert (
        configured_models(
            tmp_path, env={"GEMINI_API_KEY": KEY}, mine=ProviderSettings(base_url="http://a")
        ).names()[0]
        == "mine"
    )
    with pytest.raises(SettingsError, match="No chat model is set up"):
        configured_models(tmp_path).open()
    with pytest.raises(SettingsError, match=r"Provider not supported: opnai\. Did you mean openai"):
        configured_models(tmp_path).open("opnai")
    with pytest.raises(SettingsError, match="no secret 'X'"):
        configured_models(tmp_path, openai=ProviderSettings(key_secret="X")).open("openai")
    with pytest.raises(SettingsError, match="has no base_url"):
        configured_models(tmp_path, mine=ProviderSettings(model="m")).open("mine")
    invalid = configured_models(
        tmp_path, [Secret(name="OPENAI_API_KEY", value=KEY)], openai=ProviderSettings(base_url="nowhere")
    )
    with pytest.raises(SettingsError, match="Invalid base_url"):
        invalid.open("openai")


def test_key_from_the_environment_is_redacted(home):
    """The redactor masks the key although it is not a stored secret."""
    env = {**home.env, "OPENAI_API_KEY": KEY}
    configuration = load_configuration(find_paths(env, home.cwd), env)
    assert Redactor(configuration.credentials).redact(f"it is {KEY}") == "it is [secret]"
    home.write("secrets.yaml", "A: other\n")
    reloaded = load_configuration(find_paths(env, home.cwd), env)
    assert KEY not in Redactor(reloaded.credentials).redact(KEY)
    assert "OPENAI_API_KEY" not in reloaded.secrets
