"""What Mininet needs of a machine, and where Debian has put it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from chord.errors import LocalProtocolError

DEBIAN = (Path("/usr/lib/python3/dist-packages"), Path("/usr/local/lib/python3/dist-packages"))
"""Where Debian's own Python packages lie, which a virtual environment does not see."""

PROGRAMS = {
    "mnexec": "mininet",
    "brctl": "bridge-utils",
    "ifconfig": "net-tools",
    "tc": "iproute2",
    "ip": "iproute2",
    "unshare": "util-linux",
}
CAPTURE = {"tshark": "tshark"}


def check_machine(capture: bool = False, folders: Iterable[Path] = DEBIAN) -> None:
    """Raises LocalProtocolError with one line for the first thing that is missing."""
    if os.geteuid() != 0:
        raise LocalProtocolError("Mininet makes network namespaces, which only root can; run it as root")
    find_mininet(folders)
    for program, package in {**PROGRAMS, **(CAPTURE if capture else {})}.items():
        if shutil.which(program) is None:
            what = "--capture" if program in CAPTURE else "Mininet"
            raise LocalProtocolError(f"{what} needs the program `{program}`: apt-get install {package}")


def find_mininet(folders: Iterable[Path] = DEBIAN) -> Path | None:
    """The folder that Mininet's Python files are imported from; None where this interpreter finds them by itself."""
    if importlib.util.find_spec("mininet") is not None:
        return None
    looked = list(folders)
    for folder in looked:
        if (folder / "mininet" / "net.py").is_file():
            return folder
    places = ", ".join(map(str, looked))
    raise LocalProtocolError(f"Mininet is not installed (no `mininet` in {places}): apt-get install mininet")


def import_mininet() -> None:
    """Have `import mininet` work in this process. Raises LocalProtocolError.

    Debian's folder comes last in the search and goes again, so that nothing else is taken from it.
    """
    folder = find_mininet()
    if folder is not None:
        sys.path.append(str(folder))
    try:
        import distutils.version  # noqa: F401  # setuptools brings it where Python has none any more

        import mininet.net
        import mininet.nodelib  # noqa: F401
    except ImportError as error:
        raise LocalProtocolError(
            f"Mininet does not run on Python {sys.version.split()[0]}: {error}; setuptools may help"
        ) from None
    finally:
        if folder is not None:
            sys.path.remove(str(folder))
