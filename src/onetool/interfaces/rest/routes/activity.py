"""`/activity`: the calls of all interfaces and processes."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from onetool.domain.activity.record import ActivityFilter
from onetool.domain.activity.record_json import record_json, tree_json
from onetool.domain.errors import Reason
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.request_rights import visible_calls
from onetool.interfaces.rest.schemas.activity import ActivityDetails, ActivityPage
from onetool.runtime.runtime import Runtime

MAX_LIMIT, DEFAULT_LIMIT = 200, 50
RecordID = Annotated[str, Path(alias="id", max_length=400)]
Word = Annotated[str | None, Query(max_length=400)]
Pattern = Annotated[
    str | None, Query(max_length=200, description="A name, a pack, or a pattern with `*` and `?`.")
]
Parent = Annotated[
    str | None, Query(max_length=400, description="Calls that this one made. Empty: outermost.")
]
Text = Annotated[str | None, Query(max_length=200, description="A part of the name, arguments or result.")]
Time = Annotated[float | None, Query(ge=0, description="Unix time in seconds.")]
Cursor = Annotated[str | None, Query(max_length=100, description="`next` of the previous page.")]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Maximum number of calls.")]


def activity_routes(runtime: Runtime) -> APIRouter:
    """Create the activity routes."""
    routes = APIRouter(prefix="/activity", tags=["activity"])

    @routes.get("", response_model=ActivityPage, responses=problem_responses())
    async def list_activity(
        *,
        tool: Pattern = None,
        interface: Word = None,
        client: Word = None,
        profile: Word = None,
        session: Word = None,
        ok: bool | None = None,
        reason: Reason | None = None,
        since: Time = None,
        until: Time = None,
        parent: Parent = None,
        text: Text = None,
        cursor: Cursor = None,
        limit: Limit = DEFAULT_LIMIT,
    ) -> Any:
        """List finished calls, newest first, without arguments and results."""
        fields = (tool, interface, client, profile, session, ok, reason, since, until, parent, text)
        store = await runtime.recorder.written()
        generation = str(store.generation())
        try:
            page = await store.page(ActivityFilter(visible_calls(), *fields), cursor, limit)
        except ValueError as error:
            raise ProblemError(400, str(error)) from None
        records = [record_json(record) for record in page.items]
        body = {"records": records, "next": page.next, "generation": generation}
        return json_response(runtime.state.redactor.mask(body))

    @routes.get("/{id}", response_model=ActivityDetails, responses=problem_responses(404))
    async def get_activity(id: RecordID) -> Any:
        """Return a call with its arguments, its result and all calls inside it, at most 1,000."""
        records = await (await runtime.recorder.written()).tree(id)
        principal = visible_calls()
        if not any(record.id == id and principal in (None, record.principal) for record in records):
            raise ProblemError(404, f"No call {id!r} is recorded.")
        # On a thread, because masking many bodies takes time.
        body = await runtime.threads.run(runtime.state.redactor.mask, tree_json(records, id))
        return json_response(body)

    return routes
