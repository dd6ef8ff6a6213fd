"""What `--conf` takes."""

from __future__ import annotations

import pytest

from chord.errors import LocalProtocolError
from experiments.spark.settings import parse_conf


def test_conf_is_split_at_the_first_equals_sign() -> None:
    """Values may hold others."""
    texts = ["spark.executor.memory=2g", "spark.driver.extraJavaOptions=-Da=b"]

    assert parse_conf(texts) == {"spark.executor.memory": "2g", "spark.driver.extraJavaOptions": "-Da=b"}


@pytest.mark.parametrize("text", ["", "spark.executor.memory", "memory=2g", "=2g"])
def test_conf_of_another_form_is_refused(text: str) -> None:
    """Spark itself would ignore it without a word."""
    with pytest.raises(LocalProtocolError, match=r"--conf takes KEY=VALUE with a key of Spark, .* not "):
        parse_conf([text])
