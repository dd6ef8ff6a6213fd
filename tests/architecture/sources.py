"""The modules of the packages, parsed, and which of them are drivers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from configparser import ConfigParser
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE_PACKAGES = ("chord", "pubsub", "broker")
PACKAGES = (*CORE_PACKAGES, "sim", "experiments")


@dataclass(frozen=True)
class Import:
    """One name that an import statement binds: `dotted` is what it names, `bound` the name it gets here."""

    dotted: str
    bound: str
    line: int


@dataclass(frozen=True)
class Source:
    """A parsed module."""

    module: str
    text: str
    is_package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree, parsed once."""
        return ast.parse(self.text, self.where)

    @property
    def package(self) -> str:
        """The package of the module, which a relative import starts from."""
        return self.module if self.is_package else self.module.rpartition(".")[0]

    @property
    def where(self) -> str:
        """The path of the module as it is printed in front of a line number."""
        return self.module.replace(".", "/") + ("/__init__.py" if self.is_package else ".py")

    @cached_property
    def imports(self) -> list[Import]:
        """Every import of the module, also those inside functions."""
        return list(self._imports())

    def _imports(self) -> Iterator[Import]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    # `import a.b` binds a; `import a.b as c` binds c to a.b.
                    yield Import(alias.name, alias.asname or alias.name.partition(".")[0], node.lineno)
            elif isinstance(node, ast.ImportFrom):
                base = self._base(node)
                for alias in node.names:
                    yield Import(f"{base}.{alias.name}", alias.asname or alias.name, node.lineno)

    def _base(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        ancestor = self.package.split(".")
        ancestor = ancestor[: len(ancestor) - node.level + 1]
        return ".".join([*ancestor, node.module] if node.module else ancestor)


def read_sources(*packages: str) -> list[Source]:
    """Every module of these packages."""
    return [
        Source(module_name(path), path.read_text(encoding="utf-8"), path.name == "__init__.py")
        for package in packages
        for path in sorted((ROOT / package).rglob("*.py"))
    ]


def module_name(path: Path) -> str:
    """The dotted name of a file of the checkout."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read_drivers() -> frozenset[str]:
    """The modules that setup.cfg lists as drivers."""
    settings = ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    return frozenset(settings["ringcast:drivers"]["modules"].split())


def absent(drivers: frozenset[str], sources: list[Source]) -> list[str]:
    """The drivers that are listed and do not exist; such a line would exempt whatever takes the name later."""
    return sorted(drivers - {source.module for source in sources})


def within(dotted: str, modules: frozenset[str]) -> str | None:
    """The module among `modules` that `dotted` is, or lies in."""
    while dotted:
        if dotted in modules:
            return dotted
        dotted = dotted.rpartition(".")[0]
    return None
