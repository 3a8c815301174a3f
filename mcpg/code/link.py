"""Link the uses of names in source files to the symbols that they mean.

Names are looked up as their language does it: in the functions and types around the use, in the
file, among its imports, in its package. The type of a receiver comes from its annotation, or from
the constructor or annotated function of its value. A method of an unknown receiver is linked only
if a single method has its name, as a guess.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mcpg.code.expressions import UNKNOWN
from mcpg.code.facts import (
    CREATES,
    IMPL,
    IMPLICIT_SELF,
    NAMES_TYPE,
    SCOPES,
    SELF,
    NameUse,
    SourceFacts,
)
from mcpg.code.imports import EVERYTHING, GLOBAL, Import
from mcpg.code.languages import GRAMMARS
from mcpg.code.model import CodeEdge, CodeEdgeKind, CodeFile, Symbol, SymbolKind
from mcpg.code.modules import Modules
from mcpg.code.scopes import (
    DEEPEST,
    CodeModule,
    ScopeNode,
    around,
    edge_kind,
    find_scope,
    find_values,
    node_id,
    outer_name,
    symbol_around,
    type_around,
)
from mcpg.text import split_words

_BASE = frozenset({"super", "super()", "base"})
_MOST_BASES = 64
_GUESSABLE_WORDS = 2
# Languages in which files share the names of a package or namespace.
_PACKAGED = frozenset({"csharp", "go", "java"})
# Languages in which a receiver may be a name without an import statement.
_BY_NAME = _PACKAGED | {"rust"}
# Languages in which the names of a namespace may be known by a setting of the project.
_GUESSED_TYPES = frozenset({"csharp", "rust"})
_TYPE_USES = frozenset({CREATES, NAMES_TYPE, "inherits"})


class Instance(NamedTuple):
    """A value of a known type."""

    type: ScopeNode


_Meaning = ScopeNode | CodeModule | Instance | None


def link(
    facts: Mapping[str, tuple[str, SourceFacts]],
    home: tuple[str, str],
    root_name: str = "",
    manifests: Mapping[str, str] | None = None,
) -> list[CodeFile]:
    """Link the facts of files, with the grammar of each by its path, to each other.

    *home* is common to all files: repository and branch; *root_name* is the folder with them;
    *manifests* are the texts of files such as `go.mod` by their paths.
    """
    linker = _Linker(facts, root_name, manifests or {})
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
            if one.kind != IMPL and one.kind not in SCOPES
        )
        edges, lines = tuple(linker.edges(module)), module.facts.lines
        language = GRAMMARS[module.grammar].shown or module.grammar
        files.append(CodeFile(module.path, language, *home, lines, symbols, edges))
    return files


class _Linker:
    """All files, and the names in them."""

    def __init__(
        self,
        facts: Mapping[str, tuple[str, SourceFacts]],
        root_name: str,
        manifests: Mapping[str, str],
    ) -> None:
        self.modules = [CodeModule(path, *facts[path]) for path in sorted(facts)]
        self._by_path = {module.path: module for module in self.modules}
        paths: defaultdict[str, list[str]] = defaultdict(list)
        for module in self.modules:
            paths[module.family].append(module.path)
        self._places = {
            family: Modules(family, found, root_name, manifests) for family, found in paths.items()
        }
        self._methods: defaultdict[tuple[str, str], list[ScopeNode]] = defaultdict(list)
        self._types: defaultdict[tuple[str, str], list[ScopeNode]] = defaultdict(list)
        self._files: dict[tuple[str, str], list[CodeModule]] = {}
        self._values: dict[int, _Meaning] = {}
        self._globals: dict[tuple[str, str], _Meaning] = {}
        self._lineages: dict[ScopeNode, list[ScopeNode]] = {}
        self._open_lineages = 0
        self._packages: defaultdict[tuple[str, str], dict[str, dict[str, ScopeNode]]]
        self._packages = defaultdict(dict)
        self._global_stars: list[str] = []
        for module in self.modules:
            self._note_package(module)
        # Many of them name no namespace of the code.
        names = dict.fromkeys(self._global_stars)
        self._global_stars = [name for name in names if ("csharp", name) in self._packages]
        self._join_parts()
        for module in self.modules:
            self._adopt(module)
            self._name(module)

    def _note_package(self, module: CodeModule) -> None:
        """Note the names that a file adds to its package, by the folders that the file is in."""
        for node in module.nodes:
            if node.is_type and node.definition.name and node.definition.kind != IMPL:
                self._types[module.family, node.definition.name].append(node)
        if module.family not in _PACKAGED:
            return
        names = self._packages[module.family, module.package]
        for name, node in module.top.items():
            held = names.setdefault(name, {})
            folder = module.folder
            held.setdefault(folder, node)
            while folder:
                folder = folder.rpartition("/")[0]
                held.setdefault(folder, node)
        for one in module.facts.imports:
            if one.name == GLOBAL:
                self._global_stars.append(one.module)
            elif module.family == "go" and one.local == "" and one.owner < 0:
                # Files of a package declare its name.
                files = self._find_modules(one.module, module)
                name = files[0].facts.package if files else one.module.rpartition("/")[2]
                module.imports[name] = (one.module, "")

    def _join_parts(self) -> None:
        """Give each part of a partial type of C# the members of all parts."""
        parts: defaultdict[tuple[str, str], list[ScopeNode]] = defaultdict(list)
        for (family, _), found in self._types.items():
            for node in found if family == "csharp" and len(found) > 1 else ():
                parts[node.module.package, outer_name(node)].append(node)
        for first, *others in parts.values():
            for node in others:
                for name, member in node.members.items():
                    first.members.setdefault(name, member)
                for name, values in node.fields.items():
                    first.fields.setdefault(name, values)
                first.bases += node.bases
                node.members, node.fields, node.bases = first.members, first.fields, first.bases

    def _adopt(self, module: CodeModule) -> None:
        """Give members defined outside their type to it."""
        for node in module.nodes:
            one = node.definition
            owner = one.name if one.kind == IMPL else one.owner
            if not owner:
                continue
            found = self._evaluate(owner, node.parent, module, 0)
            if not isinstance(found, ScopeNode) or not found.is_type or found is node:
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
                # A function that is assigned to a declared field is a value of it.
                if one.name not in found.fields:
                    found.members.setdefault(one.name, node)
                node.parent = found

    def _name(self, module: CodeModule) -> None:
        """Assign unique qualified names to the nodes of a file."""
        taken: dict[str, int] = {}
        for node in module.nodes:
            one, parent = node.definition, node.parent
            name = ".".join(filter(None, (outer_name(parent) or one.owner, one.name)))
            if one.name and one.kind != IMPL:
                taken[name] = taken.get(name, 0) + 1
                name = f"{name}#{taken[name]}" if taken[name] > 1 else name
                if (parent is not None and parent.is_type) or one.owner:
                    self._methods[module.family, one.name].append(node)
            node.name = name

    def _look_up(
        self, name: str, node: ScopeNode | None, module: CodeModule, depth: int
    ) -> _Meaning:
        """Return the meaning of a bare *name* within *node*, `None` if unknown."""
        for here in around(node):
            if here.module is not module:
                break
            is_known, found = self._within(here, name, is_innermost=here is node, depth=depth)
            if is_known or (here.definition.kind == "module" and module.family == "rust"):
                return found
        return self._global(module, name, depth)

    def _within(
        self, here: ScopeNode, name: str, *, is_innermost: bool, depth: int
    ) -> tuple[bool, _Meaning]:
        """Return whether a bare *name* is bound directly in *here*, and its meaning."""
        if not here.is_type and name in here.variables:
            return True, self._value(here.variables[name], here, here.module, depth)
        if name in here.members and (is_innermost or not here.is_type):
            return True, here.members[name]
        if name in here.imports:
            source = self._outside(here, here.imports[name][0])
            return True, self._resolve_import(here.module, source, here.imports[name][1], depth)
        for star in here.stars:
            for other in self._find_modules(self._outside(here, star), here.module):
                if found := self._global(other, name, depth + 1):
                    return True, found
        is_implicit = here.is_type and here.module.family in IMPLICIT_SELF
        if is_implicit and name in here.fields:
            return True, self._value(here.fields[name], here, here.module, depth)
        member = self._find_inherited(here, name) if is_implicit else None
        return member is not None, member

    def _find_inherited(self, here: ScopeNode, name: str) -> ScopeNode | None:
        lineage = self._lineage(here)
        return next((one.members[name] for one in lineage if name in one.members), None)

    def _outside_parts(self, parts: list[str], node: ScopeNode | None) -> list[str]:
        path = ".".join(part.removesuffix("()") for part in parts)
        return (self._outside(node, path) if node is not None else path).split(".")

    @staticmethod
    def _outside(here: ScopeNode, source: str) -> str:
        """Return a path of Rust within a module inside a file as it is at the top of the file."""
        levels = sum(one.definition.kind == "module" for one in around(here))
        while levels and source.partition(".")[0] == "super":
            source = source.partition(".")[2]
            source = source if source.partition(".")[0] == "super" else f"self.{source}".strip(".")
            levels -= 1
        return source

    def _find_apart(
        self, name: str, node: ScopeNode | None, module: CodeModule, *, is_type: bool
    ) -> ScopeNode | None:
        """Return the type, or else the non-type, that a bare *name* means within *node*."""
        for here in around(node):
            if here.module is not module:
                break
            found: _Meaning = here.members.get(name)
            if found is None and here.is_type and module.family in IMPLICIT_SELF:
                found = self._find_inherited(here, name)
            if found is None and (name in here.imports or here.stars):
                found = self._within(here, name, is_innermost=True, depth=0)[1]
            if isinstance(found, ScopeNode) and found.is_type is is_type:
                return found
            if here.definition.kind == "module" and module.family == "rust":
                return None
        meaning = self._global(module, name, 0)
        is_meant = isinstance(meaning, ScopeNode) and meaning.is_type is is_type
        return meaning if is_meant and isinstance(meaning, ScopeNode) else None

    def _global(self, module: CodeModule, name: str, depth: int) -> _Meaning:
        """Return the meaning of *name* at the top of a file, imports included."""
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
        if module.family in _PACKAGED:
            return self._find_in_packages(module, name)
        for star in module.stars:
            for other in self._find_modules(star, module):
                if other is not module and (found := self._find_exported(other, name, depth + 1)):
                    return found
        return self._submodule(module, name) if module.family == "rust" else None

    def _find_exported(self, module: CodeModule, name: str, depth: int) -> _Meaning:
        """Return the symbol that a file exports as *name*."""
        if name in module.exports:
            return self._global(module, module.exports[name], depth)
        if name == "default" and name not in module.imports:
            return None
        return self._global(module, name, depth)

    def _find_in_packages(self, module: CodeModule, name: str) -> _Meaning:
        """Return the meaning of *name* in the package of a file, or those that it imports whole."""
        found = self._in_package(module, module.package, name)
        if found is not None or module.family == "go":
            stars = module.stars if found is None else ()
            files = (self._find_modules(star, module) for star in stars)
            dotted = (self._in_package(module, one[0].package, name) for one in files if one)
            return found or next((one for one in dotted if one is not None), None)
        package = module.package if module.family == "csharp" else ""
        while package:
            package = package.rpartition(".")[0]
            found = self._in_package(module, package, name)
            if found is not None:
                return found
        stars = [*module.stars, *(self._global_stars if module.family == "csharp" else ())]
        for star in stars:
            found = self._in_package(module, star, name)
            if found is None and (outer := self._find_qualified(module, star)) is not None:
                found = outer.members.get(name)
            if found is not None:
                return found
        return None

    def _in_package(self, module: CodeModule, package: str, name: str) -> ScopeNode | None:
        """Return the node with *name* in a package, the nearest to a file if several have it."""
        held = self._packages.get((module.family, package), {}).get(name)
        if held is None:
            return None
        folder = module.folder
        while folder and folder not in held:
            folder = folder.rpartition("/")[0]
        return held.get(folder) or next(iter(held.values()))

    def _find_qualified(self, module: CodeModule, name: str) -> ScopeNode | None:
        """Return the meaning of a dotted *name* that begins with a package."""
        parts = name.split(".")
        for end in range(len(parts) - 1, -1, -1):
            found = self._in_package(module, ".".join(parts[:end]), parts[end])
            for part in parts[end + 1 :] if found is not None else ():
                found = found.members.get(part) if found is not None else None
            if found is not None:
                return found
        return None

    def _resolve_import(self, module: CodeModule, source: str, name: str, depth: int) -> _Meaning:
        if module.family in IMPLICIT_SELF:
            return self._find_qualified(module, f"{source}.{name}".strip("."))
        files = self._find_modules(source, module)
        if module.family == "rust":
            return self._resolve_path(module, [*source.split("."), name], depth)
        if not files:
            # A package that has no file of its own may have modules.
            joint = "" if source.endswith(".") else "."
            inner = self._find_modules(f"{source}{joint}{name}", module) if name else []
            return next(iter(inner), None)
        if not name:
            return files[0]
        found_name = self._find_exported(files[0], name, depth + 1)
        return found_name or self._submodule(files[0], name)

    def _resolve_path(self, module: CodeModule, parts: list[str], depth: int) -> _Meaning:
        """Return the meaning of a path of Rust at the top of a file."""
        parts = [part for part in parts if part]
        for end in range(len(parts), 0, -1):
            files = self._find_modules(".".join(parts[:end]), module)
            found: _Meaning = files[0] if files else None
            if end == 1 and found is None and depth <= DEEPEST and len(parts) > 1:
                found = self._global(module, parts[0], depth + 1)
            for part in parts[end:] if found is not None else ():
                found = self._named_in(found, part, depth + 1) if found is not None else None
            if found is not None:
                return found
        return None

    def _submodule(self, package: CodeModule, name: str) -> CodeModule | None:
        path = self._places[package.family].submodule(package.path, name)
        return self._by_path.get(path or "")

    def _find_modules(self, source: str, module: CodeModule) -> list[CodeModule]:
        key = (source, module.path)
        known = self._files.get(key)
        if known is None:
            paths = self._places[module.family].resolve_import(source, module.path)
            known = [self._by_path[path] for path in paths]
            if module.family == "go":
                # Without the tests of a package, and its excluded files.
                names = [one for one in known if not one.path.endswith("_test.go")]
                known = names or known
            self._files[key] = known
        return known

    def _value(
        self, values: list[str], node: ScopeNode | None, module: CodeModule, depth: int
    ) -> _Meaning:
        """Return the common type of all *values* of a variable."""
        # Each variable is examined once, and meanwhile it has no type: circles end.
        key = id(values)
        if key not in self._values:
            self._values[key] = None
            found = {self._evaluate(value, node, module, depth + 1) for value in values}
            self._values[key] = found.pop() if len(found) == 1 else None
        return self._values[key]

    def _evaluate(
        self, text: str, node: ScopeNode | None, module: CodeModule, depth: int
    ) -> _Meaning:
        """Return the meaning of the plain expression *text*; of a value, its type."""
        if text == UNKNOWN or depth > DEEPEST:
            return None
        parts = text.split(".")
        found, rest = self._first_part(parts, node, module, depth)
        for part in rest:
            if found is None:
                return None
            name = part.removesuffix("()")
            found = self._named_in(self._content(found, depth) or found, name, depth)
            found = self._resolve_call(found, depth) if name != part else found
        return self._content(found, depth)

    def _content(self, found: _Meaning, depth: int) -> _Meaning:
        """Return the type of the value of a constant, and anything else as it is."""
        if not isinstance(found, ScopeNode) or found.definition.kind != "constant":
            return found
        returns = found.definition.returns
        if found.members or returns == UNKNOWN:
            return found
        return self._evaluate(returns, found.parent, found.module, depth + 1)

    def _first_part(
        self, parts: list[str], node: ScopeNode | None, module: CodeModule, depth: int
    ) -> tuple[_Meaning, list[str]]:
        first = parts[0]
        if first in SELF[module.family]:
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
        if module.family == "rust" and first in {"crate", "self", "super"}:
            return self._resolve_path(module, self._outside_parts(parts, node), depth), []
        name = first.removesuffix("()")
        if name != first:
            return self._resolve_call(self._find_called(name, node, module, depth), depth), parts[
                1:
            ]
        found = self._look_up(name, node, module, depth)
        is_package = found is None and module.family in IMPLICIT_SELF
        return self._first_qualified(parts, module) if is_package else (found, parts[1:])

    def _find_called(
        self, name: str, node: ScopeNode | None, module: CodeModule, depth: int
    ) -> _Meaning:
        """Return the target of a call of *name*: a method, or the type of a new object."""
        if module.family not in IMPLICIT_SELF:
            return self._look_up(name, node, module, depth)
        method = self._find_apart(name, node, module, is_type=False)
        return method or self._find_apart(name, node, module, is_type=True)

    def _first_qualified(self, parts: list[str], module: CodeModule) -> tuple[_Meaning, list[str]]:
        """Return the meaning of the shortest part of a dotted name that begins with a package."""
        for end in range(1, len(parts)):
            package = ".".join(parts[:end])
            found = self._in_package(module, package, parts[end].removesuffix("()"))
            if found is not None:
                return found, parts[end + 1 :]
        return None, []

    def _named_in(
        self, owner: ScopeNode | CodeModule | Instance, name: str, depth: int
    ) -> _Meaning:
        owner = owner.type if isinstance(owner, Instance) else owner
        if isinstance(owner, CodeModule) or owner.definition.kind == "module":
            return self._named_in_module(owner, name, depth)
        for one in self._lineage(owner) if owner.is_type else ():
            if name in one.members:
                return one.members[name]
            if name in one.fields:
                return self._value(one.fields[name], one, one.module, depth)
            if owner.module.family == "go" and one.definition.name == name:
                return Instance(one)  # an embedded type is a field with its name
        return None

    def _named_in_module(self, owner: ScopeNode | CodeModule, name: str, depth: int) -> _Meaning:
        if isinstance(owner, ScopeNode):
            return owner.members.get(name)
        if owner.family == "go":
            return self._in_package(owner, owner.package, name)
        return self._find_exported(owner, name, depth + 1) or self._submodule(owner, name)

    def _find_member(self, owner: ScopeNode | CodeModule | Instance, name: str) -> _Meaning:
        """Return the symbol that is called *name* in a type or file; fields don't count."""
        owner = owner.type if isinstance(owner, Instance) else owner
        if isinstance(owner, CodeModule) or owner.definition.kind == "module":
            return self._named_in_module(owner, name, 0)
        for one in self._lineage(owner) if owner.is_type else ():
            # In Python, a field may be set through a property of a base.
            if name in one.members or (name in one.fields and owner.module.family != "python"):
                return one.members.get(name)
        return None

    def _resolve_call(self, found: _Meaning, depth: int) -> _Meaning:
        """Return the result of a call of *found*."""
        if not isinstance(found, ScopeNode):
            return found if isinstance(found, CodeModule) else None
        if found.is_type:
            return Instance(found)
        returns = found.definition.returns
        if returns == UNKNOWN or depth > DEEPEST:
            return None
        if returns in SELF[found.module.family]:
            outer = type_around(found)
            return Instance(outer) if outer is not None else None
        result = self._evaluate(returns, found.parent, found.module, depth + 1)
        is_type = isinstance(result, ScopeNode) and result.is_type
        return Instance(result) if is_type and isinstance(result, ScopeNode) else None

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
        lines = self._lines_of_uses(module)
        for one in module.facts.imports:
            if one.module:
                name, is_external = self._find_import_target(one, module)
                lines[CodeEdgeKind.IMPORTS, "", name, is_external, False].add(one.line)
        # A call on the same line is also a reference.
        strong: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        for key, found in lines.items():
            if key[0] is not CodeEdgeKind.REFERENCES:
                strong[key[1:3]] |= found
        for key in sorted(lines):
            shown = lines[key]
            if key[0] is CodeEdgeKind.REFERENCES:
                shown = shown - strong[key[1:3]]
            if shown:
                yield CodeEdge(*key[:3], tuple(sorted(shown)), *key[3:])

    def _lines_of_uses(
        self, module: CodeModule
    ) -> defaultdict[tuple[CodeEdgeKind, str, str, bool, bool], set[int]]:
        """Return the lines of the uses of names by kind, source, target and certainty."""
        lines: defaultdict[tuple[CodeEdgeKind, str, str, bool, bool], set[int]] = defaultdict(set)
        for use in module.facts.uses:
            node = module.nodes[use.owner] if use.owner >= 0 else None
            target, is_guess = self._target(use, node, module)
            kind = edge_kind(use, node)
            source = symbol_around(node)
            if isinstance(target, Instance) or (
                isinstance(target, CodeModule) and kind is CodeEdgeKind.REFERENCES
            ):
                continue  # a value is not a symbol, and an edge of its import leads to a module
            if target is not None and (target is not source or kind is CodeEdgeKind.CALLS):
                name = source.name if source is not None else ""
                lines[kind, name, node_id(target), False, is_guess].add(use.line)
        return lines

    def _find_import_target(self, one: Import, module: CodeModule) -> tuple[str, bool]:
        """Return the id of the target of an import, or its name if it is outside the code."""
        is_whole = one.local == EVERYTHING
        source, name = one.module, "" if is_whole else one.name
        if one.owner >= 0:
            source = self._outside(module.nodes[one.owner], source)
        meant = self._resolve_import(module, source, name, 0)
        if meant is None or isinstance(meant, Instance):
            meant = next(iter(self._find_modules(source, module)), None)
        if meant is not None:
            return node_id(meant), False
        is_joined = name and module.family != "javascript"
        outside = f"{one.module}.{name}" if is_joined else one.module
        return outside.strip(".") or one.module or one.name, True

    def _target(
        self, use: NameUse, node: ScopeNode | None, module: CodeModule
    ) -> tuple[_Meaning, bool]:
        """Return the meaning of a use, and whether it is guessed from the name."""
        if not use.receiver:
            found = self._find_bare_target(use, node, module)
            if found is None and use.kind in _TYPE_USES and module.family in _GUESSED_TYPES:
                return self._only(self._types, use.name, module), True
            return found, False
        owner = self._evaluate(use.receiver, find_scope(use, node), module, 0)
        if owner is not None:
            member = self._find_member(owner, use.name)
            is_type = isinstance(member, ScopeNode) and member.is_type
            return (None if use.kind == NAMES_TYPE and not is_type else member), False
        if module.family in IMPLICIT_SELF and use.kind != CodeEdgeKind.CALLS:
            return self._find_qualified(module, f"{use.receiver}.{use.name}"), False
        if use.kind != CodeEdgeKind.CALLS or self._is_foreign(use.receiver, node, module):
            return None, False
        return self._only(self._methods, use.name, module), True

    @staticmethod
    def _only(
        named: Mapping[tuple[str, str], list[ScopeNode]], name: str, module: CodeModule
    ) -> ScopeNode | None:
        """Return the only definition called *name*, if the name is not a common word."""
        found = named.get((module.family, name), [])
        is_telling = len(list(split_words(name))) >= _GUESSABLE_WORDS
        is_sure = len(found) == 1 and is_telling and not name.startswith("_")
        return found[0] if is_sure and name not in module.imports else None

    def _find_bare_target(
        self, use: NameUse, node: ScopeNode | None, module: CodeModule
    ) -> _Meaning:
        """Return the meaning of a name that is used without a receiver."""
        scope = find_scope(use, node)
        if use.kind in _TYPE_USES and module.family != "python":
            found = self._find_apart(use.name, scope, module, is_type=True)
            if found is None and module.family == "csharp":
                # An attribute is mostly called without the end of its name.
                name = use.name.removesuffix("Attribute")
                found = self._find_apart(name, scope, module, is_type=True)
            return found
        if use.kind == CodeEdgeKind.CALLS and module.family in IMPLICIT_SELF:
            return self._find_apart(use.name, scope, module, is_type=False)
        return self._look_up(use.name, scope, module, 0)

    def _is_foreign(self, receiver: str, node: ScopeNode | None, module: CodeModule) -> bool:
        """Return whether a receiver, or the type of it, is named and is not in the code."""
        parts = receiver.replace("()", "").split(".")
        first = parts[1] if parts[0] in SELF[module.family] and len(parts) > 1 else parts[0]
        if first in module.imports:
            return True
        values = find_values(first, node, module)
        heads = {value.partition(".")[0].removesuffix("()") for value in values} - {UNKNOWN}
        if not values and module.family in _BY_NAME and first[:1].isupper():
            heads = {first}
        return bool(heads) and not any(
            one in SELF[module.family]
            or find_values(one, node, module)
            or self._look_up(one, node, module, 0) is not None
            for one in heads
        )
