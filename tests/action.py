"""The composite action of this project, run step by step as a runner of GitHub would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
_EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")
_CONDITION = re.compile(r"([\w.-]+) (==|!=) '([^']*)'")

_PYTHON = """\
#!/bin/sh
if [ "$1 $2" = "-m pip" ]; then printf '%s\\n' "$@" >> "$INSTALLED"; exit 0; fi
exec "{program}" "$@"
"""
_GH = """\
#!/bin/sh
printf '%s\\n' "$*" >> "$CALLED"
case "$*" in
*--jq*) printf '%s' "$KNOWN" ;;
*) exit "${REFUSED:-0}" ;;
esac
"""


@dataclass
class Done:
    """What a run of the action left behind.

    Attributes:
        code: Exit code of the step that failed, 0 if none did.
        log: What the steps wrote.
        summary: The summary of the job.
        outputs: Outputs of the action, by name.
        used: Names of the steps that ran.
        called: Arguments of each call of `gh`, one a line.
        installed: Arguments of each call of pip, one a line.
    """

    code: int = 0
    log: str = ""
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)
    called: str = ""
    installed: str = ""


def run_action(
    workspace: Path, folder: Path, inputs: dict[str, str], event: dict[str, Any], **env: str
) -> Done:
    """Run the action in *workspace*.

    Args:
        workspace: The checkout.
        folder: An empty folder for the runner.
        inputs: Inputs of the action.
        event: The event of the workflow.
        **env: Further variables: `KNOWN` is the id of the comment that `gh` finds, and `REFUSED`
            the exit code of its changes.
    """
    assert inputs.keys() <= ACTION["inputs"].keys()
    defaults = {name: one["default"] for name, one in ACTION["inputs"].items()}
    context = {
        "inputs": defaults | inputs,
        "github": {"event": event, "token": "token-of-the-run", "action_path": str(ROOT)},
        "steps": {},
    }
    runner = _Runner(workspace, folder, context, env)
    for step in ACTION["runs"]["steps"]:
        if runner.done.code == 0 and runner.holds(step.get("if", "")):
            runner.run(step)
    outputs = {name: runner.filled(one["value"]) for name, one in ACTION["outputs"].items()}
    runner.done.outputs = outputs
    runner.done.summary = runner.text("summary")
    runner.done.called, runner.done.installed = runner.text("called"), runner.text("installed")
    return runner.done


class _Runner:
    def __init__(
        self, workspace: Path, folder: Path, context: dict[str, Any], env: dict[str, str]
    ) -> None:
        self.done = Done()
        self._workspace, self._folder, self._context = workspace, folder, context
        programs = folder / "bin"
        programs.mkdir()
        for name, text in (("python", _PYTHON.format(program=sys.executable)), ("gh", _GH)):
            (programs / name).write_text(text, "utf-8")
            (programs / name).chmod(0o755)
        folders = (str(programs), str(Path(sys.executable).parent), os.environ["PATH"])
        path = os.pathsep.join(folders)
        self._env = os.environ | env | {"PATH": path, "RUNNER_TEMP": str(folder)}
        self._env |= {"GITHUB_REPOSITORY": "owner/tools"}
        for name, file in (
            ("GITHUB_STEP_SUMMARY", "summary"),
            ("CALLED", "called"),
            ("INSTALLED", "installed"),
        ):
            self._env[name] = str(folder / file)

    def text(self, name: str) -> str:
        """Return what was written to a file of the runner."""
        file = self._folder / name
        return file.read_text("utf-8") if file.exists() else ""

    def found(self, path: str) -> str:
        """Return what a context has at *path*, "" for nothing."""
        value: Any = self._context
        for name in path.split("."):
            value = value.get(name, {}) if isinstance(value, dict) else {}
        return "" if value == {} else str(value)

    def filled(self, text: str) -> str:
        """Return *text* with its expressions evaluated, once."""
        return _EXPRESSION.sub(lambda one: self.filled_default(self.found(one[1])), text)

    def filled_default(self, text: str) -> str:
        """Return the default of an input, which may be an expression itself."""
        return _EXPRESSION.sub(lambda one: self.found(one[1]), text)

    def holds(self, condition: str) -> bool:
        """Return whether a step is to run, by comparisons joined by one kind of operator."""
        assert not ("&&" in condition and "||" in condition)
        assert _CONDITION.sub("", condition).replace("&&", "").replace("||", "").strip() == ""
        results = [
            (self.found(name) == value) is (operator == "==")
            for name, operator, value in _CONDITION.findall(condition)
        ]
        return any(results) if "||" in condition else all(results)

    def run(self, step: dict[str, Any]) -> None:
        """Run a step; one that uses another action is noted alone."""
        self.done.used.append(step["name"])
        if "uses" in step:
            return
        script, output = self._folder / "step.sh", self._folder / "output"
        script.write_text(step["run"], "utf-8")
        output.write_text("", "utf-8")
        env = {name: self.filled(str(value)) for name, value in step.get("env", {}).items()}
        assert step["shell"] == "bash"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=self._workspace / self.filled(step.get("working-directory", ".")),
            env=self._env | env | {"GITHUB_OUTPUT": str(output)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.done.log += done.stdout
        self.done.code = done.returncode
        lines = (line.partition("=") for line in output.read_text("utf-8").splitlines())
        outputs = {name: value for name, _, value in lines}
        self._context["steps"][step.get("id", "")] = {"outputs": outputs}
