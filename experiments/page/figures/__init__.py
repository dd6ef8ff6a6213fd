"""Every figure of the report, in the order of the page. Each makes itself of the material, or nothing without any."""

from __future__ import annotations

from collections.abc import Callable

from experiments.page.chart import Figure
from experiments.page.figures import (
    distribution,
    failures,
    keys,
    latencies,
    load,
    messages,
    papers,
    path_length,
    time_lines,
)
from experiments.page.material import Material

SECTIONS = ("Lookups", "Latency", "Failures", "Keys and load", "Messages", "Time lines", "Published figures")

FIGURES: tuple[Callable[[Material], Figure | None], ...] = (
    path_length.path_length,
    distribution.path_distribution,
    latencies.latency_cdf,
    latencies.latency_by_ring_size,
    load.slowest,
    failures.failed_lookups,
    failures.under_failures,
    failures.churn,
    keys.keys_per_node,
    load.node_load,
    load.hot_keys,
    latencies.latency_by_clients,
    messages.app_and_wire,
    time_lines.time_line,
    time_lines.failover,
    papers.prototype,
    papers.stretch,
    papers.split,
    papers.hull,
)


def figures(material: Material) -> list[Figure]:
    """Those there is something to draw for, section by section."""
    found = [figure for make in FIGURES if (figure := make(material)) is not None]
    return sorted(found, key=lambda figure: SECTIONS.index(figure.section))
