"""The restrictions of a server in words, before it has started."""

from .bubblewrap import bubblewrap_restrictions
from .landlock_rules import landlock_restrictions
from .mechanisms import choose_mechanism
from .policy import Mechanism, Restrictions, SandboxPolicy
from .seatbelt import seatbelt_restrictions

RESTRICTIONS = {
    Mechanism.BUBBLEWRAP: bubblewrap_restrictions,
    Mechanism.LANDLOCK: landlock_restrictions,
    Mechanism.SEATBELT: seatbelt_restrictions,
}


def describe_restrictions(policy: SandboxPolicy, *, is_restricted: bool) -> str:
    """Return one line for listings. It blocks: call it on a thread."""
    support = choose_mechanism() if is_restricted else None
    if support is None or support.mechanism not in RESTRICTIONS:
        return Restrictions(mechanism=Mechanism.NONE).text
    return RESTRICTIONS[support.mechanism](support, policy).text
