"""parcels: shipping costs."""

from typing import Literal

pack = "parcels"
BASE = {"home": 4.5, "abroad": 12.0}


def postage(weight_kg: float, zone: Literal["home", "abroad"] = "home", express: bool = False) -> float:
    """Calculate the shipping costs of a parcel in euros.

    Args:
        weight_kg: Weight in kilograms.
        zone: Destination.
        express: Deliver on the next day.

    Example:
        parcels.postage(weight_kg=2.5, zone="abroad")
    """
    if not 0 < weight_kg <= 30:
        raise ValueError(f"weight_kg must be above 0 and at most 30, got {weight_kg}")
    price = BASE[zone] + 0.5 * weight_kg
    return round(price * (2 if express else 1), 2)
