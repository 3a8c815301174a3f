"""Programs of servers: to start them, and to end them with this process.

This imports nothing of the SDK, so that programs can start while the SDK is being imported.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePath

import anyio
from anyio.abc import Process

from mcpg.files import is_folder
from mcpg.sources.client_config import Server, StdioServer
from mcpg.sources.live.requests import ServerError, redact

MAX_OPENING = 32
"""Connections that are opened at the same time."""

# Of our environment a program gets these, as from the SDK.
_INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
_SHELL = "/bin/sh"
# Its input ends when the process at the other end of the pipe ends.
_SCRIPT = 'read -r _; sleep 1; kill -s TERM -- "-$0"; sleep 1; kill -s KILL -- "-$0"'


class ProcessGroups:
    """The process groups that may be alive, and the programs among them without a connection."""

    def __init__(self) -> None:
        self._guards: dict[int, ExitStack] = {}
        self._early: dict[int, Process] = {}

    async def start_early(self, servers: Sequence[Server], environ: Mapping[str, str]) -> None:
        """Start the programs of *servers*, each of which `start` then returns once.

        A program that cannot be started has its error in `start`.
        """
        if sys.platform == "win32":  # pragma: no cover - the SDK starts them
            return
        for server in servers:
            if isinstance(server, StdioServer) and id(server) not in self._early:
                with suppress(ServerError):
                    self._early[id(server)] = await self.start(server, environ)

    async def start(self, server: StdioServer, environ: Mapping[str, str]) -> Process:
        """Start the program of *server*, in a process group of its own."""
        if early := self._early.pop(id(server), None):
            return early
        env = choose_environment(server, environ, _INHERITED)
        try:
            # A cancellation in the middle of a start would leave a process behind.
            with anyio.CancelScope(shield=True):
                process = await anyio.open_process(
                    [server.command, *server.args],
                    env=env,
                    cwd=server.cwd,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
        except (OSError, ValueError) as fault:
            raise ServerError(_describe_start(server, fault)) from None
        guard = self._guards[process.pid] = ExitStack()
        guard.enter_context(_ended_with_us(process.pid))
        return process

    def discard(self, group: int) -> None:
        """Forget a process *group* that has ended."""
        if guard := self._guards.pop(group, None):
            guard.close()

    def kill(self) -> None:
        """End those that are left because even the clean-up was interrupted."""
        for group in [*self._guards]:
            with suppress(OSError):
                os.killpg(group, signal.SIGKILL)
            self.discard(group)


def _describe_start(server: StdioServer, fault: Exception) -> str:
    """Describe why the program of *server* cannot be started."""
    reason = getattr(fault, "strerror", None) or "command or environment is not text"
    shown = [PurePath(server.command).name, server.cwd]
    (name, folder), _ = redact(shown, server.variables.values(), server.named_secrets)
    where = "" if server.cwd is None or is_folder(server.cwd) else f" in the folder {folder!r}"
    return f"command {name!r} cannot be started{where}: {reason.lower()}"


def choose_environment(
    server: StdioServer, environ: Mapping[str, str], inherited: Sequence[str]
) -> dict[str, str]:
    """Return the environment of a program: few variables of ours, and its own."""
    return {**{name: environ[name] for name in inherited if name in environ}, **server.env}


@contextmanager
def _ended_with_us(group: int) -> Iterator[None]:
    """End a process group if this process ends inside without having ended it.

    A shell in a session of its own waits for that; without a shell, nothing is done.
    """
    guard = None
    with suppress(OSError):
        guard = subprocess.Popen(  # noqa: S603 - our own script
            [_SHELL, "-c", _SCRIPT, str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath},
            cwd=Path("/"),
            start_new_session=True,
        )
    try:
        yield
    finally:
        if guard is not None:
            guard.kill()  # before its input is closed, so that it does nothing
            guard.wait()
            if guard.stdin is not None:
                guard.stdin.close()
