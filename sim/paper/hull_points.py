"""Settings as points of cost and latency, and the lower convex hull of them: what no other settings beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple

from sim.paper.counts import mean, percentile, total
from sim.paper.figure import Measured, Value
from sim.paper.hull_settings import tried_by


def points_of(measured: Sequence[Measured], life_s: float) -> list[Point]:
    """Those of one lifetime, the cheapest first."""
    points = [Point(one) for one in measured if one.parameters["life_s"] == life_s]
    return sorted(points, key=lambda point: (point.bytes_s, point.mean_ms))


class Point:
    """A combination of settings, and what came of it."""

    def __init__(self, one: Measured) -> None:
        latencies = total([one.result["latencies_ms"]])
        self.tried = tried_by(one.parameters)
        self.bytes_s: float = one.result["bytes_a_node_and_second"]
        self.mean_ms = mean(latencies)
        self._edges = percentile(latencies, 50), percentile(latencies, 99)
        self._ended: int = one.result["ended"]
        self.right = sum(latencies.values()) / self._ended

    def cells(self) -> list[Value]:
        """The columns of a row from the settings on."""
        median_ms, p99_ms = self._edges
        return [*astuple(self.tried), self.bytes_s, median_ms, self.mean_ms, p99_ms, self._ended, self.right]


def lower_hull(points: Sequence[tuple[float, float]]) -> list[int]:
    """Which of some points, sorted by cost, lie on the lower convex hull, from the cheapest to the best."""
    hull: list[int] = []
    for at, (cost, value) in enumerate(points):
        if hull and value >= points[hull[-1]][1]:
            continue  # costs more, and is no better
        while len(hull) > 1 and _turns_up(points[hull[-2]], points[hull[-1]], (cost, value)):
            hull.pop()
        hull.append(at)
    return hull


def _turns_up(one: tuple[float, float], between: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether a point lies on or above the line between two others."""
    rise = (other[1] - one[1]) * (between[0] - one[0])
    return (between[1] - one[1]) * (other[0] - one[0]) >= rise
