from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mcpg.gateway.calls import Fault, FaultCode
from mcpg.gateway.validation import (
    BoundedValidator,
    accepts_at_once,
    as_json,
    bounded_validator,
    check_arguments,
)

if TYPE_CHECKING:
    from mcpg.text.json_values import JsonObject

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "The city's\nname."},
        "days": {"type": "integer", "minimum": 1, "maximum": 16},
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "either": {"anyOf": [{"type": "object", "required": ["x"]}, {"type": "null"}]},
        "place": {"type": "object", "properties": {"a/b": {"type": "number"}}, "required": ["a/b"]},
        "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
        "kinds": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "one": {"const": 1},
        "odd": {"not": {"type": "string"}},
        "both": {"oneOf": [{"minimum": 1}, {"type": "number"}]},
    },
    "required": ["city"],
    "additionalProperties": False,
}


DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def told(schema: Any, arguments: Any) -> list[tuple[str, str, str]]:
    """What is wrong, as field, message and remedy."""
    faults = check_arguments(schema, arguments)
    assert {fault.code for fault in faults} <= {FaultCode.ARGUMENTS_INVALID}
    return [(fault.field, fault.message, fault.remedy) for fault in faults]


@pytest.mark.parametrize(
    ("bound", "within", "beyond"),
    [
        ({"minimum": 2}, 2, 1),
        ({"maximum": 2}, 2, 3),
        ({"exclusiveMinimum": 2}, 3, 2),
        ({"exclusiveMaximum": 2}, 1, 2),
        ({"minLength": 2}, "ab", "a"),
        ({"maxLength": 2}, "ab", "abc"),
        ({"minItems": 2}, [1, 2], [1]),
        ({"maxItems": 2}, [1, 2], [1, 2, 3]),
    ],
)
def test_a_bound_accepts_what_is_within_it_alone(
    bound: JsonObject, within: Any, beyond: Any
) -> None:
    """An argument may reach its bound, and not go beyond; values of another type have none."""
    schema = {"type": "object", "properties": {"one": bound}}

    assert told(schema, {"one": within}) == told(schema, {"one": None}) == []
    assert [field for field, _, _ in told(schema, {"one": beyond})] == ["/one"]
    assert accepts_at_once(schema, {"one": within})
    assert not accepts_at_once(schema, {"one": beyond})


def test_a_required_argument_with_a_default_can_be_left_out() -> None:
    """Its server fills it in; others are still missing, also within another argument."""
    level = {"type": "string", "default": "info"}
    inner = {"type": "object", "properties": {"level": level}, "required": ["level"]}
    properties = {"level": level, "city": {"type": "string"}, "inner": inner}
    schema = {"type": "object", "properties": properties, "required": ["level", "city"]}
    assert told(schema, {"city": "Rome", "inner": {}}) == []
    (fault,) = told(schema, {})
    assert fault[0] == "/city"
    (fault,) = told(schema, {"city": "Rome", "level": 1})
    assert fault[0] == "/level"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ("/city", 'the argument "city" is missing', "give a text: The city's name.")),
        (
            {"city": 1},
            ("/city", 'the argument "city" must be a text, not an integer', ""),
        ),
        (
            {"days": "3"},
            (
                "/days",
                'the argument "days" must be an integer, not a text',
                "give it without quotes",
            ),
        ),
        (
            {"days": "three"},
            ("/days", 'the argument "days" must be an integer, not a text', ""),
        ),
        (
            {"days": True},
            ("/days", 'the argument "days" must be an integer, not true or false', ""),
        ),
        ({"days": 0}, ("/days", 'the argument "days" must be at least 1', "")),
        (
            {"unit": "Celsius"},
            (
                "/unit",
                'the argument "unit" must be one of "celsius", "fahrenheit"',
                'did you mean "celsius"?',
            ),
        ),
        ({"unit": 4}, ("/unit", 'the argument "unit" must be one of "celsius", "fahrenheit"', "")),
        ({"one": 2}, ("/one", 'the argument "one" must be 1', "")),
        ({"note": 4}, ("/note", 'the argument "note" must be a text or null, not an integer', "")),
        ({"either": {}}, ("/either/x", '"x" in the argument "either" is missing', "give it")),
        (
            {"place": {}},
            ("/place/a~1b", '"a/b" in the argument "place" is missing', "give a number"),
        ),
        ({"zip": "abc"}, ("/zip", 'the argument "zip" must match the pattern "^[0-9]{5}$"', "")),
        ({"kinds": ["a", "a"]}, ("/kinds", 'the argument "kinds" must not have an item twice', "")),
        (
            {"kinds": [None]},
            ("/kinds/0", '"0" in the argument "kinds" must be a text, not null', ""),
        ),
        (
            {"odd": "x"},
            ("/odd", 'the argument "odd" does not meet "not" of the tool\'s schema', ""),
        ),
        (
            {"both": 1},
            (
                "/both",
                'the argument "both" matches several alternatives of which only one is allowed',
                "",
            ),
        ),
        (
            {"citty": 1},
            (
                "/citty",
                'the argument "citty" is unknown',
                'did you mean "city"?',
            ),
        ),
    ],
)
def test_every_fault_names_its_field(arguments: Any, expected: tuple[str, str, str]) -> None:
    """What is wrong is said with a pointer, a short message and, where there is one, a remedy."""
    assert expected in told(SCHEMA, {"city": "x", **arguments} if arguments else {})


def test_good_arguments_have_no_faults() -> None:
    """What the schema allows is left alone."""
    good = {"city": "x", "days": 3, "unit": "celsius", "note": None, "place": {"a/b": 1.5}}
    assert told(SCHEMA, good) == []


def test_a_slip_of_a_missing_argument_is_recognised() -> None:
    """Where more arguments are allowed, a misspelt one is found by the one that is missing."""
    schema = {"properties": {"city": {}}, "required": ["city"]}
    assert told(schema, {"ctiy": 1}) == [
        ("/city", 'the argument "city" is missing', 'is "ctiy" meant to be it?')
    ]


def test_lists_are_bounded() -> None:
    """Neither many faults nor many allowed values make an answer long."""
    many = {"properties": {"x": {"enum": [f"value {i}" * 50 for i in range(100)]}}}
    ((_, message, _),) = told(many, {"x": 1})
    assert message.endswith("and 80 more")
    assert len(message) < 3000
    none = {"type": "object", "properties": {}, "additionalProperties": False}
    assert len(told(none, {f"n{i}": 1 for i in range(100)})) == 20
    assert told(none, {"n": 1})[0][2] == "there are none"
    known = {"properties": {"alpha": {}}, "additionalProperties": False}
    assert told(known, {"n": 1})[0][2] == 'known are "alpha"'


def _bomb(depth: int) -> JsonObject:
    """A schema of few words that is looked at 2**depth times."""
    definitions: dict[str, Any] = {
        f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(depth)
    }
    definitions[f"a{depth}"] = {"type": "object"}
    return {"$defs": definitions, "properties": {"x": {"$ref": "#/$defs/a0"}}}


def _deep(depth: int, key: str = "x") -> JsonObject:
    """A schema of objects in objects."""
    schema: JsonObject = {"type": "integer"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {key: schema}}
    return schema


def _nested(depth: int) -> Any:
    """An object in objects."""
    return {"x": _nested(depth - 1)} if depth else "no number"


def test_depth_is_bounded_and_enough_for_what_is_met() -> None:
    """Schemas and arguments of a sensible depth are checked; what is deeper is left alone."""
    assert [field for field, _, _ in told(_deep(15), _nested(15))] == ["/x" * 15]
    for depth in (35, 3000):
        assert told(_deep(depth), _nested(min(depth, 300))) == []
    endless = {"properties": {"x": {"$ref": "#"}}, "type": "object"}
    assert told(endless, _nested(300)) == []
    assert told(endless, _nested(5)) != []


@pytest.mark.parametrize(
    "schema",
    [
        _bomb(40),
        {"$ref": "#"},
        {"properties": []},
        {"required": "id"},
        {"type": "strng"},
        {"type": "string"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"properties": {"x": {"pattern": "["}}},
        {"properties": {"x": {"pattern": "x{4294967296}"}}},
        {"additionalProperties": False, "patternProperties": {"(?=b)": {}}},
        {"patternProperties": {"(?=b)": {}}},
        {"properties": {f"p{i}": {"type": "integer"} for i in range(5000)}, "required": ["p1"]},
        {"properties": {"x": {"multipleOf": 0}}},
        {"unevaluatedProperties": False, "patternProperties": {"(a+)+$": {}}},
    ],
)
def test_a_schema_that_cannot_be_used_refuses_nothing(schema: Any) -> None:
    """What is no schema, leads elsewhere or would take for ever is the server's to judge."""
    started = time.monotonic()
    assert told(schema, {"x": "a" * 60 + "!", "a" * 60 + "!": 1}) == []
    assert time.monotonic() - started < 20


def test_long_lists_are_compared_as_well() -> None:
    """However many items there are, one that is there twice is found, in whatever order it is."""
    schema = {"properties": {"x": {"uniqueItems": True}}}
    items = [{"n": n, "m": 1} for n in range(3000)]
    assert told(schema, {"x": items}) == []
    again = {"m": 1, "n": 7}
    (fault,) = told(schema, {"x": [*items, again]})
    assert fault == ("/x", 'the argument "x" must not have an item twice', "")


REPEATED = "^(a+)+$"
FREEZING = [
    {"properties": {"x": {"pattern": REPEATED}}},
    {"properties": {"x": {"pattern": "(?x)^(a+) +$"}}},
    {"properties": {"x": {"pattern": "^(?:a|a)*(?:a|a)*(?:a|a)*$"}}},
    {"properties": {"x": {"pattern": "a?" * 200 + "a" * 90 + "$"}}},
    {"additionalProperties": False, "patternProperties": {REPEATED: {}}},
    {"unevaluatedProperties": False, "patternProperties": {REPEATED: {}}},
    # A part that names its draft, as any schema of its own would.
    {"properties": {"x": {"$schema": DRAFT_7, "pattern": REPEATED}}},
    {
        "properties": {"x": {"$schema": DRAFT_7, "allOf": [{"$ref": "#/$defs/x"}]}},
        "$defs": {"x": {"pattern": REPEATED}},
    },
    {"propertyNames": {"pattern": REPEATED}},
]


@pytest.mark.parametrize("schema", FREEZING)
def test_no_pattern_freezes_the_process(schema: Any) -> None:
    """Whatever a pattern and where it stands, it is tried in linear time or not at all."""
    hard = "a" * 60 + "!"
    program = (
        "import json, sys; from mcpg.gateway.validation import check_arguments;"
        "check_arguments(*json.loads(sys.argv[1]))"
    )
    given = json.dumps([schema, {"x": hard, hard: 1}])
    # A process of its own: one that backtracks hears no signal and holds up every thread.
    subprocess.run([sys.executable, "-c", program, given], check=True, timeout=60)


HOSTILE = """
def nested(depth, inner, form="list"):
    for _ in range(depth):
        inner = [inner] * 10 if form == "list" else {"x": inner}
    return inner

def referring(depth, last):
    parts = {f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(depth)}
    return {"$defs": {**parts, f"a{depth}": last}, "properties": {"x": {"$ref": "#/$defs/a0"}}}

tree = {"anyOf": [{"type": "object", "additionalProperties": {"$ref": "#/$defs/tree"}},
                  {"type": "array", "items": {"$ref": "#/$defs/tree"}}, {"type": "null"}]}
chain = {f"a{i}": {"$ref": f"#/$defs/a{i + 1}"} for i in range(50)}
chain["a50"] = {"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}}
slow = "[ab]*a[ab]{%d}[^b]"
pattern = {"$defs": {"x": {"pattern": slow % 50}}}
pairs = [
    (x(anyOf=[{"type": "integer", "minimum": 2}] * 900), "x" * 1_000_000),
    (x(items={"anyOf": [{"type": "integer"}] * 20}), ["a"] * 50_000),
    (x(items={"type": "integer"}), ["a"] * 500_000),
    (x(items={"enum": [f"v{i}" for i in range(2900)]}), ["a"] * 50_000),
    (x(allOf=[{"pattern": slow % (800 + i)} for i in range(30)]), "abba" * 5000),
    (pattern | x(allOf=[{"$ref": "#/$defs/x"}] * 1000), "ab" * 9000),
    (x(anyOf=[{"pattern": f"^.{{1,500}}{i}$"} for i in range(100)]), "a" * 1000),
    (x(required=[f"n{i}" for i in range(2900)]), [{}] * 5000),
    (x(dependentRequired={"a": [f"n{i}" for i in range(2900)]}), {"a": 1}),
    (referring(16, {"type": "object"}), 1),
    (referring(40, {"type": "object"}), 1),
    ({"$defs": {"tree": tree}, **tree}, nested(4, "a")),
    ({"$defs": chain, "$ref": "#/$defs/a0"}, nested(59, 1, "object")),
    ({"enum": [{"$ref": "#/enum/0"}], "$ref": "#/enum/0"}, 1),
]
"""


@pytest.mark.untraced
@pytest.mark.skipif(sys.platform != "linux", reason="it reads how much memory was used")
def test_hostile_schemas_take_bounded_time_and_memory() -> None:
    """However references, alternatives and patterns multiply, a check is quick, or is left out."""
    program = (
        "import time; from mcpg.gateway.validation import check_arguments\n"
        'x = lambda **schema: {"properties": {"x": schema}}\n'
        f"{HOSTILE}\n"
        "for schema, value in pairs:\n"
        "    started = time.process_time()\n"
        '    check_arguments(schema, {"x": value})\n'
        "    assert time.process_time() - started < 5, schema.keys()\n"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
    )
    # A process of its own, since the library's memory is not Python's.
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, timeout=60, capture_output=True
    )
    assert int(done.stdout) < 150 << 10  # KiB


def test_few_levels_of_the_stack_are_used() -> None:
    """A schema and a value that lead deep are checked on a small stack as well."""
    program = (
        "import threading; from mcpg.gateway.validation import check_arguments\n"
        f"x = dict\n{HOSTILE}\n"
        "threading.stack_size(512 << 10)\n"
        "def check():\n"
        '    check_arguments({"$defs": chain, "$ref": "#/$defs/a0"}, nested(7, 1, "object"))\n'
        '    check_arguments({"$ref": "#/$defs/tree", "$defs": {"tree": tree}},'
        ' nested(59, 1, "object"))\n'
        "thread = threading.Thread(target=check)\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_patterns_of_names() -> None:
    """Members are known by a pattern of their names, and checked as it says."""
    schema = {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False}
    assert told(schema, {"x-a": 1}) == []
    assert [field for field, _, _ in told(schema, {"x-a": "1", "y": 1})] == ["/x-a", "/y"]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$", "2024-01-02T03:04", True),
        ("^[a-z]+$", "abC", False),
        ("^[a-z]+$", "a" * 2000, True),
        (r"^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$", "x", False),
        (r"^[\w.+-]+@(?:\w+\.)+\w{2,}$", "ä.b@c.example", False),
        (r"^[\w.+-]+@(?:\w+\.)+\w{2,}$", "a.b@c.example", True),
        (r"^\S+ \S+$", "Zoë Müller", True),
        (r"^\S+$", "Zoë Müller", False),
        (r"^[\]/\-]$", "]", True),
        ("^(a|aa)+$", "a" * 100_000, True),
        ("a?" * 30 + "a" * 30, "a" * 30, True),
        (r"^\p{L}$", "ж", True),
        ("^a$", "a\n", False),
        ("(?i)^a$", "A", True),
        ("(?x)^ a $", "a", None),
        ("(?i-s:(?ix: a ))", "a", None),
        ("(?=a)", "a", None),
        (r"(a)\1", "aa", None),
        ("x" * 501, "x", None),
        ("a{9999}{9999}", "a", None),
        ("(a{99}){99}{99}", "a", None),
        ("a{900}b", "a" * 10_000, False),
        ("a{900}b", "a" * 100_000, None),
        (r"\w{300}", "a", False),
        (r"a\b", "aé", True),
        ("(?s)^.$", "\n", None),
        ("[[a]]", "a]", None),
        ("[a-z&&[^b]]", "a", None),
        (r"\<a\>", "<a>", None),
        ("[]", "a", None),
        ("a", "a\ud800", None),
        (")", "a", None),
        ("x{4294967296}", "x", None),
    ],
)
def test_patterns_are_tried_only_where_that_is_quick(
    pattern: str, text: str, expected: bool | None
) -> None:
    """A pattern that may take long, or that is read differently elsewhere, gives no answer."""
    faults = told({"properties": {"x": {"pattern": pattern}}}, {"x": text})
    assert [field for field, _, _ in faults] == (["/x"] if expected is False else [])


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        *((r"^\W$", "é"), (r"^[^\w]+$", "żó"), (r"^\D$", "٣"), (r"^.\b.$", "éa"), (r"\B", "é")),
        *((r"^\s$", "\ufeff"), (r"^\S$", "\x85")),
    ],
)
def test_patterns_are_those_of_ecma_262(pattern: str, text: str) -> None:
    """No text is refused that a pattern of ECMA-262, which JSON Schema requires, accepts."""
    assert told({"properties": {"x": {"pattern": pattern}}}, {"x": text}) == []


@pytest.mark.parametrize("pattern", [r"\A", r"a\z", r"^a\z"])
def test_patterns_that_ecma_262_does_not_have_are_not_tried(pattern: str) -> None:
    """Anchors of other languages are no pattern, so that they refuse nothing."""
    assert told({"properties": {"x": {"pattern": pattern}}}, {"x": "b"}) == []


@pytest.mark.parametrize(
    ("pattern", "text"), [(r"^\w$", "é"), (r"^\d$", "٣"), (r"aé\b", "aé"), (r"^\s$", "\x85")]
)
def test_patterns_refuse_what_ecma_262_refuses(pattern: str, text: str) -> None:
    """A class has the characters of ECMA-262: letters and digits are those of ASCII."""
    ((field, _, _),) = told({"properties": {"x": {"pattern": pattern}}}, {"x": text})
    assert field == "/x"


@pytest.mark.parametrize("wrong", [{"x": float("nan")}, {"x": object()}, {"x": {1, 2}}])
def test_what_is_no_json_is_refused(wrong: Any) -> None:
    """A server gets JSON and nothing else."""
    fault = as_json(wrong)
    assert isinstance(fault, Fault)
    assert fault.message == "the arguments are not valid JSON"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner),
    max_leaves=3,
)


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(["city", "days", "note", "kinds"], _VALUES))
)
def test_the_verdict_is_that_of_the_library(arguments: dict[str, Any]) -> None:
    """Bounds and words change nothing of what is right and what is wrong."""
    is_valid = Draft202012Validator(SCHEMA).is_valid(arguments)
    assert (check_arguments(SCHEMA, arguments) == ()) == is_valid


PARTS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 2},
        {"enum": ["a", 1, None]},
        {"pattern": "^a"},
        {"type": "array", "items": {"pattern": "^a"}},
        {"anyOf": [{"type": "null"}, {"$ref": "#/properties/one"}]},
        {"$ref": "nowhere"},
        {"allOf": [{"type": ["string", "null"]}] * 300},
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(0, 4) | st.sampled_from(["a", "b"]), st.lists, max_leaves=5
)


@given(st.fixed_dictionaries({}, optional={"one": PARTS, "two": PARTS}), st.data())
def test_what_is_accepted_at_once_has_no_faults(
    properties: JsonObject, data: st.DataObject
) -> None:
    """The quick check accepts nothing that the whole one refuses, and makes no validator."""
    schema: JsonObject = {"properties": properties, "required": ["one"]}
    given: JsonObject = data.draw(st.dictionaries(st.sampled_from(["one", "two"]), VALUES))
    assert not accepts_at_once(schema, given)
    faults = check_arguments(schema, given)
    assert not (faults and accepts_at_once(schema, given))


def test_the_validator_of_a_schema_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of a tool share one validator, which is found without going through the schema."""
    schema: JsonObject = {"properties": {"unique to this test": {"type": "string"}}}
    made = bounded_validator(schema)
    monkeypatch.setattr(json, "dumps", None)
    monkeypatch.setattr(BoundedValidator, "__init__", None)
    assert made is not None
    assert bounded_validator(schema) is made
    assert accepts_at_once(schema, {"unique to this test": "x"})
    assert not accepts_at_once(schema, {"unique to this test": 1})
