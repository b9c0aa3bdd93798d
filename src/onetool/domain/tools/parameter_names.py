"""Parameters whose names Python code cannot write, such as `from` and `x-y`: shown as `from_` and `x_y`."""

import keyword
from collections import Counter
from collections.abc import Mapping
from typing import Any

from onetool.domain.errors import InvalidArgs, Reason
from onetool.domain.text.identifiers import MAX_NAME_LENGTH, is_parameter_name, safe_name

from .schema_types import properties_of
from .tool import ToolSpec


def python_parameters(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the Python name of each parameter that needs one, unless another parameter has it."""
    properties = properties_of(schema)
    forms = {
        name: _python_form(name)
        for name in properties
        if not is_parameter_name(name) and len(name) <= MAX_NAME_LENGTH
    }
    uses = Counter(forms.values())
    return {name: form for name, form in forms.items() if form not in properties and uses[form] == 1}


def to_schema_names(spec: ToolSpec, args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments under the names that the schema has.

    Raises:
        InvalidArgs: A parameter is passed by both names, or a server's tool lacks what a name stands for.
    """
    schema = spec.input_schema
    declared = schema.get("properties")
    if isinstance(declared, Mapping) and all(name in declared for name in args):
        return args
    known, names = properties_of(schema), {form: name for name, form in python_parameters(schema).items()}
    for name in args:
        if name in names and names[name] in args:
            both = f"{names[name]!r} is also passed as {name!r}. Pass it once."
            raise InvalidArgs(Reason.BAD_ARGS, f"Invalid arguments for {spec.name}: {both}")
        is_unknown = name not in known and name not in names
        if is_unknown and spec.impl == "proxy" and _stands_for_keyword(name):
            lacks = f"there is no parameter {name!r}, and none {name[:-1]!r}."
            raise InvalidArgs(Reason.BAD_ARGS, f"Invalid arguments for {spec.name}: {lacks}")
    return {name if name in known else names.get(name, name): value for name, value in args.items()}


def _python_form(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else safe_name(name)


def _stands_for_keyword(name: Any) -> bool:
    return isinstance(name, str) and name.endswith("_") and keyword.iskeyword(name[:-1])
