"""Whatever py4j raises for a Java that is gone, or that refuses, becomes an error in a sentence."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

from experiments.spark.answers import java_answers
from experiments.spark.java_process import SparkFailed


@pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("Answer from Java side is empty"),
        Py4JError("An error occurred while calling o38.isActive"),
        ConnectionRefusedError(111, "Connection refused"),
        ConnectionResetError(104, "Connection reset by peer"),
        EOFError(),
    ],
)
def test_a_java_that_is_gone_is_told(error: Exception) -> None:
    """With what came of it, and what to do."""
    with pytest.raises(SparkFailed) as told, java_answers("the stream ended", "start again"):
        raise error

    assert str(told.value) == "the stream ended: Spark's Java process went away; start again"


class Thrown:
    """Stands for an exception that is in Java, which is asked what it says."""

    _target_id = "o1"

    def __init__(self, says: str | None) -> None:
        self._says = says

    def __str__(self) -> str:
        if self._says is None:
            raise Py4JNetworkError("nobody answers")
        return self._says


@pytest.mark.parametrize(
    ("says", "why"),
    [
        ("java.lang.IllegalStateException: stopped\n\tat A.b(A.java:1)", "java.lang.IllegalStateException: stopped"),
        ("", "it does not say why"),
        (None, "Spark's Java process went away"),
    ],
)
def test_an_exception_of_java_is_told_by_its_first_line(says: str | None, why: str) -> None:
    """Unless Java goes away before it has said that."""
    with pytest.raises(SparkFailed) as told, java_answers("the stream ended", "start again"):
        raise Py4JJavaError("An error occurred", Thrown(says))

    assert str(told.value) == f"the stream ended: {why}; start again"


def test_what_does_not_come_from_java_passes() -> None:
    """A mistake of ours keeps its traceback."""
    with pytest.raises(ZeroDivisionError), java_answers("the stream ended", "start again"):
        raise ZeroDivisionError
