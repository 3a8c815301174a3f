"""Starts programs that need the MCP SDK by forking a process that has imported it.

The import takes longer than most tests, and a hundred of them start such a server. `forked` returns
the words after `python` that start one. As a program, `forking.py ADDRESS PROGRAM [WORD]...` sends
its standard streams to the process at ADDRESS, which forks and runs PROGRAM with them, and ends as
that ends. If one of the two is killed, so is the other.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path
from typing import NoReturn

STREAMS = (0, 1, 2)


@cache
def start_forks() -> str:
    """Start the process that forks, which ends with this one, and return its address."""
    address = str(Path(tempfile.mkdtemp(prefix="mcpg-forks-")) / "socket")
    command = [sys.executable, __file__, "--listen", address]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    start_forks.process = process  # its input stays open
    assert process.stdout is not None
    assert process.stdout.read(1) == b"."
    return address


def forked(program: Path | str, *words: str) -> tuple[str, ...]:
    """Return the words after `python` that run a *program* which imports the SDK."""
    if not hasattr(os, "pidfd_open"):  # only Linux has it
        return (str(program), *words)
    return ("-S", "-E", __file__, start_forks(), str(program), *words)


def send_streams(address: str, words: list[str]) -> int:
    """Have *words* run at *address* with the streams of this process; return the exit code."""
    note = json.dumps([words, dict(os.environ), str(Path.cwd())]).encode()
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(address)
        socket.send_fds(link, [len(note).to_bytes(4)], STREAMS)
        link.sendall(note)
        return int.from_bytes(link.recv(1) or b"\1")


def listen(address: str) -> None:
    """Fork for each program, until the input of this process ends."""
    import mcp.server.stdio  # noqa: PLC0415 - what all programs import
    import mcp.server.subscriptions  # noqa: F401, PLC0415 - the same

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen(64)
        os.write(1, b".")
        while server in select.select([server, 0], [], [])[0]:
            link = server.accept()[0]
            if not os.fork():
                server.close()
                keep(link)
            link.close()
    Path(address).unlink()
    Path(address).parent.rmdir()


def keep(link: socket.socket) -> NoReturn:
    """Run the program that *link* names, and end with it or with who started it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, *_ = socket.recv_fds(link, 4, len(STREAMS))
    with link.makefile("rb") as file:
        words, variables, folder = json.loads(file.read(int.from_bytes(size)))
    if not (child := os.fork()):
        link.close()
        for number, stream in zip(STREAMS, streams, strict=True):
            os.dup2(stream, number)
            os.close(stream)
        os.environ.clear()
        os.environ.update(variables)
        os.chdir(folder)
        os._exit(run(words))
    for number in (*STREAMS, *streams):
        os.close(number)
    if link in select.select([link, os.pidfd_open(child)], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        link.sendall(bytes([code % 256]))
    finally:
        os._exit(0)


def run(words: list[str]) -> int:
    """Run a program of Python, and return its exit code."""
    sys.argv, sys.path[0] = words, str(Path(words[0]).parent)
    try:
        runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter reports it
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--listen":
        listen(sys.argv[2])
    else:
        sys.exit(send_streams(sys.argv[1], sys.argv[2:]))
