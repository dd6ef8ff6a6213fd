"""A Java process that ends while it is asked something: what py4j raises then, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError, Py4JJavaError

from experiments.spark.java_process import SparkFailed


@contextmanager
def java_answers(what: str, then: str) -> Iterator[None]:
    """Around questions to Java: SparkFailed says `what` has come of it, why, and what to do `then`.

    A Java that is gone refuses connections or ends them; one that is there may answer with an exception of its own.
    """
    try:
        yield
    except (Py4JError, ConnectionError, EOFError) as error:
        raise SparkFailed(f"{what}: {_why(error)}; {then}") from None


def _why(error: Exception) -> str:
    """The first line of an exception of Java, which is asked for it, and may be gone by then."""
    if isinstance(error, Py4JJavaError):
        with suppress(Py4JError, ConnectionError, EOFError):
            return next(filter(None, map(str.strip, str(error.java_exception).splitlines())), "it does not say why")
    return "Spark's Java process went away"
