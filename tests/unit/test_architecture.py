"""The rules about the source itself hold, and each check finds what it is there to find."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.architecture.contract import reason
from tests.architecture.conventions import swallowed_errors, unpickling, vague_names
from tests.architecture.footprint import HEAVY, loaded
from tests.architecture.operations import catalogue, discarded
from tests.architecture.purity import core_violations, is_core, sim_violations
from tests.architecture.sources import CORE_PACKAGES, PACKAGES, ROOT, Source, absent, read_drivers, read_sources

DRIVERS = read_drivers()
SOURCES = read_sources(*PACKAGES)
FOLDERS = {".".join(found.module.split(".")[:-1]) for found in SOURCES} | set(PACKAGES)
CORES = [source for source in SOURCES if is_core(source.module, DRIVERS)]


def source(text: str, module: str = "chord.example") -> Source:
    return Source(module, dedent(text))


def show(violations: list[str]) -> str:
    return "\n" + "\n".join(violations)


# Cores and drivers


def test_the_sources_are_found():
    """Every package is there, and the cores are most of it: a check of nothing would always pass."""
    assert {found.module for found in SOURCES} >= set(PACKAGES)
    assert len(CORES) > len(CORE_PACKAGES)


def test_every_listed_driver_exists():
    """A driver in setup.cfg that does not exist would exempt whatever takes its name."""
    missing = absent(DRIVERS, SOURCES)

    assert not missing, f"setup.cfg lists drivers that do not exist: {', '.join(missing)}"


def test_a_listed_driver_that_does_not_exist_is_found():
    """The check of the list names what is missing."""
    assert absent(frozenset(["chord.ghost", "chord.example"]), [source("")]) == ["chord.ghost"]


@pytest.mark.parametrize("core", CORES, ids=lambda core: core.module)
def test_a_core_touches_nothing_real(core):
    """A core does no input or output, has no clock, thread or global chance, and imports no driver."""
    violations = core_violations(core, DRIVERS)

    assert not violations, show(violations)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import zmq", "imports zmq, which only a driver may"),
        ("import os.path", "imports os, which"),
        ("from os import environ", "imports os, which"),
        ("import time as t", "imports time, which"),
        ("def f():\n    import threading", "imports threading, which"),
        ("if TYPE_CHECKING:\n    from kazoo.client import KazooClient", "imports kazoo, which"),
        ("from pathlib import Path", "imports pathlib, which"),
        ("import msgpack", "imports msgpack; of third parties a core may import mmh3 and msgspec only"),
        ("import attrs", "imports attrs; of third parties"),
        ("open('x')", "uses open, which"),
        ("print('x')", "uses print, which"),
        ("say = print", "uses print, which"),
        ("import random\nrandom.random()", "uses random.random; chance arrives as a random.Random"),
        ("import random as chance\nchance.seed(1)", "uses chance.seed; chance arrives"),
        ("import random\nself.chance = random", "uses random; chance arrives"),
        ("from random import choice", "imports random.choice; chance arrives"),
        ("import chord.zmq_driver", "imports the driver chord.zmq_driver"),
        ("from chord import zmq_driver", "imports the driver chord.zmq_driver"),
        ("from chord.zmq_driver import Driver", "imports the driver chord.zmq_driver"),
        ("from . import zmq_driver", "imports the driver chord.zmq_driver"),
        ("from .zmq_driver import Driver", "imports the driver chord.zmq_driver"),
    ],
)
def test_what_a_core_may_not_do_is_found(text, expected):
    """Each way out of the core is seen, wherever it stands and whatever it is called."""
    found = core_violations(source(text), frozenset(["chord.zmq_driver"]))

    assert any(expected in line for line in found), found


@pytest.mark.parametrize(
    "text",
    [
        "import msgspec, mmh3, heapq, collections.abc",
        "import random\ndef f(chance: random.Random) -> None: chance.random()",
        "from random import Random",
        "from chord.ring_state import RingState",
        "from . import ring_state",
        "def f(connection): connection.open(); connection.print()",
    ],
)
def test_what_a_core_may_do_is_left_alone(text):
    """The pure parts of the standard library, msgspec, mmh3, other cores and the type random.Random."""
    assert core_violations(source(text), frozenset(["chord.zmq_driver"])) == []


def test_an_unlisted_module_is_a_core():
    """Modules of chord, pubsub and broker are cores unless they are listed; those of sim and experiments never are."""
    drivers = frozenset(["chord.cli"])

    assert is_core("chord.anything", drivers)
    assert is_core("broker.gateway.page", drivers)
    assert not is_core("chord.cli", drivers)
    assert not is_core("sim.world", drivers)


def test_the_simulator_touches_nothing_real():
    """No module of sim imports a driver, a socket, a thread or a clock."""
    violations = [line for found in read_sources("sim") for line in sim_violations(found, DRIVERS)]

    assert not violations, show(violations)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import zmq", "sim/example.py:1: imports zmq"),
        ("from time import monotonic", "sim/example.py:1: imports time"),
        ("from timeit import default_timer", "sim/example.py:1: imports timeit"),
        ("def f():\n    from chord import zmq_driver", "sim/example.py:2: imports the driver chord.zmq_driver"),
    ],
)
def test_what_the_simulator_may_not_import_is_found(text, expected):
    """Each import that would tie a run to more than its seed is seen."""
    found = sim_violations(source(text, "sim.example"), frozenset(["chord.zmq_driver"]))

    assert any(line.startswith(expected) for line in found), found


@pytest.mark.parametrize(
    ("importer", "imported", "expected"),
    [
        ("chord.ring_state", "chord.cli", "chord.cli is a driver"),
        ("chord.ring_state", "zmq", "imports zmq, which only a driver may"),
        ("sim.world", "chord.cli", "chord.cli is a driver"),
        ("sim.world", "threading", "a run would depend on more than its seed"),
        ("sim.world", "networkx", None),
        ("chord.ring_state", "chord.messages", None),
        ("chord.cli", "zmq", None),
        ("experiments.demo", "chord.cli", None),
    ],
)
def test_the_contract_judges_an_import(importer, imported, expected):
    """The contract that lint-imports checks draws the same line as the tests above."""
    assert reason(importer, imported, frozenset(["chord.cli"])) == expected


# Operations that nobody runs


def test_no_operation_is_discarded():
    """Every operation and effect that is created is also run, in the cores and in whatever uses them."""
    known = catalogue(CORES)

    violations = [line for found in SOURCES for line in discarded(found, known, is_core=is_core(found.module, DRIVERS))]

    assert known.operations
    assert not violations, show(violations)


LIBRARY = source(
    """
    from chord.effects import Call

    def ask(to): reply = yield Call(to); return reply
    def twice(to) -> Operation[int]: return ask(to)
    def plain(to): return to

    class Member:
        def join(self): yield from ask(1)
        def stop(self): return None
        def both(self): yield from ask(1)

    class Server:
        def both(self): return 1
    """,
    "chord.library",
)

PREAMBLE = """
from chord import effects, library
from chord.effects import Call, Sleep as Pause
from chord.library import Member, Server, ask, plain, twice

class Here(Member):
    def walk(self): yield from ask(1)
    def step(self): return 1

    def run(self, to, member, server):
        {statement}
"""


def discarded_in(statement: str, *, is_core: bool = True) -> list[str]:
    text = Source("chord.example", PREAMBLE.format(statement=statement))
    return discarded(text, catalogue([LIBRARY, text]), is_core)


@pytest.mark.parametrize(
    "statement",
    [
        "ask(to)",
        "library.ask(to)",
        "twice(to)",
        "self.walk()",
        "self.join()",
        "member.join()",
        "self.peers[0].join()",
        "Member.join(member)",
        "_ = ask(to)",
        "ask(to) if to else None",
        "to and ask(to)",
        "[ask(each) for each in to]",
        "while to: ask(to)",
        "(lambda: 0, ask(to))",
    ],
)
def test_a_discarded_operation_is_found(statement):
    """An operation that is called and dropped is an error, however it is reached."""
    found = discarded_in(statement)

    assert len(found) == 1
    assert "is an operation that nobody runs: use `yield from`" in found[0]
    assert found[0].startswith("chord/example.py:11: ")


@pytest.mark.parametrize("statement", ["Call(to)", "Pause(1)", "effects.Gather([])", "_ = Call(to)"])
def test_a_discarded_effect_is_found(statement):
    """An effect that is made and not yielded is an error."""
    found = discarded_in(statement)

    assert len(found) == 1
    assert "is an effect that nobody carries out: use `yield`" in found[0]


@pytest.mark.parametrize("statement", ["yield ask(to)", "reply = yield self.walk()", "return (yield member.join())"])
def test_a_yielded_operation_is_found(statement):
    """An operation is awaited with `yield from`; `yield` is for effects."""
    found = discarded_in(statement)

    assert len(found) == 1
    assert "is yielded, and only effects may be: use `yield from`" in found[0]


def test_an_effect_that_is_delegated_to_is_found():
    """An effect is yielded; there is nothing in it to delegate to."""
    (found,) = discarded_in("yield from Call(to)")

    assert "Call(...) is an effect: use `yield`" in found


def test_an_ambiguous_method_is_found_in_a_core():
    """A bare call to a name that is an operation here and plain there cannot be judged, so a core may not have one."""
    (found,) = discarded_in("server.both()")

    assert "has the name of an operation and of a plain method" in found
    assert discarded_in("server.both()", is_core=False) == []


@pytest.mark.parametrize(
    "statement",
    [
        "yield from ask(to)",
        "reply = yield from self.walk()",
        "yield Call(to)",
        "yield effects.Gather([ask(to), member.join()])",
        "return ask(to)",
        "operation = ask(to)",
        "self.start(ask(to))",
        "plain(to)",
        "library.plain(to)",
        "self.step()",
        "self.stop()",
        "member.stop()",
        "to.append(ask(to))",
        "ask = plain",
    ],
)
def test_an_operation_that_is_run_or_kept_is_left_alone(statement):
    """What is delegated to, stored, passed on, or plain is no error."""
    assert discarded_in(statement) == []


def test_an_iterator_of_operations_is_left_alone():
    """A function that hands operations to somebody who runs them says so in its type."""
    text = source(
        """
        from collections.abc import Iterator
        from chord.library import ask

        def plan() -> Iterator[Operation[int]]: yield ask(1)
        """
    )

    assert discarded(text, catalogue([LIBRARY])) == []


def test_a_name_is_followed_through_a_re_export():
    """An operation imported from a package that only passes it on is still that operation."""
    package = Source("chord", "from chord.library import ask", is_package=True)
    text = source("from chord import ask\nask(1)")

    assert len(discarded(text, catalogue([LIBRARY, package]))) == 1


# House rules


def test_every_module_is_named_for_what_it_does():
    """There is no utils, helpers, manager or common."""
    assert not vague_names([found.module for found in SOURCES])


def test_a_vague_name_is_found():
    """Also as a part of a longer name; a word that only contains one is no match."""
    modules = ["chord.utils", "pubsub.topic_manager", "broker._common", "sim.helpers", "chord.utility_function"]

    assert [line.partition(":")[0] for line in vague_names(modules)] == modules[:4]


def test_no_error_is_swallowed():
    """Nothing catches everything and does nothing about it."""
    violations = [line for found in SOURCES for line in swallowed_errors(found)]

    assert not violations, show(violations)


@pytest.mark.parametrize(
    "text",
    [
        "try: f()\nexcept: raise",
        "try: f()\nexcept Exception: pass",
        "try: f()\nexcept (ValueError, BaseException) as error: ...",
        "for x in y:\n  try: f()\n  except Exception:\n    'never mind'\n    continue",
        "with contextlib.suppress(Exception): f()",
    ],
)
def test_a_swallowed_error_is_found(text):
    """A bare except, or one for everything with nothing in it, in whatever form."""
    assert len(swallowed_errors(source(text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "try: f()\nexcept ValueError: pass",
        "try: f()\nexcept Exception as error: log(error)",
        "with contextlib.suppress(OSError): f()",
    ],
)
def test_a_handled_error_is_left_alone(text):
    """One named error may be ignored, and everything may be caught by who does something about it."""
    assert swallowed_errors(source(text)) == []


def test_nothing_is_unpickled():
    """Bytes become typed messages or an error, never arbitrary objects."""
    violations = [line for found in SOURCES for line in unpickling(found)]

    assert not violations, show(violations)


@pytest.mark.parametrize(
    "text",
    ["import pickle\npickle.loads(b'')", "import pickle as p\np.Unpickler(f)", "from pickle import loads as read"],
)
def test_unpickling_is_found(text):
    """Under any name."""
    assert len(unpickling(source(text))) == 1


# What ARCHITECTURE.md tells of


def unnamed(modules: list[str], text: str) -> list[str]:
    """Which modules a text does not name, each in back quotes with its package."""
    return [module for module in modules if f"`{module}`" not in text]


def test_every_module_is_named_in_the_architecture():
    """Whoever adds a module says there what it is for; a package itself needs no row."""
    modules = [found.module for found in SOURCES if found.module not in FOLDERS]

    assert unnamed(modules, (ROOT / "ARCHITECTURE.md").read_text()) == []


def test_a_module_that_is_not_named_is_found():
    """A longer name that holds it does not count."""
    assert unnamed(["chord.cli", "chord.ring"], "| `chord.cli` | `chord.ring_state` |") == ["chord.ring"]


# What a process loads


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("chord.cli", HEAVY | {"typer", "msgspec", "zmq"}),
        ("chord.cli_app", HEAVY),
        ("chord.zmq_driver", HEAVY | {"rich", "typer"}),
    ],
    ids=["chord.cli", "chord.cli_app", "chord.zmq_driver"],
)
def test_a_ring_node_loads_little(module, forbidden):
    """A ring node loads neither Spark nor what the simulator and the brokers need."""
    assert loaded(module, forbidden) == []


def test_a_loaded_package_is_found():
    """The check sees what an import brings along with it, and fails for a module that cannot be imported."""
    assert loaded("json", frozenset(["json.decoder", "numpy"])) == ["json.decoder"]
    with pytest.raises(AssertionError, match=r"(?s)import chord.ghost failed: .*ModuleNotFoundError"):
        loaded("chord.ghost", HEAVY)
