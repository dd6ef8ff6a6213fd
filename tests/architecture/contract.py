"""The import rule for drivers as a contract of import-linter, over the drivers that setup.cfg lists.

import-linter's own `forbidden` contract would need the list of cores, and every module is a core that is not a driver.
Direct imports are enough: when no core imports a driver directly, none reaches one through other cores.
"""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output

from tests.architecture.purity import SIM_MAY_NOT_IMPORT, is_core, reason_against
from tests.architecture.sources import read_drivers, within


class DriversContract(Contract):
    """No core and no module of the simulator imports a driver, or what only drivers may import."""

    type_name = "drivers"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        """Judge every direct import of a core or of sim."""
        drivers = read_drivers()
        broken = [
            f"{importer} -> {imported}: {why}"
            for importer in sorted(graph.modules)
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if (why := reason(importer, imported, drivers))
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line for each import that breaks the rule."""
        for line in check.metadata["broken"]:
            output.print_error(line, bold=False)


def reason(importer: str, imported: str, drivers: frozenset[str]) -> str | None:
    """Why this import breaks the rule, or None if it does not."""
    core = is_core(importer, drivers)
    sim = importer.partition(".")[0] == "sim"
    if (core or sim) and (driver := within(imported, drivers)):
        return f"{driver} is a driver"
    if core:
        return reason_against(imported)
    if sim and imported.partition(".")[0] in SIM_MAY_NOT_IMPORT:
        return "a run would depend on more than its seed"
    return None
