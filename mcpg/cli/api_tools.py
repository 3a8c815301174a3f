"""`mcpg search --as`: the found tools as the list that an API of language models takes."""

from __future__ import annotations

from dataclasses import dataclass

from mcpg.catalog.api_tools import ApiName, check_api
from mcpg.cli.open_bundle import open_engine
from mcpg.cli.output import Output
from mcpg.cli.query import Question, exit_code, make_search_arguments, nothing_found
from mcpg.errors import UsageError


@dataclass(frozen=True, slots=True)
class ToolList:
    """What `--as` asks for.

    Attributes:
        api: The API.
        deferred: Whether all other tools are added as deferred tools.
        related: Whether prerequisites, related tools and next steps are added.
        strict: Whether definitions are strict.
    """

    api: ApiName
    deferred: bool
    related: bool
    strict: bool

    @classmethod
    def of(cls, api: str | None, *, deferred: bool, related: bool, strict: bool) -> ToolList:
        """Return what the options ask for.

        Raises:
            UsageError: Tools are deferred, or definitions are strict, for no API, or for one that
                has no tool search, or no strict mode.
        """
        if api is None:
            place = "--deferred" if deferred else "--strict-schemas"
            other = "anthropic" if deferred else "openai"
            remedy = f"add --as {other} or --as openai-responses"
            raise UsageError("no API is named", place=place, remedy=remedy)
        known = check_api(api, is_deferring=deferred, is_strict=strict)
        return cls(known, deferred, related, strict)

    def check(self, form: str, *, explain: bool, input_schema: bool) -> None:
        """Check that no option asks for other output.

        Raises:
            UsageError: One does.
        """
        others = {
            f"--format {form}": form not in {"text", "json"},
            "--explain": explain,
            "--input-schema": input_schema,
        }
        option = next((name for name, is_given in others.items() if is_given), None)
        if option is not None:
            remedy = f"leave {option} out: the list is JSON, and has the schemas"
            raise UsageError(f"a list of functions has no {option}", place="--as", remedy=remedy)

    def answer(self, question: Question, output: Output) -> int:
        """Search and print the list; return the exit code."""
        engine = open_engine(question.settings, output)
        result = engine.search(**make_search_arguments(question))
        output.note_opening(engine.diagnostics)
        output.diagnostics(result.diagnostics)
        others = [tool for tool in engine.tools if tool.enabled] if self.deferred else ()
        tools = result.as_tools(self.api, related=self.related, deferred=others, strict=self.strict)
        output.json(tools.to_dict())
        if not result.matches:
            output.note(nothing_found(question))
        return exit_code(result)
