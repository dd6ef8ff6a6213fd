"""What the papers, and independent runs of what they describe, say. `TO_BE_CHECKED`: from memory, not read again."""

from __future__ import annotations

import math

TO_BE_CHECKED = "to be checked"

FROM_MEMORY = f"published figures marked '{TO_BE_CHECKED}' are from memory, not verified"
"""What is said beside every figure that has such ones."""

PATH_FINGERS = {
    8: 1.32,
    16: 1.90,
    32: 2.38,
    64: 2.97,
    128: 3.48,
    256: 3.79,
    512: 4.36,
    1024: 4.84,
    2048: 5.35,
    4096: 5.92,
    8192: 6.40,
    16384: 6.92,
}
"""Mean hops to the key's predecessor by nodes, fingers alone: one set of rings of a reference simulator."""

PATH_LISTS = {
    8: 1.00,
    16: 1.37,
    32: 1.72,
    64: 2.12,
    128: 2.52,
    256: 2.89,
    512: 3.33,
    1024: 3.78,
    2048: 4.23,
    4096: 4.70,
    8192: 5.13,
    16384: 5.61,
}
"""The same with successor lists of 2 log2 N among the candidates."""

HALF_LOG2_FROM = 1 << 10


def half_log2(members: int) -> float | None:
    """Mean hops to the key's predecessor, fingers alone: half log2 N - 0.138. None in rings too small for that."""
    return math.log2(members) / 2 - 0.138 if members >= HALF_LOG2_FROM else None


LOAD_99TH = {1: 4.8, 2: None, 5: None, 10: None, 20: 1.6}
"""SIGCOMM 2001, figure 9: 99th percentile of keys per node over the mean, by virtual nodes; 10^4 nodes, 10^6 keys."""

LOAD_1ST = {1: 0.0, 2: None, 5: None, 10: None, 20: 0.5}
"""The same of the 1st percentile."""

LOAD_99TH_BY_KEYS = {500_000: 4.6}
LOAD_MOST_BY_KEYS = {500_000: 9.1}
"""SIGCOMM 2001, figure 8: 99th percentile and fullest of 10^4 nodes over the mean, by keys; the latter of one ring."""

LOAD_99TH_REFERENCE = {1: 4.65, 2: 3.33, 5: 2.37, 10: 1.93, 20: 1.65}
LOAD_1ST_REFERENCE = {1: 0.01, 2: 0.06, 5: 0.23, 10: 0.38, 20: 0.51}
LOAD_99TH_BY_KEYS_REFERENCE = {100_000: 4.80, 500_000: 4.66, 1_000_000: 4.64}
"""The same of one ring each of a reference simulator."""

FAILURES_PATH = {0.0: 3.84, 0.1: 4.03, 0.2: 4.22, 0.3: 4.44, 0.4: 4.69, 0.5: 5.09}
FAILURES_TIMEOUTS = {0.0: 0.0, 0.1: 0.60, 0.2: 1.17, 0.3: 2.02, 0.4: 3.23, 0.5: 5.10}
"""ToN 2003, table II: 1,000 nodes, lists of 20, right after each fails with this probability. To be checked."""

FAILURES_PATH_REFERENCE = {0.0: 3.785, 0.1: 3.964, 0.2: 4.134, 0.3: 4.347, 0.4: 4.705, 0.5: 5.087}
FAILURES_TIMEOUTS_REFERENCE = {0.0: 0.000, 0.1: 0.495, 0.2: 1.068, 0.3: 1.873, 0.4: 3.284, 0.5: 5.338}
FAILURES_OF_FOUR_REFERENCE = {0.0: 0, 0.1: 23, 0.2: 177, 0.3: 491, 0.4: 1617, 0.5: 3024}
"""A reference simulator, 9,999 lookups each: the same, and how many lookups lists of 4 let fail or end wrong."""

CHURN_FAILED = {0.05: 0, 0.10: 0, 0.15: 2, 0.20: 5, 0.25: 6, 0.30: 8, 0.35: 16, 0.40: 15}
CHURN_PATH = {0.05: 3.90, 0.10: 3.83, 0.15: 3.84, 0.20: 3.81, 0.25: 3.83, 0.30: 3.91, 0.35: 3.94, 0.40: 4.06}
CHURN_TIMEOUTS = {0.05: 0.05, 0.10: 0.11, 0.15: 0.16, 0.20: 0.23, 0.25: 0.30, 0.30: 0.34, 0.35: 0.42, 0.40: 0.46}
"""ToN 2003, table III: joins and leaves a second each; of 10,000 lookups. To be checked."""

LOST_KEYS = "as many of the keys as of the nodes"
"""SIGCOMM 2001, figure 11: what is not found after a part of 10^4 nodes failed at once and stabilization finished."""

STRETCH = {
    ("iterative", "space"): (7.8, 4.4, 19.8),
    ("iterative", "transit-stub"): (7.2, 4.4, 36.0),
    ("recursive", "space"): (4.5, 2.5, 11.5),
    ("recursive", "transit-stub"): (4.1, 2.7, 24.0),
}
"""ToN 2003, table IV at 2^16 nodes, one candidate a finger: latency of a lookup over that of the direct way, in the
median, 10th and 90th percentile. Space is of three dimensions. To be checked."""

STRETCH_NODES = 1 << 16

PROTOTYPE_MS = {10: 180, 180: 285}
PROTOTYPE_EXPECTED_MS = {180: 300}
"""SIGCOMM 2001, figure 13: median latency of a lookup by nodes, on ten hosts far apart; round trips of about 60 ms, and
what five of them take, which is four on the way and one to the owner."""
