"""Fixtures for the tests of several hosted processes."""

from collections.abc import Iterator

import pytest

from interfaces.hosted_replicas import HostedReplicas
from support.hosted_process import Installation
from support.prompted_model import PromptedModel


@pytest.fixture(scope="session")
def prompted_model() -> Iterator[PromptedModel]:
    """Return a chat model that does what its prompts say."""
    with PromptedModel() as model:
        yield model


@pytest.fixture(scope="session")
def hosted_replicas(
    tmp_path_factory: pytest.TempPathFactory, installation: Installation, prompted_model: PromptedModel
) -> Iterator[HostedReplicas]:
    """Return three hosted processes that the tests of one worker share."""
    settings = {"providers": {"fake": {"base_url": prompted_model.base_url, "model": "m"}}}
    with HostedReplicas(tmp_path_factory.mktemp("replicas"), installation, **settings) as replicas:
        yield replicas  # type: ignore[misc]
