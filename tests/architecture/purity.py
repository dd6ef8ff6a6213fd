"""What a core and the simulator may not touch: input and output, clocks, threads, global chance, and the drivers."""

from __future__ import annotations

import ast
import sys

from tests.architecture.sources import CORE_PACKAGES, PACKAGES, Source, within

# Time arrives as `now`, chance as a random.Random, and only drivers do input and output. The first two lines are
# DESIGN's own list; the rest are other ways to the same things.
IMPURE = frozenset(
    """
    asyncio io kazoo logging multiprocessing os pathlib secrets select selectors signal socket subprocess tempfile
    threading time uuid zmq
    _thread atexit concurrent ctypes curses datetime dbm fcntl fileinput ftplib getpass glob http imaplib
    importlib mmap pickle platform poplib pty queue readline resource runpy sched shelve shutil smtplib socketserver
    sqlite3 ssl syslog termios timeit tty urllib webbrowser xmlrpc
    """.split()  # noqa: SIM905 (one name a line would be fifty lines)
)
IMPURE_NAMES = frozenset(["__import__", "breakpoint", "compile", "eval", "exec", "input", "open", "print"])
THIRD_PARTY_OF_CORES = frozenset(["mmh3", "msgspec"])
SIM_MAY_NOT_IMPORT = frozenset(["asyncio", "kazoo", "socket", "threading", "time", "timeit", "zmq"])


def core_violations(source: Source, drivers: frozenset[str]) -> list[str]:
    """Everything in a core that only a driver may do, as `path:line: what`."""
    return sorted(_imports(source, drivers) + _names(source) + _global_chance(source))


def sim_violations(source: Source, drivers: frozenset[str]) -> list[str]:
    """The imports that would let the simulator reach the real world."""
    return _driver_imports(source, drivers) + [
        f"{source.where}:{found.line}: imports {root}, so a run would depend on more than its seed"
        for found in source.imports
        if (root := found.dotted.partition(".")[0]) in SIM_MAY_NOT_IMPORT
    ]


def is_core(module: str, drivers: frozenset[str]) -> bool:
    """Whether a module is core: in chord, pubsub or broker, and not listed as a driver."""
    return module.partition(".")[0] in CORE_PACKAGES and module not in drivers


def reason_against(dotted: str) -> str | None:
    """Why a core may not import this, or None if it may."""
    root = dotted.partition(".")[0]
    if root in IMPURE:
        return f"imports {root}, which only a driver may"
    if root in PACKAGES or root in sys.stdlib_module_names or root in THIRD_PARTY_OF_CORES:
        return None
    return f"imports {root}; of third parties a core may import {' and '.join(sorted(THIRD_PARTY_OF_CORES))} only"


def _imports(source: Source, drivers: frozenset[str]) -> list[str]:
    found = [
        f"{source.where}:{line}: {reason}"
        for line, root in sorted({(found.line, found.dotted.partition(".")[0]) for found in source.imports})
        if (reason := reason_against(root))
    ]
    return found + _driver_imports(source, drivers)


def _driver_imports(source: Source, drivers: frozenset[str]) -> list[str]:
    return [
        f"{source.where}:{line}: imports the driver {driver}"
        for line, driver in sorted({(found.line, within(found.dotted, drivers) or "") for found in source.imports})
        if driver
    ]


def _names(source: Source) -> list[str]:
    return [
        f"{source.where}:{node.lineno}: uses {node.id}, which only a driver may"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in IMPURE_NAMES
    ]


def _global_chance(source: Source) -> list[str]:
    """Uses of the random module other than the type random.Random."""
    found = [
        f"{source.where}:{found.line}: imports {found.dotted}; chance arrives as a random.Random"
        for found in source.imports
        if found.dotted.startswith("random.") and found.dotted != "random.Random"
    ]
    names = {found.bound for found in source.imports if found.dotted == "random"}
    parents = {child: node for node in ast.walk(source.tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name) and node.id in names:
            parent = parents[node]
            if isinstance(parent, ast.Attribute) and parent.attr == "Random":
                continue
            used = ast.unparse(parent if isinstance(parent, ast.Attribute) else node)
            found.append(f"{source.where}:{node.lineno}: uses {used}; chance arrives as a random.Random")
    return found
