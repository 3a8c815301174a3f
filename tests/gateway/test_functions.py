"""What functions print never reaches standard output, whoever prints at the same time."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, threading, time
from mcpg.gateway.invoke import stdout_diverted

class Slow:
    def write(self, text):
        time.sleep(0)
        return len(text)
    def flush(self):
        pass

sys.setswitchinterval(1e-6)
real = sys.stdout
sys.stdout = sys.stderr = Slow()

def plain():
    for _ in range(2_000):
        print("a", "b", "c", "d")

def diverted():
    for _ in range(2_000):
        with stdout_diverted():
            print("e", "f")

threads = [threading.Thread(target=work) for work in (plain, plain, diverted, diverted)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("whole", file=real)
"""


def test_many_may_print_while_standard_output_is_diverted() -> None:
    """The interpreter survives printing while others divert standard output and give it back."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "whole\n")
