"""`mcpg rule`."""

from __future__ import annotations

from typing import Annotated

from mcpg.cli import options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.options import argument
from mcpg.cli.output import Output
from mcpg.cli.render import RecordListing, write_listing
from mcpg.errors import UsageError
from mcpg.lint.model import RULES, Rule, find_rule
from mcpg.show.blocks import CodeSpan, Column, Styled, Table

EXAMPLES = """\
mcpg rule
mcpg rule D101
mcpg rule missing-description --format json
mcpg rule --format ids"""
MORE = "docs/reference/rules.md"


def run(
    output: Output,
    *,
    name: Annotated[
        str | None,
        argument(
            "CODE",
            "A rule by its code or name. [default: list all]",
            autocompletion=lambda incomplete: [
                (rule.code, rule.summary)
                for code, rule in RULES.items()
                if code.startswith(incomplete.upper())
            ],
        ),
    ] = None,
    form: options.ListFormat = "text",
) -> int:
    """Explain a rule of `mcpg lint`, or list all rules."""
    return write_rules(output, name, form)


def write_rules(output: Output, name: str | None, form: str) -> int:
    """Write the rule *name*, or all rules, in a *form*, and return the exit code."""
    rules = [*RULES.values()] if name is None else [find_rule(name)]
    if form == "json":
        output.json({"schema": "mcpg/rule/1", "rules": [rule.to_dict() for rule in rules]})
    elif name is None:
        rows = tuple(
            (
                Styled(CodeSpan(rule.code), "cyan"),
                CodeSpan(rule.name),
                CodeSpan(rule.severity if rule.is_default else f"{rule.severity}, off"),
                CodeSpan(rule.summary),
            )
            for rule in rules
        )
        heads = (Column("rule", is_whole=True), Column("name", is_whole=True))
        columns = (*heads, Column("severity"), Column("finds"))
        members = ("code", "name", "subject", "severity", "isDefault", "isFixable", "summary")
        table = Table("Rules", columns, rows, has_heads=True)
        records = [rule.to_dict() for rule in rules]
        write_listing(RecordListing(records, members, "code", table), form, output)
    elif form in ("text", "markdown"):
        output.text(rule_page(rules[0]))
    else:
        remedy = "use text, markdown or json"
        raise UsageError("one rule is not a list", place="--format", remedy=remedy)
    return ExitCode.DONE


def rule_page(rule: Rule) -> str:
    """Return the description of *rule* as Markdown."""
    default = "checked by default" if rule.is_default else f"off unless `--select {rule.code}`"
    fixable = "; `--fix` fixes it" if rule.is_fixable else ""
    parts = (
        f"# {rule.code} {rule.name}",
        rule.summary,
        f"Severity: {rule.severity}; {default}{fixable}.",
        f"**Why.** {rule.why}",
        f"**Remedy.** {rule.remedy}",
        rule.example,
    )
    return "\n\n".join(filter(None, parts))
