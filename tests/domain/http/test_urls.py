"""What people read about hosts that are not allowed."""

from onetool.domain.http.urls import how_to_allow


def test_command_keeps_the_hosts_that_are_allowed():
    assert how_to_allow("b.test", ["a.test"]).endswith("onetool config set allowedHosts a.test,b.test")


def test_members_of_a_workspace_ask_its_operator():
    """They cannot run the other command."""
    message = how_to_allow("b.test", ["a.test"], is_hosted=True)
    assert message.startswith("The operator")
    assert message.endswith("onetool admin settings set")
