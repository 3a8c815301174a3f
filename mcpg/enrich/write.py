"""Writing the texts of tools: prompts are answered, answers checked, and files written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from mcpg.catalog.model import Hints, Tool
from mcpg.enrich.answers import Answer, CheckedTexts, TextCheck, find_answers
from mcpg.enrich.plan import EnrichPlan
from mcpg.enrich.prompt import PROMPT, Prompt, identify_server
from mcpg.errors import Code, Diagnostic, warning
from mcpg.net.http import EndpointError
from mcpg.text.json_values import JsonObject

_ATTEMPTS = 2
_MOST_EMPTY = 3
"""After so many prompts without any texts a run ends."""


class Writer(Protocol):
    """Answers prompts."""

    @property
    def display(self) -> str:
        """The place of the model, for messages."""

    def answer(self, prompt: Prompt) -> str:
        """Return the answer to *prompt*, which may be cut off or wrong."""


@dataclass(slots=True)
class TextWriting:
    """A run that writes texts; its results are in the files at each moment.

    Attributes:
        check: Checks each text.
        choose: Returns the file for a tool that has no entry yet.
        model: The name of the model; "" if unknown.
        written: The ids of the tools whose texts are written.
        incomplete: The ids of the tools that got no whole answer.
    """

    plan: EnrichPlan
    check: TextCheck
    choose: Callable[[Tool], Path]
    model: str = ""
    written: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    files: dict[Path, None] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def run(
        self, prompts: Sequence[Prompt], writer: Writer, tell: Callable[[int, int], None]
    ) -> None:
        """Have *writer* answer the *prompts*; *tell* gets the number of done tools and of all.

        Tools that the first answer to a prompt leaves out are requested once more.

        Raises:
            EndpointError: The endpoint cannot be used, or its first answers contain no texts.
            OutputError: A file cannot be written.
        """
        total, done = sum(len(one.tools) for one in prompts), 0
        for number, prompt in enumerate(prompts, start=1):
            tell(done, total)
            fault = self._answer_prompt(prompt, writer)
            done += len(prompt.tools)
            # The definitions of one server may keep a model from writing anything.
            if not self.written and number >= min(_MOST_EMPTY, len(prompts)):
                message = "the answers contain no texts that can be used"
                remedy = "use a model that follows instructions better"
                raise fault or EndpointError(
                    message, kind="answer", place=writer.display, remedy=remedy
                )

    def _answer_prompt(self, prompt: Prompt, writer: Writer) -> EndpointError | None:
        """Have one prompt answered, and return the error of an answer that failed as a whole."""
        checked, rest, fault = CheckedTexts(), prompt.tools, None
        for _ in range(_ATTEMPTS):
            try:
                text = writer.answer(replace(prompt, tools=rest))
            except EndpointError as failed:
                if failed.kind != "answer":
                    self._keep(checked, prompt.tools)
                    raise
                fault = failed
            else:
                entries = [one for answer in find_answers(text) for one in answer.entries]
                checked.add(entries, rest, self.check)
            rest = tuple(tool for tool in prompt.tools if tool.id not in checked.texts)
            if not rest:
                break
        self._keep(checked, prompt.tools)
        self._report_incomplete(rest, checked, fault.message if fault else "")
        return fault

    def take(self, answers: Iterable[Answer], tools: Sequence[Tool]) -> None:
        """Take *answers* to prompts that were printed, for *tools*.

        Answers to prompts for other definitions are skipped.
        """
        by_prompt = {identify_server(one): one for one in self.plan.servers.values()}
        wanted = {tool.id for tool in tools}
        checked = {identity: CheckedTexts() for identity in by_prompt}
        for answer in answers:
            siblings = by_prompt.get(answer.prompt)
            if siblings is None:
                message = (
                    f"the answer to the prompt {answer.prompt[:80]!r} is for other definitions"
                )
                self.diagnostics.append(warning(Code.ANSWER_DROPPED, message))
            else:
                checked[answer.prompt].add(answer.entries, siblings, self.check)
        for identity, one in checked.items():
            asked = [tool for tool in by_prompt[identity] if tool.id in wanted]
            self._keep(one, asked)
            rest = [tool for tool in asked if tool.id not in one.texts]
            self._report_incomplete(rest, one, "")

    def _keep(self, checked: CheckedTexts, tools: Iterable[Tool]) -> None:
        stamp: JsonObject = {"model": self.model} if self.model else {}
        stamp["date"] = f"{datetime.now(UTC):%Y-%m-%d}"
        changed = {}
        for tool in tools:
            texts: Hints | None = checked.texts.get(tool.id)
            if texts is not None:
                file = self.plan.store(tool, texts, stamp, self.choose(tool))
                changed[file.path] = file
                self.written.append(tool.id)
        for path, file in changed.items():
            file.write(PROMPT)
            self.files[path] = None
        self.diagnostics += checked.diagnostics
        checked.diagnostics.clear()

    def _report_incomplete(self, tools: Sequence[Tool], checked: CheckedTexts, reason: str) -> None:
        for tool in tools:
            self.incomplete.append(tool.id)
            what = "too few texts" if tool.id in checked.partial else "no texts"
            message = f"the answers have {what} for {tool.id!r}" + (f": {reason}" if reason else "")
            self.diagnostics.append(warning(Code.ANSWER_INCOMPLETE, message, tool.source_id))
