"""`/code`: programs from steps, and parameters from the values in code."""

from collections import Counter
from typing import Any

from fastapi import APIRouter

from onetool.domain.bundles.bundle import invalid_field
from onetool.domain.code.literal_parameters import InvalidParameter, NewParameter, make_parameters
from onetool.domain.code.literals import find_literals
from onetool.domain.code.parameters import strip_fence
from onetool.domain.code.program import InvalidProgram
from onetool.interfaces.rest.job_bodies import rest_caller
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import problem_responses
from onetool.interfaces.rest.schemas.code import (
    CodeBody,
    Literals,
    ParametersBody,
    ParametersResponse,
    ProgramResponse,
    StepsBody,
)
from onetool.runtime.runtime import Runtime


def code_routes(runtime: Runtime) -> APIRouter:
    """Create the routes that help to write tools made of code. They store and run nothing."""
    routes = APIRouter(tags=["code"])

    async def expand(code: str) -> str:
        caller = rest_caller(runtime, can_ask=False)
        return strip_fence(await runtime.state.code_runner.expand(code, caller))

    @routes.post("/code/steps", response_model=ProgramResponse, responses=problem_responses())
    async def write_program(body: StepsBody) -> Any:
        """Return the program of steps."""
        data = body.model_dump(by_alias=True, exclude_unset=True, mode="json")
        program = runtime.state.bundles.write_program(data["steps"], body.argSchema, data.get("result"))
        return json_response({"program": program})

    @routes.post("/code/literals", response_model=Literals, responses=problem_responses())
    async def list_literals(body: CodeBody) -> Any:
        """List the values in code that can become parameters of a tool."""
        try:
            code = await expand(body.code)
            literals = await runtime.threads.run(find_literals, code)
        except InvalidProgram as error:
            raise invalid_field("code", str(error)) from None
        counts = Counter((literal.type, repr(literal.value)) for literal in literals)
        items = [
            {
                "index": literal.index,
                "line": literal.line,
                "column": literal.column,
                "text": literal.text,
                "value": literal.value,
                "type": literal.type,
                "suggestedName": literal.suggested_name,
                "count": counts[literal.type, repr(literal.value)],
            }
            for literal in literals
        ]
        return json_response({"literals": items, "code": code})

    @routes.post("/code/parameters", response_model=ParametersResponse, responses=problem_responses())
    async def add_parameters(body: ParametersBody) -> Any:
        """Replace values in code by parameters. Return the program and the schema of its arguments."""
        parameters = [NewParameter(item.index, item.name, item.description) for item in body.parameters]
        try:
            code = await expand(body.code)
            program, schema = await runtime.threads.run(make_parameters, code, parameters)
        except InvalidProgram as error:
            raise invalid_field("code", str(error)) from None
        except InvalidParameter as error:
            raise invalid_field(f"parameters.{error.path}", f"{error}.") from None
        return json_response({"program": program, "argSchema": schema})

    return routes
