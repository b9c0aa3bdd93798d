"""The names of a program: where it binds them, and which uses refer to none of its bindings."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LEAVES = (ast.Constant, ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)


class Names(NamedTuple):
    """The names of a program. When it is unclear what a name refers to, it counts as bound."""

    free: Sequence[ast.Name]
    """Uses that refer to no binding of the program, in the order of the source."""
    counts: Counter[str]
    """How many times the program binds each name, in all scopes."""
    values: Mapping[str, ast.AST]
    """What binds a name to a value that is known: the value, `async def` or the part of an import."""


class _Scope:
    """A scope, the scopes around it, and where `:=` binds in it."""

    def __init__(self, parent: "_Scope | None", *, is_comprehension: bool = False) -> None:
        self.names: set[str] = set()
        self.parent = parent
        self.target: _Scope = parent.target if parent and is_comprehension else self

    def binds(self, name: str) -> bool:
        """Return whether this scope or one around it binds a name. Functions see the names of classes."""
        scope: _Scope | None = self
        while scope:
            if name in scope.names:
                return True
            scope = scope.parent
        return False


_Child = tuple[ast.AST, _Scope]


def find_names(tree: ast.Module) -> Names:
    """Return the names of a program. Annotations are ignored, because the sandbox does not evaluate them."""
    return _NameFinder().find(tree)


class _NameFinder:
    """Walks through a tree without recursion, because code may be nested deeply."""

    def __init__(self) -> None:
        self._module = _Scope(None)
        self._bindings = Counter[str]()
        self._values: dict[str, ast.AST] = {}
        self._uses: list[tuple[ast.Name, _Scope]] = []

    def find(self, tree: ast.Module) -> Names:
        todo: list[_Child] = [(tree, self._module)]
        while todo:
            node, scope = todo.pop()
            if isinstance(node, ast.Name):
                self._add_name(node, scope)
            elif not isinstance(node, LEAVES):
                self._bind_names(node, scope)
                todo += self._children(node, scope)
        free = [name for name, scope in self._uses if not scope.binds(name.id)]
        free.sort(key=lambda name: (name.lineno, name.col_offset))
        return Names(free, self._bindings, self._values)

    def _add_name(self, node: ast.Name, scope: _Scope) -> None:
        if isinstance(node.ctx, ast.Load):
            self._uses.append((node, scope))
        else:
            self._bind(scope, node.id)

    def _bind(self, scope: _Scope, *names: str) -> None:
        scope.names.update(names)
        self._bindings.update(names)

    def _bind_names(self, node: ast.AST, scope: _Scope) -> None:
        """Bind the names that a node contains as strings, and note the values of names."""
        if isinstance(node, ast.alias):
            imported = node.asname or node.name.partition(".")[0]
            self._bind(scope, imported)
            self._values[imported] = node
        elif isinstance(node, ast.Global):
            self._bind(self._module, *node.names)
        elif isinstance(node, ast.arg):
            self._bind(scope, node.arg)
        elif isinstance(node, ast.NamedExpr):
            self._bind(scope.target, node.target.id)
        elif isinstance(node, ast.Assign):
            self._values.update((name.id, node.value) for name in node.targets if isinstance(name, ast.Name))
        elif isinstance(name := getattr(node, "name", None) or getattr(node, "rest", None), str):
            self._bind(scope, name)  # a function, a class, an exception, or a name in a `case`
            if isinstance(node, ast.AsyncFunctionDef):
                self._values[name] = node

    def _children(self, node: ast.AST, scope: _Scope) -> Iterable[_Child]:
        if isinstance(node, FUNCTIONS):
            return self._function_children(node, scope)
        if isinstance(node, ast.ClassDef):
            outer = [*node.decorator_list, *node.bases, *node.keywords]
            return _split(scope, outer, self._inner_scope(node, scope), node.body)
        if isinstance(node, COMPREHENSIONS):
            inner = _Scope(scope, is_comprehension=True)
            first = node.generators[0].iter
            inside = [child for part in ast.iter_child_nodes(node) for child in _open(part)]
            return _split(scope, [first], inner, [child for child in inside if child is not first])
        if isinstance(node, ast.AnnAssign):
            return ((child, scope) for child in (node.target, node.value) if child)
        if isinstance(node, ast.arg):
            return ()
        return ((child, scope) for child in ast.iter_child_nodes(node))

    def _function_children(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: _Scope
    ) -> Iterable[_Child]:
        defaults = [default for default in (*node.args.defaults, *node.args.kw_defaults) if default]
        args = [child for child in ast.iter_child_nodes(node.args) if isinstance(child, ast.arg)]
        inner = self._inner_scope(node, scope)
        if isinstance(node, ast.Lambda):
            return _split(scope, defaults, inner, [*args, node.body])
        return _split(scope, [*node.decorator_list, *defaults], inner, [*args, *node.body])

    def _inner_scope(self, node: ast.AST, scope: _Scope) -> _Scope:
        inner = _Scope(scope)
        self._bind(inner, *(parameter.name for parameter in getattr(node, "type_params", ())))
        return inner


def _open(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a `for` in a comprehension, or any other node itself."""
    if isinstance(node, ast.comprehension):
        yield from ast.iter_child_nodes(node)
    else:
        yield node


def _split(
    scope: _Scope, outer: Iterable[ast.AST], inner: _Scope, children: Iterable[ast.AST]
) -> Iterator[_Child]:
    yield from ((child, scope) for child in outer)
    yield from ((child, inner) for child in children)
