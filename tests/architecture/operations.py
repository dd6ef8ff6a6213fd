"""Operations that are created and never run.

`call(...)` without `yield from` makes a generator, drops it, and says nothing. `yield call(...)` is no better: the
kernel refuses it, but only when it comes to it. Both are found here by name: a name is followed through imports,
`self.name` to its class, and a method of some other object by its name alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.architecture.sources import Source

EFFECTS = frozenset(f"chord.effects.{name}" for name in ("Call", "Cast", "Gather", "Sleep", "Spawn"))

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass
class Catalogue:
    """Where every name of the cores leads: functions by dotted name, and methods also by their bare name."""

    operations: set[str] = field(default_factory=set)
    plain: set[str] = field(default_factory=set)
    operation_methods: set[str] = field(default_factory=set)
    plain_methods: set[str] = field(default_factory=set)
    aliases: dict[str, str] = field(default_factory=dict)

    def resolve(self, dotted: str) -> str:
        """Follow `from x import y` from module to module until the definition."""
        for _ in range(10):
            if dotted not in self.aliases:
                break
            dotted = self.aliases[dotted]
        return dotted


def catalogue(sources: list[Source]) -> Catalogue:
    """Collect the operations of these modules: functions that yield, or say that they return an operation."""
    known = Catalogue()
    for source in sources:
        for found in source.imports:
            if "." in found.dotted:
                known.aliases.setdefault(f"{source.module}.{found.bound}", found.dotted)
        for owner, function in _definitions(source.tree, None):
            dotted = ".".join(filter(None, (source.module, owner, function.name)))
            (known.operations if _is_operation(function) else known.plain).add(dotted)
            if owner:
                (known.operation_methods if _is_operation(function) else known.plain_methods).add(function.name)
    return known


def _definitions(node: ast.AST, owner: str | None) -> Iterator[tuple[str | None, ast.FunctionDef]]:
    """Every function under a node with the class it is a method of; a nested function counts as one of the module."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _definitions(child, child.name)
        elif isinstance(child, ast.FunctionDef):
            yield owner, child
            yield from _definitions(child, None)
        else:
            yield from _definitions(child, owner)


def _is_operation(function: ast.FunctionDef) -> bool:
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(function)):
        return True
    return function.returns is not None and _annotated(function, ("Operation", "Generator"))


def _annotated(function: ast.FunctionDef, names: tuple[str, ...]) -> bool:
    """Whether the return type is one of these, subscripted or not, in whatever module."""
    if function.returns is None:
        return False
    return ast.unparse(function.returns).strip("'\"").partition("[")[0].rpartition(".")[2] in names


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions and classes inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, SCOPES):
            waiting.extend(ast.iter_child_nodes(node))


def discarded(source: Source, known: Catalogue, is_core: bool = True) -> list[str]:
    """Every operation or effect of a module that is created and dropped, as `path:line: what`."""
    return _Discarded(source, known, is_core).run()


class _Discarded(ast.NodeVisitor):
    """Walks a module, knowing the class and the function that it is in."""

    def __init__(self, source: Source, known: Catalogue, is_core: bool) -> None:
        self._source = source
        self._known = known
        self._is_core = is_core
        self._bound = {found.bound: found.dotted for found in source.imports}
        # `import a.b` binds a and not a.b.
        self._bound |= {name: name for name, dotted in self._bound.items() if dotted.startswith(name + ".")}
        self._class: str | None = None
        self._function: ast.FunctionDef | None = None
        self._found: list[str] = []

    def run(self) -> list[str]:
        self.visit(self._source.tree)
        return self._found

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outer, self._class = self._class, node.name
        self.generic_visit(node)
        self._class = outer

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, self._function = self._function, node
        self.generic_visit(node)
        self._function = outer

    def visit_Expr(self, node: ast.Expr) -> None:
        for call in _results(node.value):
            self._report_dropped(call)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(target, ast.Name) and target.id == "_" for target in node.targets):
            for call in _results(node.value):
                self._report_dropped(call)
        self.generic_visit(node)

    def visit_Yield(self, node: ast.Yield) -> None:
        # An iterator of operations hands them to somebody who runs them.
        if node.value is not None and not (self._function and _annotated(self._function, ("Iterator", "Iterable"))):
            for call in _results(node.value):
                if self._leads_to(call) == "operation":
                    self._report(call, "is yielded, and only effects may be: use `yield from`")
        self.generic_visit(node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> None:
        for call in _results(node.value):
            if self._leads_to(call) == "effect":
                self._report(call, "is an effect: use `yield`")
        self.generic_visit(node)

    def _report_dropped(self, call: ast.Call) -> None:
        match self._leads_to(call):
            case "operation":
                self._report(call, "is an operation that nobody runs: use `yield from`")
            case "effect":
                self._report(call, "is an effect that nobody carries out: use `yield`")
            case "either" if self._is_core:
                self._report(call, "has the name of an operation and of a plain method: rename one")

    def _report(self, call: ast.Call, what: str) -> None:
        self._found.append(f"{self._source.where}:{call.lineno}: {ast.unparse(call.func)}(...) {what}")

    def _leads_to(self, call: ast.Call) -> str:
        """What a call makes: an operation, an effect, either (by its name it could be both), or something plain."""
        dotted = self._dotted(call.func)
        if dotted:
            dotted = self._known.resolve(dotted)
            if dotted in EFFECTS:
                return "effect"
            if dotted in self._known.operations:
                return "operation"
            if dotted in self._known.plain:
                return "plain"
        if isinstance(call.func, ast.Attribute) and not self._is_imported_module(call.func.value):
            return self._by_method_name(call.func.attr)
        return "plain"

    def _by_method_name(self, name: str) -> str:
        if name not in self._known.operation_methods:
            return "plain"
        return "either" if name in self._known.plain_methods else "operation"

    def _is_imported_module(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and "." not in self._bound.get(node.id, ".")

    def _dotted(self, node: ast.expr) -> str | None:
        """The full name of an expression that is a name or attributes of a name."""
        if isinstance(node, ast.Name):
            if node.id in ("self", "cls") and self._class:
                return f"{self._source.module}.{self._class}"
            return self._bound.get(node.id, f"{self._source.module}.{node.id}")
        if isinstance(node, ast.Attribute):
            base = self._dotted(node.value)
            return f"{base}.{node.attr}" if base else None
        return None


def _results(node: ast.expr) -> Iterator[ast.Call]:
    """The calls whose results an expression hands on: its own, or those of its branches and elements."""
    match node:
        case ast.Call():
            yield node
        case ast.IfExp(body=body, orelse=orelse):
            yield from _results(body)
            yield from _results(orelse)
        case ast.BoolOp(values=elements) | ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _results(element)
        case ast.ListComp(elt=element) | ast.SetComp(elt=element) | ast.GeneratorExp(elt=element):
            yield from _results(element)
