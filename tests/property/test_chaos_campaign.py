"""The short form of `make campaign`: 2,000 chaos runs, each drawn from its seed."""

from __future__ import annotations

import pytest

from sim.campaign import Totals, judge, runs

RUNS = 2000


@pytest.mark.timeout(900)
def test_nothing_breaks_a_ring():
    """Of 2,000 seeded runs of at least 200 deliveries and 5 faults each, none is unsafe and none gets stuck."""
    totals = Totals()

    for verdict in runs(1, RUNS, jobs=2):
        totals.add(verdict)

    assert totals.failures == []
    assert (totals.runs, totals.unsafe, totals.stuck) == (RUNS, 0, 0)
    assert totals.least_deliveries is not None
    assert totals.least_deliveries >= 200
    assert totals.least_faults is not None
    assert totals.least_faults >= 5


@pytest.mark.parametrize(
    "seed",
    [
        *(100539, 110423, 110770, 117201, 236827, 302203, 328836, 522763, 702526, 754563, 797648),
        *(860822, 900284, 901005, 901235, 912150, 1001206, 1001401, 1007064, 1022941, 1029230, 1142931, 1351324),
    ],
)
def test_what_went_wrong_once_does_not_again(seed):
    """100539: two rings, and the lookups that were to show them went astray by fingers that pointed into each other.

    110423: round trips longer than the pauses between stabilizations, so that everybody was busy nearly all the time.
    110770: a member that gives records back joins another ring that very moment, and offered them only once.
    117201: a joiner whose only contact stood still took a record as the only member, and forgot that it had.
    236827: a joiner had taken its arc over, and somebody who came behind it, and did not know it, had that changed.
    302203: who looked for what a dead member had stored gave up where a list named nobody but processes asked before.
    328836: the only member of a ring took a joiner's records back when the next one came, for it was still alone.
    522763: a ring of one, cut from every address that could still join, was asked for joins until none was left.
    702526: a virtual node of a leaving process took puts while the other one handed over, and nobody else got them.
    754563: a one-way split left one ring that passed key 0 twice; all neighbours agreed, so that nothing healed it.
    797648: a put was acknowledged by as many as there were when its copies were sent; one more had joined meanwhile.
    860822: what had been given to one joiner was given once more, to another that came to lie behind the first.
    900284, 901005: the rule against that had joiners wait for each other, until they gave up without their records.
    901235: whoever had left was adopted again, for what it had sent before.
    912150: whoever alone held a deletion was ended, for the simulator did not take that for a record that must last.
    1001206, 1001401: a joiner was made to wait for longer than it waits, while others were asked what they know of it.
    1007064: a put came to a joiner that had passed its arc on to the next one, a moment before and without it.
    1022941: what a member stood in for was given back to itself, and so to nobody.
    1029230: a member that had stood still forgot what it had answered for before, and gave it to nobody.
    1351324: two that had joined behind a third took records over while the ring knew of none of the three.
    1142931: nobody read behind more than four joiners in a row, which on slow links took longer than a client waits.
    """
    assert judge(seed).findings == []
