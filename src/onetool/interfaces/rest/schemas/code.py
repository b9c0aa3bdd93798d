"""Schemas of the routes for tools made of code."""

from typing import Annotated, Any

from pydantic import Field, JsonValue

from onetool.domain.bundles.schemas import Name, StepResult, Steps, StrictModel, Text

from .fields import ResponseModel

Code = Annotated[str, Field(max_length=100_000, examples=['web.fetch(url="https://example.com")'])]


class StepsBody(StrictModel):
    """Steps of which a program is to be written."""

    steps: Steps
    argSchema: dict[str, JsonValue] = Field(default={"type": "object", "properties": {}})
    result: StepResult | None = None


class ProgramResponse(ResponseModel):
    """A program."""

    program: str = Field(examples=["page = web.fetch(url=url)\npage\n"])


class CodeBody(StrictModel):
    """Code, or a snippet."""

    code: Code


class LiteralResponse(ResponseModel):
    """A value in code that can become a parameter."""

    index: int = Field(description="Its number, from 0.")
    line: int = Field(description="From 1.")
    column: int = Field(description="From 1, in characters.")
    text: str = Field(description="The source of the value; a long one is shortened.")
    value: JsonValue
    type: str = Field(description="The type in JSON Schema.", examples=["string"])
    suggestedName: str = Field(description="Equal values with the same name can be one parameter.")
    count: int = Field(description="How many literals of the code have this value.")


class Literals(ResponseModel):
    """The values in code that can become parameters, in their order."""

    literals: list[LiteralResponse]
    code: str = Field(description="What the positions refer to: without a fence, and snippets expanded.")


class ParameterBody(StrictModel):
    """A value that becomes a parameter."""

    index: int = Field(ge=0, description="Number of the literal.")
    name: Name = Field(description="Name of the parameter. Equal values may share one.")
    description: Text = ""


class ParametersBody(StrictModel):
    """Code, and the values in it that become parameters."""

    code: Code
    parameters: list[ParameterBody] = Field(max_length=100)


class ParametersResponse(ResponseModel):
    """A program, and the schema of its arguments. The defaults are the former values."""

    program: str
    argSchema: dict[str, Any]
