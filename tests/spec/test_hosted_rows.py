"""The list of tests that do not apply to hosted mode."""

import ast

from support.hosted_process import NOT_HOSTED
from support.paths import PROJECT

FIXTURES = {"server", "new_server", "server_kind", "restarted"}
"""A test with one of these runs with each kind of server."""


def test_every_test_that_does_not_apply_to_hosted_mode_exists_and_would_run_there():
    for file, reasons in NOT_HOSTED.items():
        functions = {
            node.name: {argument.arg for argument in node.args.args}
            for node in ast.parse((PROJECT / file).read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef)
        }
        for name, reason in reasons.items():
            assert functions.get(name, set()) & FIXTURES, f"{file}: {name}"
            assert reason
