"""What CI runs: the composite action, hooks for pre-commit, and the shell recipe."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from action import ACTION, ROOT, Done, run_action

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BIN = Path(sys.executable).parent
REFUND = {
    "name": "refund_order",
    "description": "Refund an order: pay back what a customer paid for it.",
    "inputSchema": {
        "type": "object",
        "properties": {"order": {"type": "string", "description": "Number of the order."}},
        "required": ["order"],
    },
}
TRACK = {
    "name": "track_parcel",
    "description": "Track a parcel: tell where it is, and when it arrives.",
    "inputSchema": {
        "type": "object",
        "properties": {"parcel": {"type": "string", "description": "Number of the parcel."}},
        "required": ["parcel"],
    },
}
QUERIES = "pay a customer back: refund_order\nwhere is my parcel: track_parcel\n"
SETTINGS = 'bundle = "graph.mdld"\n\n[[sources]]\npath = "tools"\n'


class Project:
    """A repository of tools with its bundle."""

    def __init__(self, folder: Path) -> None:
        """Take the repository that is in *folder*."""
        self.folder, self._runs = folder, 0
        self.base = self.git("rev-parse", "HEAD") if (folder / ".git").exists() else ""

    def begin(self) -> None:
        """Commit two tools, judged queries, a lock and the bundle."""
        folder = self.folder
        files = {"mcpg.toml": SETTINGS, "queries.yaml": QUERIES, ".gitignore": "*.idx\n"}
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
        (folder / "tools").mkdir()
        self.now(REFUND, TRACK)
        self.mcpg("lock", "-q")
        self.mcpg("bundle", "-q")
        self.git("init", "-q", "-b", "trunk")
        self.base = self.commit()

    def now(self, *tools: Any) -> None:
        """Change the tools."""
        (self.folder / "tools/shop.json").write_text(json.dumps({"tools": tools}), "utf-8")

    def mcpg(self, *arguments: str) -> int:
        """Run the program."""
        command = [sys.executable, "-m", "mcpg", *arguments]
        return subprocess.run(command, cwd=self.folder, check=False, capture_output=True).returncode

    def git(self, *arguments: str) -> str:
        """Run git."""
        named = ("-c", "user.name=tests", "-c", "user.email=tests@example.com")
        done = subprocess.run(
            ["git", *named, *arguments], cwd=self.folder, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self) -> str:
        """Commit everything, and return the commit."""
        self.git("add", "--all")
        self.git("commit", "-q", "-m", "tools")
        return self.git("rev-parse", "HEAD")

    def checked(self, event: dict[str, Any] | None = None, **given: str) -> Done:
        """Run the action; names in capitals are variables, others inputs."""
        self._runs += 1
        runner = self.folder.parent / f"{self.folder.name}-runner-{self._runs}"
        runner.mkdir()
        env = {name: value for name, value in given.items() if name.isupper()}
        inputs = {name.replace("_", "-"): value for name, value in given.items() if name not in env}
        return run_action(self.folder, runner, inputs, event or {}, **env)

    @property
    def pull_request(self) -> dict[str, Any]:
        """The event of a pull request to the first commit."""
        return {"pull_request": {"number": 7, "base": {"sha": self.base}}}


@pytest.fixture(scope="module", autouse=True)
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Settings of git, and of a repository from which the tests run, have no effect."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("GIT_")]:
            patch.delenv(name)
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("MCPG_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of tools, which is made once; each test has a copy."""
    project = Project(tmp_path_factory.mktemp("template"))
    project.begin()
    return project.folder


@pytest.fixture
def project(template: Path, tmp_path: Path) -> Project:
    """A repository of tools."""
    return Project(shutil.copytree(template, tmp_path / "project"))


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_AUTHOR_NAME"])
def test_git_is_that_of_the_project(project: Project, name: str) -> None:
    """No variable of the repository from which the tests run reaches git."""
    assert name not in os.environ
    assert project.git("config", "--global", "--list") == ""
    assert Path(project.git("rev-parse", "--show-toplevel")).samefile(project.folder)


# The composite action


def checked_with(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a checker that is installed with the tests."""
    program, *others = arguments
    return subprocess.run(
        [str(BIN / program), *others], cwd=ROOT, check=False, capture_output=True, text=True
    )


def test_the_action_is_valid() -> None:
    """It conforms to the published schema of actions."""
    done = checked_with(
        "check-jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml"
    )
    assert done.returncode == 0, done.stdout


def test_no_input_becomes_text_of_a_command() -> None:
    """Expressions stand in variables, conditions and paths alone, so that none can be injected."""
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        assert "eval " not in step.get("run", "").replace("mcpg eval ", "")


def test_a_project_in_order_passes(project: Project) -> None:
    """Every check runs and passes; the summary has their results; nothing is compared on a push."""
    done = project.checked(locked="true", queries="queries.yaml", min="hit@5=0.9\nndcg@5=0.5")
    assert done.code == 0, done.log
    assert done.outputs["failed"] == ""
    assert done.outputs["comment"] == ""
    assert "Compare with the base" not in done.used
    assert "## mcpg bundle\n\n    reading 1 source" in done.summary
    assert "\n    up to date: graph.mdld: 2 tools" in done.summary
    assert "hit@5" in done.summary
    assert done.installed.split()[-1] == f"{ROOT}[mcp]"


def test_each_failure_is_found_in_one_run(project: Project) -> None:
    """A check that fails keeps no other from running; the verdict names all that failed."""
    project.now({**REFUND, "description": "Do it."}, TRACK)
    project.mcpg("bundle", "-q")
    project.now({**REFUND, "description": "Do it now."}, TRACK)
    done = project.checked(
        project.pull_request, queries="queries.yaml", max="hit@5=0.1", fail_on="changes"
    )
    assert done.code == 1
    assert done.outputs["failed"] == "bundle lint eval diff"
    assert "::error::mcpg: failed: bundle lint eval diff" in done.log
    assert "\n    stale: graph.mdld" in done.summary
    assert re.search(r"^::(warning|error) .*file=tools/shop.json", done.log, re.MULTILINE)
    assert "Upload the findings" not in done.used


def test_a_lock_is_held(project: Project) -> None:
    """With `locked`, a tool that nobody approved fails the run, though the bundle is up to date."""
    project.now({**REFUND, "description": "Refund it all.\n::add-mask::x\n```\n# Title"}, TRACK)
    project.mcpg("bundle", "-q")
    assert project.checked(lint="false").code == 0
    done = project.checked(lint="false", locked="true")
    assert (done.code, done.outputs["failed"]) == (1, "bundle")
    (stop,) = re.findall(r"^::stop-commands::(\w{32})$", done.log, re.MULTILINE)
    begin, end = done.log.index("stop-commands"), done.log.index(f"::{stop}::")
    assert begin < done.log.index("::add-mask::x") < end
    assert "\n    +  # Title\n" in done.summary
    assert not re.search(r"^ {0,3}(```|#[^#])", done.summary, re.MULTILINE)


def test_a_pull_request_is_compared_with_its_base(project: Project) -> None:
    """The comparison is in the summary and in a comment, which a later run changes."""
    project.now(REFUND, TRACK, {**TRACK, "name": "track_letter"})
    project.mcpg("bundle", "-q")
    done = project.checked(project.pull_request, lint="false", comment="true")
    assert done.code == 0, done.log
    comment = Path(done.outputs["comment"]).read_text("utf-8")
    assert comment.startswith("<!-- mcpg diff -->\n## mcpg diff")
    assert "track_letter" in comment
    assert comment.partition("\n")[2].strip() in done.summary
    (look_up, post) = done.called.splitlines()
    assert "--paginate repos/owner/tools/issues/7/comments" in look_up
    assert f"--method POST repos/owner/tools/issues/7/comments --field body=@{comment}"[:40] in post
    assert f"body=@{done.outputs['comment']}" in post
    again = project.checked(project.pull_request, lint="false", comment="true", KNOWN="42\n43\n")
    assert "--method PATCH repos/owner/tools/issues/comments/42 " in again.called
    assert "POST" not in again.called


def test_a_comment_that_is_refused_fails_nothing(project: Project) -> None:
    """The token of a fork may only read."""
    done = project.checked(project.pull_request, lint="false", comment="true", REFUSED="1")
    assert done.code == 0
    assert "::warning::mcpg: the pull request cannot be commented on" in done.log


def test_a_base_without_a_bundle_is_no_failure(project: Project) -> None:
    """The first pull request that adds a bundle has nothing to be compared with."""
    project.git("rm", "-q", "--cached", "graph.mdld")
    project.git("commit", "-q", "-m", "no bundle")
    project.base = project.git("rev-parse", "HEAD")
    done = project.checked(project.pull_request, lint="false", comment="true")
    assert (done.code, done.called) == (0, "")
    assert "the base has no graph.mdld" in done.log


def test_inputs_are_never_run(project: Project) -> None:
    """Names with quotes and substitutions are names."""
    for name in ("--help", "$(touch pwned)`touch pwned`\"; touch pwned; '"):
        done = project.checked(
            project.pull_request,
            sources=f"{name}\n",
            bundle=name,
            queries=name,
            min=name,
            lint_ignore=name,
            fail_on=name,
        )
        assert (done.code, done.outputs["failed"].split()[0]) == (1, "bundle")
    assert not [*project.folder.rglob("pwned")]


def test_findings_can_go_to_code_scanning(project: Project) -> None:
    """They are SARIF then, which is there however many there are, and no annotations."""
    project.now({**REFUND, "description": "Do it."}, TRACK)
    project.mcpg("bundle", "-q")
    done = project.checked(upload_sarif="true")
    assert (done.code, done.outputs["failed"]) == (1, "lint")
    assert "Upload the findings" in done.used
    (run,) = json.loads(Path(done.outputs["sarif"]).read_text("utf-8"))["runs"]
    rules = {one["ruleId"] for one in run["results"]}
    assert rules
    assert not re.search(r"^::(warning|error) .*file=", done.log, re.MULTILINE)
    first = min(rules)
    done = project.checked(upload_sarif="true", lint_ignore=first)
    (run,) = json.loads(Path(done.outputs["sarif"]).read_text("utf-8"))["runs"]
    assert first not in {one["ruleId"] for one in run["results"]}


def test_a_folder_of_the_repository_is_a_project(project: Project, tmp_path: Path) -> None:
    """Paths are relative to `working-directory`, in the base as well."""
    whole = tmp_path / "whole"
    whole.mkdir()
    project.folder.rename(whole / "sub")
    (whole / "sub/.git").rename(whole / ".git")
    project.folder = whole
    project.base = project.commit()
    done = project.checked(
        project.pull_request, working_directory="sub", queries="queries.yaml", lint="false"
    )
    assert done.code == 0, done.log
    assert "no change" in done.summary


def test_summaries_are_bounded(project: Project) -> None:
    """A report that GitHub would refuse is cut after a whole line, with a note; others are not."""
    project.checked(check="false", lint="false")
    (program,) = project.folder.parent.glob("*/mcpg-bounded.awk")

    def bounded(text: str) -> str:
        command, env = ["awk", "-f", str(program)], os.environ | {"LC_ALL": "C"}
        return subprocess.run(
            command, input=text, env=env, check=True, capture_output=True, text=True
        ).stdout

    short, line = "a\n\nb\n", f"| {'é' * 400} |\n"
    assert bounded(short) == short
    cut = bounded(line * 3_000)
    assert len(cut.encode()) < 260_000
    assert cut.startswith(line * 300)
    assert cut.endswith("more lines are left out: run the command to see all\n")
    assert int(cut.splitlines()[-1].split()[0]) + cut.count(line) == 3_000
    assert len(bounded("x" * (2 << 20))) < 100
    steps = [one["run"] for one in ACTION["runs"]["steps"] if "STEP_SUMMARY" in one.get("run", "")]
    # `mcpg diff` bounds its Markdown itself.
    assert ["mcpg-bounded.awk" in one or "mcpg diff" in one for one in steps] == [True] * 4


# Hooks for pre-commit


HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))


def test_the_hooks_are_valid() -> None:
    """pre-commit accepts the file."""
    done = checked_with("pre-commit", "validate-manifest", ".pre-commit-hooks.yaml")
    assert done.returncode == 0, done.stdout


@pytest.fixture
def hook(project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Return a function that runs a hook on all files, with the program of this environment."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(project.folder.parent / "pre-commit"))
    monkeypatch.setenv("PATH", os.pathsep.join((str(BIN), os.environ["PATH"])))

    def run(name: str, *arguments: str) -> tuple[int, str]:
        (stated,) = [one for one in HOOKS if one["id"] == name]
        local = stated | {"language": "system", "args": [*arguments]}
        config = {"repos": [{"repo": "local", "hooks": [local]}]}
        (project.folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), "utf-8")
        project.git("add", "--all")
        done = subprocess.run(
            [str(BIN / "pre-commit"), "run", "--all-files", name],
            cwd=project.folder,
            check=False,
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout

    return run


def test_hooks_that_check_the_bundle(
    project: Project, hook: Callable[..., tuple[int, str]]
) -> None:
    """One refuses a stale bundle, the other builds it, and stops the commit that lacks it."""
    assert hook("mcpg-bundle-check")[0] == 0
    project.now(TRACK)
    code, out = hook("mcpg-bundle-check")
    assert (code, "stale: graph.mdld" in out) == (1, True)
    code, out = hook("mcpg-bundle")
    assert (code, "files were modified by this hook" in out) == (1, True)
    assert hook("mcpg-bundle")[0] == 0
    assert hook("mcpg-bundle-check")[0] == 0


def test_a_hook_that_checks_the_lock(
    project: Project, hook: Callable[..., tuple[int, str]]
) -> None:
    """A tool that nobody approved stops the commit, with its diff."""
    assert hook("mcpg-lock-check")[0] == 0
    project.now({**REFUND, "description": "Refund it all."}, TRACK)
    code, out = hook("mcpg-lock-check")
    assert (code, "+description: Refund it all." in out) == (1, True)


def test_hooks_that_lint(project: Project, hook: Callable[..., tuple[int, str]]) -> None:
    """Faults stop the commit; what can be fixed safely is fixed."""
    assert hook("mcpg-lint")[0] == 0
    project.now({**REFUND, "description": f"\u202e{REFUND['description']}"}, TRACK)
    code, out = hook("mcpg-lint")
    assert (code, "shop.json" in out) == (1, True)
    code, out = hook("mcpg-lint-fix")
    assert (code, "files were modified by this hook" in out) == (1, True)
    assert hook("mcpg-lint")[0] == 0


def test_a_hook_that_evaluates(hook: Callable[..., tuple[int, str]]) -> None:
    """Arguments name the queries and the thresholds."""
    assert hook("mcpg-eval", "queries.yaml", "--min", "hit@5=0.9")[0] == 0
    code, out = hook("mcpg-eval", "queries.yaml", "--max", "hit@5=0.1")
    assert (code, "hit@5" in out) == (1, True)


# The shell recipe


def test_the_recipe_for_other_systems(project: Project) -> None:
    """The script of the page runs every check, and names those that fail."""
    page = (ROOT / "docs/how-to/ci.md").read_text("utf-8")
    (script,) = re.findall(r"^```sh\n(#!/bin/sh\n.*?)^```", page, re.MULTILINE | re.DOTALL)
    file = project.folder / "tools.sh"
    file.write_text(script, "utf-8")
    path = os.pathsep.join((str(BIN), os.environ["PATH"]))

    def ran() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", str(file), project.base],
            cwd=project.folder,
            env=os.environ | {"PATH": path},
            check=False,
            capture_output=True,
            text=True,
        )

    done = ran()
    assert done.returncode == 0, done.stderr
    assert "no change" in (project.folder / "reports/diff.md").read_text("utf-8")
    project.now({**REFUND, "name": "money", "description": "Do it."})
    project.mcpg("bundle", "-q")
    project.now({**REFUND, "name": "money", "description": "Do it now."})
    done = ran()
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "failed: bundle lock lint eval diff"
    assert json.loads((project.folder / "reports/lint.sarif").read_text("utf-8"))["runs"]
