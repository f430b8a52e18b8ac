"""Finds the command ``hapax`` and runs ``hapax serve`` for as long as this process lives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from typing import IO, Optional, Sequence

# The shell ends `hapax serve` when its standard input is closed, which also happens when this process is
# killed. It ends its whole process group, because `hapax` can be a script that starts the program. It closes
# its own output, so that the output ends when `hapax serve` ends.
_KEEPER = """
"$@" </dev/null &
child=$!
exec >/dev/null 2>&1
read -r _line
trap "" TERM
kill -TERM 0
wait "$child"
"""

_STOP_SECONDS = 10.0


class HapaxError(Exception):
    """``hapax`` cannot be found or started, or it refused a request of the test."""


def find_hapax() -> str:
    """The path of ``hapax``: the variable HAPAX_BIN, or beside this Python, or in PATH."""
    chosen = os.environ.get("HAPAX_BIN")
    if chosen:
        found = shutil.which(chosen)
        if found is None:
            raise HapaxError(f"HAPAX_BIN names {chosen}, which is not an executable file")
        return os.path.abspath(found)
    for folder in (sysconfig.get_path("scripts"), os.path.dirname(sys.executable)):
        found = shutil.which("hapax", path=folder)
        if found is not None:
            return found
    found = shutil.which("hapax")
    if found is None:
        raise HapaxError(
            "the command hapax is not installed: run `pip install hapax-harness`, "
            "or set HAPAX_BIN to the path of hapax"
        )
    return found


class ServeProcess:
    """A running ``hapax serve``. It ends with :meth:`stop`, and when this process ends in any way."""

    def __init__(self, arguments: Sequence[str]) -> None:
        command = [find_hapax(), "serve", "--quiet", *arguments]
        # A file and not a pipe: nothing reads it while the services run.
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            ["sh", "-c", _KEEPER, "hapax-serve", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            # Ctrl-C ends the tests first and the services afterwards.
            start_new_session=True,
        )
        self.admin_url = ""
        self.token = ""
        self._read_banner()

    def _read_banner(self) -> None:
        output: Optional[IO[bytes]] = self._process.stdout
        assert output is not None
        for raw in output:
            line = raw.decode("utf-8", "replace").strip()
            name, _, value = line.partition("=")
            if name == "export HAPAX_ADMIN_URL":
                self.admin_url = value
            elif name == "export HAPAX_ADMIN_TOKEN":
                self.token = value
                return
        self.stop()
        raise HapaxError(f"hapax serve did not start:\n{self.errors()}")

    def errors(self) -> str:
        """What it has written to standard error."""
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "replace").strip()

    def stop(self) -> None:
        """Ends the services and waits for them."""
        if self._process.returncode is not None:
            return
        try:
            # A line ends the services even where a forked process keeps the other end of the pipe open.
            self._process.communicate(b"\n", timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, 9)
            self._process.communicate()
