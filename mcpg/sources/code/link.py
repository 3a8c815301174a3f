"""Link the uses of names in source files to the symbols that they mean.

Names are looked up as their language does it: in the functions and types around the use, in the
file, among its imports, in its package. The type of a receiver is that of its annotation, or of the
constructor or annotated function that its value comes from. A method of an unknown receiver is
linked only where one method alone has its name, and with less weight.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from mcpg.code.model import SEPARATOR, CodeEdge, CodeEdgeKind, CodeFile, Symbol, SymbolKind
from mcpg.sources.code.expressions import UNKNOWN
from mcpg.sources.code.extract import IMPL, Definition, Facts, Use
from mcpg.sources.code.grammars import family_of, shown_language
from mcpg.sources.code.imports import EVERYTHING
from mcpg.sources.code.modules import Modules
from mcpg.text import split_words

GUESSED = 0.5
"""The weight of a call that only the name of the method speaks for."""

_SELF = frozenset({"self", "this", "cls", "Self"})
_BASE = frozenset({"super", "super()", "base"})
_DEEPEST = 12
_MOST_BASES = 64
_MOST_LEVELS = 100
_GUESSABLE_WORDS = 2
# Languages where a bare name can be a member of the type around it.
_IMPLICIT_SELF = frozenset({"csharp", "java"})
# Languages where a name in another file may be meant that no import statement names in full.
_BY_NAME = frozenset({"csharp", "go", "java", "rust"})
_CONTAINERS = frozenset({"class", "enum", "interface", "struct", "trait", "type", IMPL})


class _Node:
    """A definition with what stands in it."""

    __slots__ = (
        "bases",
        "definition",
        "fields",
        "members",
        "module",
        "name",
        "parent",
        "variables",
    )

    def __init__(self, definition: Definition, module: _Module, parent: _Node | None) -> None:
        self.definition = definition
        self.module = module
        self.parent = parent
        self.name = ""
        self.members: dict[str, _Node] = {}
        self.bases: list[Use] = []
        self.fields: dict[str, list[str]] = {}
        self.variables: dict[str, list[str]] = {}

    @property
    def is_type(self) -> bool:
        return self.definition.kind in _CONTAINERS

    @property
    def id(self) -> str:
        return f"{self.module.path}{SEPARATOR}{self.name}"


@dataclass(slots=True, eq=False)
class _Module:
    """A file with what stands at its top."""

    path: str
    grammar: str
    facts: Facts
    nodes: list[_Node] = field(default_factory=list)
    top: dict[str, _Node] = field(default_factory=dict)
    variables: dict[str, list[str]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    @property
    def family(self) -> str:
        return family_of(self.grammar)

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]


_Meaning = _Node | _Module | None


def link(
    facts: Mapping[str, tuple[str, Facts]], home: CodeFile, root_name: str = ""
) -> list[CodeFile]:
    """Link the facts of files to each other.

    Args:
        facts: Grammar and facts by path.
        home: What all files have in common: repository and branch.
        root_name: Name of the folder that holds them.
    """
    linker = _Linker(facts, root_name)
    return [
        replace(
            home,
            path=module.path,
            language=shown_language(module.grammar),
            lines=module.facts.lines,
            symbols=tuple(_symbol(node) for node in module.nodes if node.definition.kind != IMPL),
            edges=tuple(linker.edges(module)),
        )
        for module in linker.modules
    ]


def _symbol(node: _Node) -> Symbol:
    one = node.definition
    kind = SymbolKind(one.kind)
    return Symbol(node.name, kind, one.first, one.last, one.signature, one.documentation)


class _Linker:
    """All files, and the names in them."""

    def __init__(self, facts: Mapping[str, tuple[str, Facts]], root_name: str) -> None:
        self.modules = [_Module(path, *facts[path]) for path in sorted(facts)]
        self._by_path = {module.path: module for module in self.modules}
        families = {module.family for module in self.modules}
        self._places = {
            family: Modules(
                family, [one.path for one in self.modules if one.family == family], root_name
            )
            for family in families
        }
        self._types: defaultdict[tuple[str, str], list[_Node]] = defaultdict(list)
        self._methods: defaultdict[tuple[str, str], list[_Node]] = defaultdict(list)
        self._files: dict[tuple[str, str], list[_Module]] = {}
        self._values: dict[int, _Meaning] = {}
        self._globals: dict[tuple[str, str], _Meaning] = {}
        self._lineages: dict[_Node, list[_Node]] = {}
        self._open_lineages = 0
        self._tops: defaultdict[tuple[str, str], list[_Node]] = defaultdict(list)
        for module in self.modules:
            self._grow(module)
        for module in self.modules:
            self._adopt(module)
            self._name(module)

    # What stands where.

    def _grow(self, module: _Module) -> None:
        """Make the nodes of a file, and note its names."""
        for one in module.facts.definitions:
            parent = module.nodes[one.parent] if one.parent >= 0 else None
            node = _Node(one, module, parent)
            module.nodes.append(node)
            if one.owner or one.kind == IMPL:
                continue
            (module.top if parent is None else parent.members)[one.name] = node
            if parent is None:
                self._tops[module.family, one.name].append(node)
            if node.is_type:
                self._types[module.family, one.name].append(node)
        for local, name, imported, _ in module.facts.imports:
            if local == EVERYTHING:
                module.stars.append(name)
            elif local:
                module.imports[local] = (name, imported)
        self._note_uses(module)

    def _note_uses(self, module: _Module) -> None:
        for use in module.facts.uses:
            if use.kind == CodeEdgeKind.INHERITS and use.owner >= 0:
                module.nodes[use.owner].bases.append(use)
        for owner, name, value in module.facts.variables:
            node = module.nodes[owner] if owner >= 0 else None
            field_name = name.removeprefix("self.")
            if field_name != name:
                while node is not None and not node.is_type:
                    node = node.parent
                if node is not None:
                    node.fields.setdefault(field_name, []).append(value)
            elif node is not None and node.is_type:
                node.fields.setdefault(name, []).append(value)
            else:
                held = module.variables if node is None else node.variables
                held.setdefault(name, []).append(value)

    def _adopt(self, module: _Module) -> None:
        """Give members that stand outside their type to it."""
        for node in module.nodes:
            one = node.definition
            owner = one.name if one.kind == IMPL else one.owner
            if not owner:
                continue
            found = self._type_named(owner.rpartition(".")[2], module)
            if found is None or found is node:
                continue
            if one.kind == IMPL:
                found.members.update(node.members)
                found.bases += node.bases
                for name, values in node.fields.items():
                    found.fields.setdefault(name, []).extend(values)
                for member in node.members.values():
                    member.parent = found
            else:
                found.members.setdefault(one.name, node)
                node.parent = found

    def _name(self, module: _Module) -> None:
        """Give the nodes of a file their qualified names, no two alike."""
        taken: dict[str, int] = {}
        for node in module.nodes:
            one, parent = node.definition, node.parent
            name = ".".join(filter(None, (_outer_name(parent) or one.owner, one.name)))
            if one.kind != IMPL:
                taken[name] = taken.get(name, 0) + 1
                name = f"{name}#{taken[name]}" if taken[name] > 1 else name
                if (parent is not None and parent.is_type) or one.owner:
                    self._methods[module.family, one.name].append(node)
            node.name = name

    def _type_named(self, name: str, module: _Module) -> _Node | None:
        """Return the type called *name* that is nearest to a file."""
        found = self._types.get((module.family, name), [])
        near = [node for node in found if node.module is module]
        if not near:
            near = [node for node in found if node.module.folder == module.folder]
        if not near and module.facts.package:
            near = [node for node in found if node.module.facts.package == module.facts.package]
        choice = near or found
        return choice[0] if len(choice) == 1 or near else None

    # What a name means.

    def _look_up(self, name: str, node: _Node | None, module: _Module, depth: int) -> _Meaning:
        """Return what a bare *name* means within *node*, `None` where that is not known."""
        for here in _around(node):
            if here.module is not module:
                break
            is_known, found = self._within(here, name, is_innermost=here is node, depth=depth)
            if is_known:
                return found
        return self._global(module, name, depth)

    def _within(
        self, here: _Node, name: str, *, is_innermost: bool, depth: int
    ) -> tuple[bool, _Meaning]:
        """Return whether a bare *name* is bound directly in *here*, and what it means."""
        if not here.is_type and name in here.variables:
            return True, self._value(here.variables[name], here, here.module, depth)
        if name in here.members and (is_innermost or not here.is_type):
            return True, here.members[name]
        if not here.is_type or here.module.family not in _IMPLICIT_SELF:
            return False, None
        if name in here.fields:
            return True, self._value(here.fields[name], here, here.module, depth)
        member = self._member(here, name)
        return member is not None, member

    def _global(self, module: _Module, name: str, depth: int) -> _Meaning:
        """Return what *name* means at the top of a file, imports included."""
        key = (module.path, name)
        if depth > _DEEPEST:
            return self._globals.get(key)
        if key not in self._globals:
            self._globals[key] = None
            self._globals[key] = self._at_top(module, name, depth)
        return self._globals[key]

    def _at_top(self, module: _Module, name: str, depth: int) -> _Meaning:
        if name in module.top:
            return module.top[name]
        if name in module.imports:
            return self._imported(module, *module.imports[name], depth)
        if name in module.variables:
            return self._value(module.variables[name], None, module, depth)
        for star in module.stars if module.family in {"python", "javascript"} else ():
            for other in self._files_of(star, module):
                if other is not module and (found := self._global(other, name, depth + 1)):
                    return found
        if module.family in _BY_NAME:
            return self._in_package(module, name) or self._type_named(name, module)
        return None

    def _in_package(self, module: _Module, name: str) -> _Node | None:
        if module.family != "go":
            return None
        paths = self._places["go"].siblings(module.path)
        return next(
            (self._by_path[one].top[name] for one in paths if name in self._by_path[one].top), None
        )

    def _imported(self, module: _Module, source: str, name: str, depth: int) -> _Meaning:
        files = self._files_of(source, module)
        if module.family in {"csharp", "java", "rust"}:
            found = self._type_named(name, module)
            if found is None and module.family == "rust":
                tops = self._tops.get(("rust", name), [])
                found = tops[0] if len(tops) == 1 else None
            return found
        if not files:
            return self._submodule_of(source, name, module) if name else None
        if not name:
            return files[0]
        if name == "default":
            return self._default(files[0])
        found_name = self._global(files[0], name, depth + 1)
        return found_name or self._submodule(files[0], name)

    def _submodule_of(self, source: str, name: str, module: _Module) -> _Module | None:
        """Return the module *name* of a package that has no file of its own."""
        joint = "" if source.endswith(".") else "."
        return next(iter(self._files_of(f"{source}{joint}{name}", module)), None)

    def _submodule(self, package: _Module, name: str) -> _Module | None:
        path = self._places[package.family].submodule(package.path, name)
        return self._by_path.get(path or "")

    @staticmethod
    def _default(module: _Module) -> _Node | None:
        """Return the only class of a file, or its only definition at the top."""
        nodes = list(module.top.values())
        classes = [node for node in nodes if node.is_type]
        choice = classes or nodes
        return choice[0] if len(choice) == 1 else None

    def _files_of(self, source: str, module: _Module) -> list[_Module]:
        key = (source, module.path)
        known = self._files.get(key)
        if known is None:
            paths = self._places[module.family].files_of(source, module.path)
            known = self._files[key] = [self._by_path[path] for path in paths]
        return known

    # What an expression is.

    def _value(
        self, values: list[str], node: _Node | None, module: _Module, depth: int
    ) -> _Meaning:
        """Return the type of a variable, from the first of its *values* that is known."""
        # Each variable is looked at once, and while it is, it has no type: circles end.
        key = id(values)
        if key not in self._values:
            self._values[key] = None
            known = (value for value in values if value != UNKNOWN)
            found = (self._evaluate(value, node, module, depth + 1) for value in known)
            self._values[key] = next((one for one in found if one is not None), None)
        return self._values[key]

    def _evaluate(self, text: str, node: _Node | None, module: _Module, depth: int) -> _Meaning:
        """Return what the plain expression *text* means; of a value, its type."""
        if text == UNKNOWN or depth > _DEEPEST:
            return None
        parts = text.split(".")
        found, rest = self._first_part(parts, node, module, depth)
        for part in rest:
            if found is None:
                return None
            found = self._attribute(found, part, depth)
        return found

    def _first_part(
        self, parts: list[str], node: _Node | None, module: _Module, depth: int
    ) -> tuple[_Meaning, list[str]]:
        first = parts[0]
        if first in _SELF:
            return _type_around(node), parts[1:]
        if first in _BASE:
            around = _type_around(node)
            bases = self._lineage(around)[1:2] if around else []
            return (bases[0] if bases else None), parts[1:]
        # `import a.b` makes `a.b` known, though `a` may have no file.
        for end in range(len(parts), 1, -1):
            name = ".".join(parts[:end])
            if name in module.imports:
                return self._imported(module, *module.imports[name], depth), parts[end:]
        name = first.removesuffix("()")
        found = self._look_up(name, node, module, depth)
        return (self._called(found, depth) if name != first else found), parts[1:]

    def _attribute(self, owner: _Node | _Module, part: str, depth: int) -> _Meaning:
        name = part.removesuffix("()")
        found = self._named_in(owner, name, depth)
        return self._called(found, depth) if name != part else found

    def _named_in(self, owner: _Node | _Module, name: str, depth: int) -> _Meaning:
        if isinstance(owner, _Module):
            found = self._global(owner, name, depth + 1) if owner.family != "go" else None
            return found or self._in_package(owner, name) or self._submodule(owner, name)
        if not owner.is_type:
            return None
        for one in self._lineage(owner):
            if name in one.members:
                return one.members[name]
            if name in one.fields:
                return self._value(one.fields[name], one, one.module, depth)
        return None

    def _called(self, found: _Meaning, depth: int) -> _Meaning:
        """Return the type of what calling *found* returns."""
        if not isinstance(found, _Node) or found.is_type:
            return found
        returns = found.definition.returns
        if returns == UNKNOWN or depth > _DEEPEST:
            return None
        if returns in _SELF:
            return _type_around(found)
        result = self._evaluate(returns, found.parent, found.module, depth + 1)
        return result if isinstance(result, _Node) and result.is_type else None

    def _member(self, owner: _Node, name: str) -> _Node | None:
        return next(
            (one.members[name] for one in self._lineage(owner) if name in one.members), None
        )

    def _lineage(self, node: _Node) -> list[_Node]:
        """Return a type and those that it inherits from, nearest first; circles end."""
        known = self._lineages.get(node)
        if known is not None:
            return known
        if self._open_lineages > _DEEPEST:
            return [node]
        found = self._lineages[node] = [node]
        self._open_lineages += 1
        for one in found:
            for base in one.bases if len(found) < _MOST_BASES else ():
                parent = self._base(base, one)
                if parent is not None and parent not in found:
                    found.append(parent)
        self._open_lineages -= 1
        return found

    def _base(self, use: Use, node: _Node) -> _Node | None:
        text = f"{use.receiver}.{use.name}" if use.receiver else use.name
        found = self._evaluate(text, node.parent, node.module, 0)
        return found if isinstance(found, _Node) and found.is_type else None

    # Edges.

    def edges(self, module: _Module) -> Iterator[CodeEdge]:
        """Return the edges that leave a file, sorted, each target once for each symbol."""
        lines: defaultdict[tuple[CodeEdgeKind, str, str, float, bool], set[int]] = defaultdict(set)
        for use in module.facts.uses:
            node = module.nodes[use.owner] if use.owner >= 0 else None
            target, weight = self._target(use, node, module)
            if target is not None and target is not node:
                kind = CodeEdgeKind(use.kind)
                lines[kind, _source(node), _id(target), weight, False].add(use.line)
            elif target is node and target is not None and use.kind == CodeEdgeKind.CALLS:
                lines[CodeEdgeKind.CALLS, _source(node), _id(target), weight, False].add(use.line)
        for one in module.facts.imports:
            target, name = self._import_target(one.module, one.name, module)
            lines[CodeEdgeKind.IMPORTS, "", name, 1.0, target is None].add(one.line)
        strong = {key[1:3] for key in lines if key[0] is not CodeEdgeKind.REFERENCES}
        for key in sorted(lines):
            kind, source, name, weight, is_external = key
            if kind is not CodeEdgeKind.REFERENCES or (source, name) not in strong:
                shown = tuple(sorted(lines[key]))
                yield CodeEdge(kind, source, name, shown, weight, is_external)

    def _target(self, use: Use, node: _Node | None, module: _Module) -> tuple[_Meaning, float]:
        inner = node
        if use.kind == CodeEdgeKind.INHERITS and node is not None:
            inner = node.parent
        if not use.receiver:
            if use.kind == CodeEdgeKind.REFERENCES and node and use.name in node.variables:
                return None, 1.0
            found = self._look_up(use.name, inner, module, 0)
            is_variable = node is not None and use.name in node.variables
            # A variable that is called holds a class or function, or an instance of unknown type.
            return (None if is_variable and not _holds_name(node, use.name) else found), 1.0
        owner = self._evaluate(use.receiver, inner, module, 0)
        if owner is not None:
            found = self._named_in(owner, use.name, 0)
            is_field = (
                isinstance(owner, _Node)
                and isinstance(found, _Node)
                and (found.definition.name != use.name)
            )
            return (None if is_field else found), 1.0
        if use.kind != CodeEdgeKind.CALLS or self._is_foreign(use.receiver, module):
            return None, 1.0
        return self._guess(use, module), GUESSED

    def _is_foreign(self, receiver: str, module: _Module) -> bool:
        """Return whether a receiver begins with something imported from outside the code."""
        first = receiver.partition(".")[0].removesuffix("()")
        return first in module.imports

    def _guess(self, use: Use, module: _Module) -> _Node | None:
        """Return the one method that has the name of a call, if the name is no common word."""
        found = self._methods.get((module.family, use.name), ())
        is_private = use.name.startswith("_")
        telling = len(list(split_words(use.name))) >= _GUESSABLE_WORDS and not is_private
        return found[0] if len(found) == 1 and telling else None

    def _import_target(self, source: str, name: str, module: _Module) -> tuple[_Meaning, str]:
        wanted = "" if name == EVERYTHING else name
        found = self._imported(module, source, wanted, 0)
        if found is None:
            found = next(iter(self._files_of(source, module)), None)
        joint = "." if name and name != EVERYTHING and module.family != "javascript" else ""
        outside = f"{source}{joint}{name if joint else ''}".strip(".") or source or name
        return found, outside if found is None else _id(found)


def _around(node: _Node | None) -> Iterator[_Node]:
    """Return *node* and those around it; a member can stand in a type that stands in it."""
    for _ in range(_MOST_LEVELS):
        if node is None:
            return
        yield node
        node = node.parent


def _outer_name(node: _Node | None) -> str:
    names: list[str] = []
    while node is not None and len(names) < _DEEPEST:
        names.append(node.definition.name)
        node = node.parent
    return ".".join(reversed(names))


def _holds_name(node: _Node | None, name: str) -> bool:
    values = node.variables.get(name, ()) if node is not None else ()
    return any(value != UNKNOWN and not value.endswith("()") for value in values)


def _type_around(node: _Node | None) -> _Node | None:
    return next((one for one in _around(node) if one.is_type), None)


def _source(node: _Node | None) -> str:
    return next((one.name for one in _around(node) if one.definition.kind != IMPL), "")


def _id(found: _Node | _Module) -> str:
    return found.path if isinstance(found, _Module) else found.id
