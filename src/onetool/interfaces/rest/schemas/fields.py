"""Field types and the base class of the REST schemas."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from onetool.domain.text.strings import to_camel_case

Flag = Annotated[bool, Field(description="Whether the entry is enabled.")]
Text = Annotated[str, Field(min_length=1, max_length=1_000_000, pattern=r"\S")]
Name = Annotated[str, Field(min_length=1, max_length=300)]
Interactive = Annotated[
    bool,
    Field(description="Whether the caller can be asked. A call that asks returns 202 and becomes a job."),
]
Seconds = Annotated[float, Field(description="Unix time in seconds.")]


class ResponseModel(BaseModel):
    """A response. Later versions may add fields, so clients must ignore unknown ones."""

    model_config = ConfigDict(extra="allow")


def camel_keys(value: Mapping[str, Any]) -> dict[str, Any]:
    """Convert keys to camel case: `total_calls` becomes `totalCalls`."""
    return {to_camel_case(key): item for key, item in value.items()}
