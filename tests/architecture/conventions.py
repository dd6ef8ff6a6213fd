"""House rules that no linter knows: names of modules, swallowed errors, and nothing unpickled."""

from __future__ import annotations

import ast

from tests.architecture.sources import Source

VAGUE = frozenset(["common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"])
UNPICKLERS = frozenset(
    f"{module}.{name}"
    for module in ("pickle", "marshal", "shelve", "dill", "cloudpickle")
    for name in ("load", "loads", "Unpickler", "open")
)
EVERYTHING = frozenset(["Exception", "BaseException"])


def vague_names(modules: list[str]) -> list[str]:
    """The modules whose name says nothing: `utils`, `node_manager`."""
    return [
        f"{module}: name it for what it does"
        for module in modules
        if VAGUE & set(module.rpartition(".")[2].strip("_").split("_"))
    ]


def swallowed_errors(source: Source) -> list[str]:
    """Every bare except, and every place that catches everything and does nothing about it."""
    found = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            found.append(f"{source.where}:{node.lineno}: bare except")
        elif isinstance(node, ast.ExceptHandler) and _catches_everything(node.type) and _does_nothing(node.body):
            found.append(f"{source.where}:{node.lineno}: swallows every error")
        elif isinstance(node, ast.Call) and _suppresses_everything(node):
            found.append(f"{source.where}:{node.lineno}: suppresses every error")
    return found


def _suppresses_everything(call: ast.Call) -> bool:
    named_suppress = ast.unparse(call.func).rpartition(".")[2] == "suppress"
    return named_suppress and any(_catches_everything(argument) for argument in call.args)


def _catches_everything(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Tuple):
        return any(_catches_everything(element) for element in node.elts)
    return isinstance(node, ast.Name) and node.id in EVERYTHING


def _does_nothing(body: list[ast.stmt]) -> bool:
    return all(
        isinstance(statement, ast.Pass | ast.Continue)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in body
    )


def unpickling(source: Source) -> list[str]:
    """Every way to turn bytes into arbitrary objects; bytes may come from the network."""
    found = [
        f"{source.where}:{found.line}: imports {found.dotted}" for found in source.imports if found.dotted in UNPICKLERS
    ]
    bound = {found.bound: found.dotted for found in source.imports}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            dotted = f"{bound.get(node.value.id, '')}.{node.attr}"
            if dotted in UNPICKLERS:
                found.append(f"{source.where}:{node.lineno}: uses {dotted}")
    return found
