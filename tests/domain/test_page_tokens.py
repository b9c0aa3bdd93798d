"""A page token carries its own filters, and nobody's rubbish."""

import pytest

from onetool.domain.bundle import InvalidBundle
from onetool.domain.page_tokens import read_token, write_token

BEGIN = {"kind": "tools", "ids": None, "tags": ["a"], "after": None}


def test_a_token_gives_back_what_it_was_made_of():
    """The next page needs nothing else."""
    state = BEGIN | {"ids": ["x", "y"], "after": "z"}
    assert read_token(write_token(state), BEGIN) == state


@pytest.mark.parametrize("wrong", [{"ids": [1]}, {"tags": "a"}, {"after": 5}, {"kind": None}])
def test_a_token_of_another_shape_is_refused(wrong):
    """Whoever made it up."""
    with pytest.raises(InvalidBundle):
        read_token(write_token(BEGIN | wrong), BEGIN)
