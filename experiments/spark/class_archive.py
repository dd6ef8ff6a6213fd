"""An archive of the Java classes that an analysis loads: made once, it shortens the start of every later session.

It takes about 160 MB in this Python environment and belongs to the exact Java and Spark that made it; Java ignores
one that does not fit, and Spark then starts as it would without. JEP 350 describes the mechanism.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

import pyspark

from broker.java import Java


def path(java: Java) -> Path:
    """Where the archive for this Java lies, made or not."""
    home = zlib.crc32(str(java.home).encode())
    return Path(sys.prefix) / "ringcast-java" / f"spark-{pyspark.__version__}-java-{java.version}-{home:08x}.jsa"


def option_to_use(java: Java) -> str:
    """The option that has Java use the archive, or nothing if there is none."""
    archive = path(java)
    return f"-XX:SharedArchiveFile={archive}" if archive.exists() else ""


def option_to_make(archive: Path) -> str:
    """The option that has Java write the archive when it ends, which takes it about 15 s."""
    return f"-XX:ArchiveClassesAtExit={archive}"
