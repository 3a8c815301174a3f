"""Which file an import statement means, by the rules of its language."""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

MANIFESTS = {"go": "go.mod", "rust": "Cargo.toml"}
"""The files that name the packages of a family of languages."""

_GO_MODULE = re.compile(r'^module\s+"?([^\s"]+)', re.MULTILINE)
_CRATE_ROOTS = frozenset({"lib.rs", "main.rs"})
_CRATE_FOLDERS = frozenset({"bin", "tests", "examples", "benches"})
_RUST = ("rs",)
_ROOTS = ("src/", "lib/", "python/")
_INDEX = "index"
_SCRIPTS = ("ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs")
_PYTHON = ("py", "pyi")
_PACKAGE = "__init__"


class Modules:
    """The files of one family of languages, by their names in import statements."""

    def __init__(
        self,
        family: str,
        paths: Collection[str],
        root_name: str = "",
        manifests: Mapping[str, str] | None = None,
    ) -> None:
        """Index *paths* of a repository; *root_name* is its name if its root is a package.

        *manifests* are the texts of files such as `go.mod`, by their paths.
        """
        self._family = family
        texts = sorted((manifests or {}).items())
        self._paths = frozenset(paths)
        self._root_name = root_name
        self._folders: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(paths):
            self._folders[posixpath.dirname(path)].append(path)
        self._by_name = self._names() if family == "python" else {}
        self._go_modules = _read_go_modules(texts) if family == "go" else {}
        self._crates = _Crates(self._paths, texts) if family == "rust" else None

    def _names(self) -> Mapping[str, str]:
        """Return the files of Python by the dotted name under which they are imported."""
        found: dict[str, str] = {}
        for path in sorted(self._paths, key=lambda path: (path.endswith(".pyi"), path)):
            top = self._package_root(path)
            # A lone script in some folder is known only there.
            is_lone = "/" in path and top == f"{posixpath.dirname(path)}/"
            roots = [] if is_lone else [top, *(root for root in _ROOTS if path.startswith(root))]
            if top or "/" not in path:
                roots.append("")
            for root in roots:
                parts = path.removeprefix(root).rpartition(".")[0].split("/")
                if parts[-1] == _PACKAGE:
                    parts.pop()
                if not root and self._root_name and f"{_PACKAGE}.py" in self._paths:
                    parts.insert(0, self._root_name)
                name = ".".join(parts)
                if name or is_lone:
                    found.setdefault(name, path)
        return found

    def _package_root(self, path: str) -> str:
        """Return the folder of the outermost package of *path*, with a slash, "" for the root."""
        folder = posixpath.dirname(path)
        while folder and f"{folder}/{_PACKAGE}.py" in self._paths:
            folder = posixpath.dirname(folder)
        return f"{folder}/" if folder else ""

    def resolve_import(self, module: str, importer: str) -> list[str]:
        """Return the paths that the *module* of an import statement in *importer* means.

        These are one file, or for Go all files of a folder; none for a module outside the code.
        """
        if self._family == "python":
            found = self._python(module, importer)
        elif self._family == "javascript":
            found = self._javascript(module, importer)
        elif self._crates is not None:
            found = self._crates.resolve(module, importer)
        else:
            return self._go(module) if self._family == "go" else []
        return [found] if found else []

    def siblings(self, path: str) -> list[str]:
        return self._folders[posixpath.dirname(path)]

    def submodule(self, path: str, name: str) -> str | None:
        """Return the module called *name* in the package with the file *path*."""
        if self._crates is not None:
            return self._crates.resolve(f"self.{name}", path)
        stem = f"{posixpath.dirname(path)}/{name}".lstrip("/")
        is_package = posixpath.basename(path).startswith(f"{_PACKAGE}.")
        return self._first(stem, _PYTHON, _PACKAGE) if is_package else None

    def _python(self, module: str, importer: str) -> str | None:
        if not module.startswith("."):
            beside = posixpath.join(posixpath.dirname(importer), module.replace(".", "/"))
            is_script = self._package_root(importer).rstrip("/") == posixpath.dirname(importer)
            local = self._first(beside, _PYTHON, _PACKAGE) if is_script else None
            return local or self._by_name.get(module)
        name = module.lstrip(".")
        folder = posixpath.dirname(importer)
        for _ in range(len(module) - len(name) - 1):
            folder = posixpath.dirname(folder)
        return self._first(posixpath.join(folder, name.replace(".", "/")), _PYTHON, _PACKAGE)

    def _javascript(self, module: str, importer: str) -> str | None:
        if not module.startswith("."):
            return None
        stem = posixpath.normpath(posixpath.join(posixpath.dirname(importer), module))
        if stem in self._paths:
            return stem
        # TypeScript imports `./a.js` for `./a.ts`.
        bare, end = posixpath.splitext(stem)
        bare = bare if end in {".js", ".mjs", ".cjs"} else stem
        return self._first(stem, _SCRIPTS, _INDEX) or self._first(bare, _SCRIPTS, _INDEX)

    def _first(self, stem: str, suffixes: Collection[str], index: str) -> str | None:
        stem = stem.strip("/")
        files = (f"{stem}.{suffix}" for suffix in suffixes) if stem else ()
        inner = (f"{stem}/{index}.{suffix}".lstrip("/") for suffix in suffixes)
        return next((path for path in (*files, *inner) if path in self._paths), None)

    def _go(self, module: str) -> list[str]:
        """Return the files of a package, by the paths in the files `go.mod`."""
        parts = module.split("/")
        for end in range(len(parts), 0, -1):
            root = self._go_modules.get("/".join(parts[:end]))
            if root is not None:
                folder = posixpath.join(root, *parts[end:])
                return self._folders.get(folder, [])
        return []


def _read_go_modules(manifests: Collection[tuple[str, str]]) -> dict[str, str]:
    """Return the folders of Go modules by the paths that they are imported by."""
    named = ((path, _GO_MODULE.search(text)) for path, text in manifests)
    return {found[1]: posixpath.dirname(path) for path, found in named if found}


class _Crates:
    """The modules of Rust by their crate and path."""

    def __init__(self, paths: Collection[str], manifests: Collection[tuple[str, str]]) -> None:
        # The files that crates begin with, and the names of the libraries among them.
        self._roots: dict[str, str] = {}
        self._libraries: dict[str, str] = {}
        for path, text in manifests:
            self._read_manifest(posixpath.dirname(path), text)
        # A manifest can name files that are not there.
        self._roots = {root: one for root, one in self._roots.items() if root in paths}
        self._libraries = {one: root for one, root in self._libraries.items() if root in paths}
        for path in paths:
            folder, name = posixpath.split(path)
            if name in _CRATE_ROOTS or posixpath.basename(folder) in _CRATE_FOLDERS:
                self._roots.setdefault(path, folder)
        # The file that the crate begins with, its folder, and the path of the module.
        self._homes: dict[str, tuple[str, str, str]] = {}
        self._modules: dict[tuple[str, str], str] = {}
        folders: defaultdict[str, list[str]] = defaultdict(list)
        for root, folder in self._roots.items():
            folders[folder].append(root)
        for path in sorted(paths):
            self._place(path, folders)

    def _read_manifest(self, folder: str, text: str) -> None:
        try:
            facts = tomllib.loads(text)
        except (ValueError, RecursionError):
            return
        library = _table(facts, "lib")
        name = library.get("name") or _table(facts, "package").get("name")
        place = library.get("path") or "src/lib.rs"
        if isinstance(name, str) and isinstance(place, str):
            root = posixpath.normpath(posixpath.join(folder, place))
            self._libraries[name.replace("-", "_")] = root
            self._roots[root] = posixpath.dirname(root)
        for key in ("bin", "test", "example", "bench"):
            targets = facts.get(key)
            for one in targets if isinstance(targets, list) else ():
                place = one.get("path") if isinstance(one, dict) else None
                if isinstance(place, str):
                    root = posixpath.normpath(posixpath.join(folder, place))
                    self._roots[root] = posixpath.dirname(root)

    def _place(self, path: str, folders: Mapping[str, list[str]]) -> None:
        """Note the crate and the path of the module in the file *path*."""
        stem = path.rpartition(".")[0]
        if path in self._roots:
            crate, folder, parts = path, self._roots[path], list[str]()
        else:
            folder = posixpath.dirname(path)
            while folder and folder not in folders:
                folder = posixpath.dirname(folder)
            # A library goes before a program beside it; without either, a folder is a crate.
            crate = min(folders.get(folder, [f"{folder}/"]))
            if folder not in folders and path.startswith("src/"):
                folder = "src"
            parts = stem.removeprefix(f"{folder}/" if folder else "").split("/")
            if parts[-1] == "mod":
                parts.pop()
        self._homes[path] = crate, folder, ".".join(parts)
        if parts:
            self._modules.setdefault((folder, ".".join(parts)), path)

    def resolve(self, module: str, importer: str) -> str | None:
        """Return the file of a *module* that is named in the file *importer*."""
        crate, folder, here = self._homes[importer]
        first, _, rest = module.partition(".")
        if first == "crate":
            return self._find_file(folder, rest, crate)
        if first in {"self", "super"}:
            while first in {"self", "super"}:
                here = here.rpartition(".")[0] if first == "super" else here
                module = module.partition(".")[2]
                first = module.partition(".")[0]
            path = ".".join(filter(None, (here, module)))
            return self._find_file(folder, path, crate)
        inner = self._modules.get((folder, ".".join(filter(None, (here, module)))))
        if inner is None and first in self._libraries:
            root = self._libraries[first]
            return self._find_file(self._roots[root], rest, root)
        return inner

    def _find_file(self, folder: str, path: str, root: str) -> str | None:
        """Return the file of the module at *path* in a crate that begins with the file *root*."""
        found = self._modules.get((folder, path)) if path else root
        return found if found in self._homes else None


def _table(facts: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = facts.get(key)
    return found if isinstance(found, dict) else {}
