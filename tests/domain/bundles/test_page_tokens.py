"""Page tokens of listings."""

import pytest

from onetool.domain.bundles.bundle import InvalidBundle
from onetool.domain.bundles.page_tokens import read_token, write_token

FIRST_PAGE = {"kind": "tools", "ids": None, "tags": ["a"], "after": None}


def test_token_round_trips_the_state_of_a_listing():
    state = FIRST_PAGE | {"ids": ["x", "y"], "after": "z"}
    assert read_token(write_token(state), FIRST_PAGE) == state


@pytest.mark.parametrize("invalid", [{"ids": [1]}, {"tags": "a"}, {"after": 5}, {"kind": None}])
def test_token_with_an_invalid_field_is_rejected(invalid):
    with pytest.raises(InvalidBundle):
        read_token(write_token(FIRST_PAGE | invalid), FIRST_PAGE)
