"""Link the uses of names in source files to the symbols that they mean.

Names are looked up as their language does it: in the functions and types around the use, in the
file, among its imports, in its package. The type of a receiver is that of its annotation, or of the
constructor or annotated function that its value comes from. A method of an unknown receiver is
linked only where one method alone has its name, as a guess.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mcpg.code.extract import CREATES, EVERYTHING, IMPL, UNKNOWN, Definition, NameUse, SourceFacts
from mcpg.code.languages import GRAMMARS, Modules
from mcpg.code.model import SEPARATOR, CodeEdge, CodeEdgeKind, CodeFile, Symbol, SymbolKind
from mcpg.text import split_words

CONTAINERS = frozenset({"class", "enum", "interface", "struct", "trait", "type", IMPL})
"""The kinds of definitions that have members."""

DEEPEST = 12
"""How far names, types and scopes are followed."""

_MOST_LEVELS = 100


@dataclass(slots=True, eq=False)
class ScopeNode:
    """A definition with what stands in it."""

    definition: Definition
    module: CodeModule
    parent: ScopeNode | None
    name: str = ""
    members: dict[str, ScopeNode] = field(default_factory=dict)
    bases: list[NameUse] = field(default_factory=list)
    fields: dict[str, list[str]] = field(default_factory=dict)
    variables: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_type(self) -> bool:
        return self.definition.kind in CONTAINERS


@dataclass(slots=True, eq=False)
class CodeModule:
    """A file with what stands at its top."""

    path: str
    grammar: str
    facts: SourceFacts
    nodes: list[ScopeNode] = field(default_factory=list)
    top: dict[str, ScopeNode] = field(default_factory=dict)
    variables: dict[str, list[str]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    @property
    def family(self) -> str:
        return GRAMMARS[self.grammar].family

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]


def around(node: ScopeNode | None) -> Iterator[ScopeNode]:
    """Return *node* and those around it; a member can stand in a type that stands in it."""
    for _ in range(_MOST_LEVELS):
        if node is None:
            return
        yield node
        node = node.parent


def find_values(name: str, node: ScopeNode | None, module: CodeModule) -> list[str]:
    """Return the values of the variable or field that *name* may be within *node*."""
    for here in around(node):
        found = (here.fields if here.is_type else here.variables).get(name)
        if found:
            return found
    return module.variables.get(name, [])


def outer_name(node: ScopeNode | None) -> str:
    """Return the qualified name of *node*, "" for none."""
    names: list[str] = []
    while node is not None and len(names) < DEEPEST:
        names.append(node.definition.name)
        node = node.parent
    return ".".join(reversed(names))


def type_around(node: ScopeNode | None) -> ScopeNode | None:
    """Return the innermost type around *node*, itself included."""
    return next((one for one in around(node) if one.is_type), None)


def _find_scope(use: NameUse, node: ScopeNode | None) -> ScopeNode | None:
    """Return where the name of a use is looked up: that of a base type, around the type."""
    return node.parent if use.kind == CodeEdgeKind.INHERITS and node is not None else node


def node_id(found: ScopeNode | CodeModule) -> str:
    """Return the id of a symbol, or the path of a file."""
    if isinstance(found, CodeModule):
        return found.path
    return f"{found.module.path}{SEPARATOR}{found.name}"


_SELF = frozenset({"self", "this", "cls", "Self"})
_BASE = frozenset({"super", "super()", "base"})
_MOST_BASES = 64
_GUESSABLE_WORDS = 2
# Languages where a bare name can be a member of the type around it.
_IMPLICIT_SELF = frozenset({"csharp", "java"})
# Languages where a name in another file may be meant that no import statement names in full.
_BY_NAME = frozenset({"csharp", "go", "java", "rust"})
# Languages where a later definition of a name is one more, and does not replace the first.
_OVERLOADED = frozenset({"csharp", "java"})


_Meaning = ScopeNode | CodeModule | None


def link(
    facts: Mapping[str, tuple[str, SourceFacts]], home: tuple[str, str], root_name: str = ""
) -> list[CodeFile]:
    """Link the facts of files, with the grammar of each by its path, to each other.

    *home* has what the files have in common; *root_name* is the folder that holds them.
    """
    linker = _Linker(facts, root_name)
    files: list[CodeFile] = []
    for module in linker.modules:
        symbols = tuple(
            Symbol(
                node.name,
                SymbolKind(one.kind),
                one.first,
                one.last,
                one.signature,
                one.documentation,
            )
            for node, one in zip(module.nodes, module.facts.definitions, strict=True)
            if one.kind != IMPL
        )
        edges, lines = tuple(linker.edges(module)), module.facts.lines
        language = GRAMMARS[module.grammar].shown or module.grammar
        files.append(CodeFile(module.path, language, *home, lines, symbols, edges))
    return files


class _Linker:
    """All files, and the names in them."""

    def __init__(self, facts: Mapping[str, tuple[str, SourceFacts]], root_name: str) -> None:
        self.modules = [CodeModule(path, *facts[path]) for path in sorted(facts)]
        self._by_path = {module.path: module for module in self.modules}
        families = {module.family for module in self.modules}
        self._places = {
            family: Modules(
                family, [one.path for one in self.modules if one.family == family], root_name
            )
            for family in families
        }
        self._types: defaultdict[tuple[str, str], list[ScopeNode]] = defaultdict(list)
        self._methods: defaultdict[tuple[str, str], list[ScopeNode]] = defaultdict(list)
        self._files: dict[tuple[str, str], list[CodeModule]] = {}
        self._values: dict[int, _Meaning] = {}
        self._globals: dict[tuple[str, str], _Meaning] = {}
        self._lineages: dict[ScopeNode, list[ScopeNode]] = {}
        self._open_lineages = 0
        self._tops: defaultdict[tuple[str, str], list[ScopeNode]] = defaultdict(list)
        for module in self.modules:
            self._place_definitions(module)
            self._note_names(module)
        self._join_parts()
        for module in self.modules:
            self._adopt(module)
            self._name(module)

    def _place_definitions(self, module: CodeModule) -> None:
        """Make the nodes of a file, known by their names where they stand."""
        for one in module.facts.definitions:
            parent = module.nodes[one.parent] if one.parent >= 0 else None
            node = ScopeNode(one, module, parent)
            module.nodes.append(node)
            if one.owner or one.kind == IMPL:
                continue
            held = module.top if parent is None else parent.members
            if one.name not in held or module.family not in _OVERLOADED:
                held[one.name] = node
            if parent is None:
                self._tops[module.family, one.name].append(node)
            if node.is_type:
                self._types[module.family, one.name].append(node)

    @staticmethod
    def _note_names(module: CodeModule) -> None:
        """Note what a file imports, the bases of its types, its variables and fields."""
        for local, name, imported, _ in module.facts.imports:
            if local == EVERYTHING:
                module.stars.append(name)
            elif local:
                module.imports[local] = (name, imported)
        for use in module.facts.uses:
            if use.kind == CodeEdgeKind.INHERITS and use.owner >= 0:
                module.nodes[use.owner].bases.append(use)
        for owner, name, value in module.facts.variables:
            node = module.nodes[owner] if owner >= 0 else None
            field_name = name.removeprefix("self.")
            if field_name != name:
                node = type_around(node)
                held = {} if node is None else node.fields
            elif node is None:
                held = module.variables
            else:
                held = node.fields if node.is_type else node.variables
            held.setdefault(field_name, []).append(value)

    def _join_parts(self) -> None:
        """Give each part of a partial type of C# the members of all parts."""
        parts: defaultdict[tuple[str, str], list[ScopeNode]] = defaultdict(list)
        for (family, _), found in self._types.items():
            for node in found if family == "csharp" and len(found) > 1 else ():
                parts[node.module.facts.package, outer_name(node)].append(node)
        for first, *others in parts.values():
            for node in others:
                first.members.update({**node.members, **first.members})
                first.fields.update({**node.fields, **first.fields})
                first.bases += node.bases
                node.members, node.fields, node.bases = first.members, first.fields, first.bases

    def _adopt(self, module: CodeModule) -> None:
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
                if found.module is module:
                    node.parent = found
            else:
                found.members.setdefault(one.name, node)
                node.parent = found

    def _name(self, module: CodeModule) -> None:
        """Give the nodes of a file their qualified names, no two alike."""
        taken: dict[str, int] = {}
        for node in module.nodes:
            one, parent = node.definition, node.parent
            name = ".".join(filter(None, (outer_name(parent) or one.owner, one.name)))
            if one.kind != IMPL:
                taken[name] = taken.get(name, 0) + 1
                name = f"{name}#{taken[name]}" if taken[name] > 1 else name
                if (parent is not None and parent.is_type) or one.owner:
                    self._methods[module.family, one.name].append(node)
            node.name = name

    def _type_named(self, name: str, module: CodeModule) -> ScopeNode | None:
        """Return the type called *name* that is nearest to a file."""
        found = self._types.get((module.family, name), [])
        near = [node for node in found if node.module is module]
        if not near:
            near = [node for node in found if node.module.folder == module.folder]
        if not near and module.facts.package:
            near = [node for node in found if node.module.facts.package == module.facts.package]
        choice = near or found
        is_one = len({(node.module.facts.package, outer_name(node)) for node in choice}) == 1
        is_partial = module.family == "csharp" and is_one
        return choice[0] if len(choice) == 1 or near or (choice and is_partial) else None

    def _look_up(
        self, name: str, node: ScopeNode | None, module: CodeModule, depth: int
    ) -> _Meaning:
        """Return what a bare *name* means within *node*, `None` where that is not known."""
        for here in around(node):
            if here.module is not module:
                break
            is_known, found = self._within(here, name, is_innermost=here is node, depth=depth)
            if is_known:
                return found
        return self._global(module, name, depth)

    def _within(
        self, here: ScopeNode, name: str, *, is_innermost: bool, depth: int
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
        lineage = self._lineage(here)
        member = next((one.members[name] for one in lineage if name in one.members), None)
        return member is not None, member

    def _global(self, module: CodeModule, name: str, depth: int) -> _Meaning:
        """Return what *name* means at the top of a file, imports included."""
        key = (module.path, name)
        if depth > DEEPEST:
            return self._globals.get(key)
        if key not in self._globals:
            self._globals[key] = None
            self._globals[key] = self._find_at_top(module, name, depth)
        return self._globals[key]

    def _find_at_top(self, module: CodeModule, name: str, depth: int) -> _Meaning:
        if name in module.top:
            return module.top[name]
        if name in module.imports:
            return self._resolve_import(module, *module.imports[name], depth)
        if name in module.variables:
            return self._value(module.variables[name], None, module, depth)
        for star in module.stars if module.family in {"python", "javascript"} else ():
            for other in self._find_modules(star, module):
                if other is not module and (found := self._global(other, name, depth + 1)):
                    return found
        if module.family in _BY_NAME:
            return self._in_package(module, name) or self._type_named(name, module)
        return None

    def _in_package(self, module: CodeModule, name: str) -> ScopeNode | None:
        if module.family != "go":
            return None
        paths = self._places["go"].siblings(module.path)
        return next(
            (self._by_path[one].top[name] for one in paths if name in self._by_path[one].top), None
        )

    def _resolve_import(self, module: CodeModule, source: str, name: str, depth: int) -> _Meaning:
        files = self._find_modules(source, module)
        if module.family in {"csharp", "java", "rust"}:
            found = self._type_named(name, module)
            if found is None and module.family == "rust":
                tops = self._tops.get(("rust", name), [])
                found = tops[0] if len(tops) == 1 else None
            return found
        if not files:
            # A package that has no file of its own may have modules.
            joint = "" if source.endswith(".") else "."
            inner = self._find_modules(f"{source}{joint}{name}", module) if name else []
            return next(iter(inner), None)
        if not name:
            return files[0]
        if name == "default":
            # The only class of the file, or its only definition at the top.
            nodes = list(files[0].top.values())
            choice = [node for node in nodes if node.is_type] or nodes
            return choice[0] if len(choice) == 1 else None
        found_name = self._global(files[0], name, depth + 1)
        return found_name or self._submodule(files[0], name)

    def _submodule(self, package: CodeModule, name: str) -> CodeModule | None:
        path = self._places[package.family].submodule(package.path, name)
        return self._by_path.get(path or "")

    def _find_modules(self, source: str, module: CodeModule) -> list[CodeModule]:
        key = (source, module.path)
        known = self._files.get(key)
        if known is None:
            paths = self._places[module.family].resolve_import(source, module.path)
            known = self._files[key] = [self._by_path[path] for path in paths]
        return known

    def _value(
        self, values: list[str], node: ScopeNode | None, module: CodeModule, depth: int
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

    def _evaluate(
        self, text: str, node: ScopeNode | None, module: CodeModule, depth: int
    ) -> _Meaning:
        """Return what the plain expression *text* means; of a value, its type."""
        if text == UNKNOWN or depth > DEEPEST:
            return None
        parts = text.split(".")
        found, rest = self._first_part(parts, node, module, depth)
        for part in rest:
            if found is None:
                return None
            name = part.removesuffix("()")
            found = self._named_in(found, name, depth)
            found = self._resolve_call(found, depth) if name != part else found
        return found

    def _first_part(
        self, parts: list[str], node: ScopeNode | None, module: CodeModule, depth: int
    ) -> tuple[_Meaning, list[str]]:
        first = parts[0]
        if first in _SELF:
            return type_around(node), parts[1:]
        if first in _BASE:
            outer = type_around(node)
            bases = self._lineage(outer)[1:2] if outer else []
            return (bases[0] if bases else None), parts[1:]
        # `import a.b` makes `a.b` known, though `a` may have no file.
        for end in range(len(parts), 1, -1):
            name = ".".join(parts[:end])
            if name in module.imports:
                return self._resolve_import(module, *module.imports[name], depth), parts[end:]
        name = first.removesuffix("()")
        found = self._look_up(name, node, module, depth)
        return (self._resolve_call(found, depth) if name != first else found), parts[1:]

    def _named_in(self, owner: ScopeNode | CodeModule, name: str, depth: int) -> _Meaning:
        if isinstance(owner, CodeModule):
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

    def _resolve_call(self, found: _Meaning, depth: int) -> _Meaning:
        """Return the type of what calling *found* returns."""
        if not isinstance(found, ScopeNode) or found.is_type:
            return found
        returns = found.definition.returns
        if returns == UNKNOWN or depth > DEEPEST:
            return None
        if returns in _SELF:
            return type_around(found)
        result = self._evaluate(returns, found.parent, found.module, depth + 1)
        return result if isinstance(result, ScopeNode) and result.is_type else None

    def _lineage(self, node: ScopeNode) -> list[ScopeNode]:
        """Return a type and those that it inherits from, nearest first; circles end."""
        known = self._lineages.get(node)
        if known is not None:
            return known
        if self._open_lineages > DEEPEST:
            return [node]
        found = self._lineages[node] = [node]
        self._open_lineages += 1
        for one in found:
            for base in one.bases if len(found) < _MOST_BASES else ():
                text = f"{base.receiver}.{base.name}" if base.receiver else base.name
                parent = self._evaluate(text, one.parent, one.module, 0)
                if isinstance(parent, ScopeNode) and parent.is_type and parent not in found:
                    found.append(parent)
        self._open_lineages -= 1
        return found

    def edges(self, module: CodeModule) -> Iterator[CodeEdge]:
        """Return the edges that leave a file, sorted, each target once for each symbol."""
        lines: defaultdict[tuple[CodeEdgeKind, str, str, bool, bool], set[int]] = defaultdict(set)
        for use in module.facts.uses:
            node = module.nodes[use.owner] if use.owner >= 0 else None
            target, is_guess = self._target(use, node, module)
            is_call = use.kind in {CodeEdgeKind.CALLS, CREATES}
            kind = CodeEdgeKind.CALLS if is_call else CodeEdgeKind(use.kind)
            if target is not None and (target is not node or is_call):
                # The edge leaves a symbol, or the file.
                symbols = (one.name for one in around(node) if one.definition.kind != IMPL)
                lines[kind, next(symbols, ""), node_id(target), False, is_guess].add(use.line)
        for one in module.facts.imports:
            is_whole = one.name == EVERYTHING
            meant = self._resolve_import(module, one.module, "" if is_whole else one.name, 0)
            if meant is None:
                meant = next(iter(self._find_modules(one.module, module)), None)
            is_joined = one.name and not is_whole and module.family != "javascript"
            outside = f"{one.module}.{one.name}" if is_joined else one.module
            unknown = outside.strip(".") or one.module or one.name
            name = unknown if meant is None else node_id(meant)
            lines[CodeEdgeKind.IMPORTS, "", name, meant is None, False].add(one.line)
        strong = {key[1:3] for key in lines if key[0] is not CodeEdgeKind.REFERENCES}
        for key in sorted(lines):
            kind, source, name, *_ = key
            if kind is not CodeEdgeKind.REFERENCES or (source, name) not in strong:
                shown = tuple(sorted(lines[key]))
                yield CodeEdge(kind, source, name, shown, *key[3:])

    def _target(
        self, use: NameUse, node: ScopeNode | None, module: CodeModule
    ) -> tuple[_Meaning, bool]:
        if not use.receiver:
            return self._find_bare_target(use, node, module), False
        owner = self._evaluate(use.receiver, _find_scope(use, node), module, 0)
        if owner is not None:
            found = self._named_in(owner, use.name, 0)
            is_field = (
                isinstance(owner, ScopeNode)
                and isinstance(found, ScopeNode)
                and (found.definition.name != use.name)
            )
            return (None if is_field else found), False
        if use.kind != CodeEdgeKind.CALLS or self._is_foreign(use.receiver, node, module):
            return None, False
        # The one method that has the name of the call, if the name is no common word.
        methods = self._methods.get((module.family, use.name), [])
        is_telling = len(list(split_words(use.name))) >= _GUESSABLE_WORDS
        is_sure = len(methods) == 1 and is_telling and not use.name.startswith("_")
        return (methods[0] if is_sure else None), True

    def _find_bare_target(
        self, use: NameUse, node: ScopeNode | None, module: CodeModule
    ) -> _Meaning:
        """Return what a use of a name means before which nothing stands."""
        if use.kind == CREATES:
            members = (here.members.get(use.name) for here in around(node))
            inner = next((one for one in members if one is not None and one.is_type), None)
            meaning = inner or self._global(module, use.name, 0)
            is_type = isinstance(meaning, ScopeNode) and meaning.is_type
            return meaning if is_type else self._type_named(use.name, module)
        values = node.variables.get(use.name) if node is not None else None
        if values is not None and use.kind == CodeEdgeKind.REFERENCES:
            return None
        found = self._look_up(use.name, _find_scope(use, node), module, 0)
        # A variable that is called holds a class or function, or an instance of unknown type.
        is_held = values is None or any(one != UNKNOWN and not one.endswith("()") for one in values)
        return found if is_held else None

    def _is_foreign(self, receiver: str, node: ScopeNode | None, module: CodeModule) -> bool:
        """Return whether a receiver, or the type of it, is named and is not in the code."""
        parts = receiver.replace("()", "").split(".")
        first = parts[1] if parts[0] in _SELF and len(parts) > 1 else parts[0]
        if first in module.imports:
            return True
        values = find_values(first, node, module)
        heads = {value.partition(".")[0].removesuffix("()") for value in values} - {UNKNOWN}
        if not values and module.family in _BY_NAME and first[:1].isupper():
            heads = {first}
        return bool(heads) and not any(
            one in _SELF
            or find_values(one, node, module)
            or self._look_up(one, node, module, 0) is not None
            for one in heads
        )
