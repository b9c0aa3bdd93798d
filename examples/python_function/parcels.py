"""parcels: what it costs to send something."""

from typing import Literal

pack = "parcels"
BASE = {"home": 4.5, "abroad": 12.0}


def postage(weight_kg: float, zone: Literal["home", "abroad"] = "home", express: bool = False) -> float:
    """Work out what a parcel costs, in euros.

    Args:
        weight_kg: What it weighs, in kilograms.
        zone: Where it goes.
        express: Whether it arrives the next day.

    Example:
        parcels.postage(weight_kg=2.5, zone="abroad")
    """
    if not 0 < weight_kg <= 30:
        raise ValueError(f"weight_kg is {weight_kg}; a parcel weighs at most 30 kg, and more than nothing")
    price = BASE[zone] + 0.5 * weight_kg
    return round(price * (2 if express else 1), 2)
