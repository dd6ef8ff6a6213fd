"""What `ringcast pub` publishes."""

from __future__ import annotations

import io
from itertools import islice

import pytest

from broker.sources import lines_of, made_up, paced
from chord.errors import LocalProtocolError


@pytest.mark.parametrize(
    ("size", "first", "hundredth"), [(5, b"1....", b"100.."), (3, b"1..", b"100"), (2, b"1.", b"10"), (1, b"1", b"1")]
)
def test_made_up_samples_have_the_size_that_was_asked_for(size: int, first: bytes, hundredth: bytes) -> None:
    """Their number, as far as it has room, and dots."""
    samples = list(islice(made_up(size), 100))

    assert (samples[0], samples[-1]) == (first, hundredth)
    assert {len(sample) for sample in samples} == {size}


def test_lines_lose_their_ends_and_nothing_else() -> None:
    """The last one may have none."""
    assert list(lines_of(io.BytesIO(b"a\r\n\nb"), again=False)) == [b"a\r", b"", b"b"]


def test_lines_start_over() -> None:
    """For as long as somebody takes them."""
    assert list(islice(lines_of(io.BytesIO(b"a\nb\n"), again=True), 5)) == [b"a", b"b", b"a", b"b", b"a"]


def test_no_lines_cannot_start_over() -> None:
    """It would be a loop without an end."""
    with pytest.raises(LocalProtocolError, match="there is no line to publish"):
        lines_of(io.BytesIO(b""), again=True)


def test_pacing_changes_no_sample() -> None:
    """Nor their order."""
    samples = [b"%d" % number for number in range(5)]

    assert list(paced(iter(samples), 0.0)) == samples
    assert list(paced(iter(samples), 1e6)) == samples
