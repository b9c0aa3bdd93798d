"""Which protocol a provider uses: its name decides only if the settings do not."""

from typing import get_args

import pytest

from chat_models.harness import ADAPTERS as ADAPTER_CLASSES
from chat_models.harness import SERVERS, ModelHarness
from chat_models.provider_server import KEY, MODEL, TextTurn
from onetool.bootstrap.chat_models import ConfiguredChatModels
from onetool.chat_models.registry import ADAPTERS, load_adapter
from onetool.domain.chat.messages import ChatModelError
from onetool.domain.chat.providers import PROVIDERS, ChatProtocol, provider_defaults
from onetool.domain.errors import SettingsError
from onetool.domain.secrets.secret import Secret
from onetool.settings.configuration import Configuration
from onetool.settings.documents import parse_settings
from onetool.settings.paths import find_paths
from onetool.settings.provider_status import provider_statuses
from onetool.settings.schema import ProviderSettings, Settings
from onetool.settings.secrets import Secrets
from onetool.threads import Threads

ENV = {key: "sk-env-0123456789" for provider in PROVIDERS.values() for key in provider.keys}


def configuration(tmp_path, **providers) -> Configuration:
    secrets = Secrets({"WORK_KEY": Secret(name="WORK_KEY", value=KEY)})
    settings = Settings(providers={name.replace("_", "-"): value for name, value in providers.items()})
    return Configuration(paths=find_paths({}, tmp_path), settings=settings, secrets=secrets)


def models(tmp_path, **providers) -> ConfiguredChatModels:
    return ConfiguredChatModels(configuration(tmp_path, **providers), ENV, Threads(), lambda: "id")


def test_every_protocol_has_an_adapter_and_a_provider():
    protocols = get_args(ChatProtocol)
    assert set(protocols) == set(ADAPTERS) == {provider.protocol for provider in PROVIDERS.values()}
    assert {protocol: load_adapter(protocol) for protocol in protocols} == ADAPTER_CLASSES
    assert [name for name, provider in PROVIDERS.items() if provider.protocol != name] == []


@pytest.mark.parametrize("protocol", sorted(SERVERS))
async def test_a_provider_speaks_the_protocol_in_its_settings(tmp_path, protocol):
    """With any name, also the name of another protocol."""
    for name in ("work_provider", "openai" if protocol != "openai" else "gemini"):
        async with SERVERS[protocol]() as server:
            server.responses = [TextTurn(text=["Noon."])]
            settings = ProviderSettings(
                protocol=protocol, base_url=server.base_url, model=MODEL, key_secret="WORK_KEY"
            )
            chat = models(tmp_path, **{name: settings}).open(name.replace("_", "-"))
            assert type(chat) is ADAPTER_CLASSES[protocol]
            try:
                assert (await ModelHarness(server=server, chat=chat).ask()).text == "Noon."
            finally:
                await chat.aclose()


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_known_names_keep_their_protocol(tmp_path, name):
    assert type(models(tmp_path).open(name)) is ADAPTER_CLASSES[name]
    assert type(models(tmp_path, **{name: ProviderSettings(model="m")}).open(name)) is ADAPTER_CLASSES[name]


def test_an_unknown_name_without_a_protocol_speaks_openai(tmp_path):
    mine = ProviderSettings(base_url="http://127.0.0.1:9/v1", model="m")
    assert type(models(tmp_path, my_anthropic=mine).open("my-anthropic")) is ADAPTER_CLASSES["openai"]


async def test_a_protocol_brings_its_url_and_model_but_not_its_key(tmp_path):
    """The key in the environment belongs to the known provider."""
    second = ProviderSettings(protocol="anthropic")
    chat = models(tmp_path, work_anthropic=second).open("work-anthropic")
    assert chat.model == PROVIDERS["anthropic"].model
    with pytest.raises(ChatModelError, match="There is no key for 'work-anthropic', and https://api"):
        await ModelHarness(server=None, chat=chat).ask()
    assert provider_defaults("work", "gemini").keys == ()
    assert provider_defaults("gemini", "openai").keys == PROVIDERS["gemini"].keys


def test_status_shows_the_model_of_the_protocol(tmp_path):
    named = ProviderSettings(protocol="gemini", key_secret="WORK_KEY")
    statuses = provider_statuses(configuration(tmp_path, work=named), {})
    assert statuses[0][:3] == ("work", PROVIDERS["gemini"].model, "secrets.yaml")
    assert statuses[-1][:2] == ("scripted", "a script")


def test_an_unknown_protocol_is_rejected():
    with pytest.raises(SettingsError, match="should be openai, anthropic, gemini or ollama, not 'claude'"):
        parse_settings(Settings, {"providers": {"x": {"protocol": "claude"}}}, str)
