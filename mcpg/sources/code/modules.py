"""Which file an import statement means, by the rules of its language."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Collection, Mapping

_ROOTS = ("src/", "lib/", "python/")
_INDEX = "index"
_SCRIPTS = ("ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs")
_PYTHON = ("py", "pyi")
_PACKAGE = "__init__"


def _stem(path: str) -> str:
    return path.rpartition(".")[0]


class Modules:
    """The files of one family of languages, by what import statements call them."""

    def __init__(self, family: str, paths: Collection[str], root_name: str = "") -> None:
        """Index *paths*.

        Args:
            family: The family of languages.
            paths: Paths of its files, relative to the root of the repository.
            root_name: Name of the folder that holds them, for a root that is a package itself.
        """
        self._family = family
        self._paths = frozenset(paths)
        self._root_name = root_name
        self._folders: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(paths):
            self._folders[posixpath.dirname(path)].append(path)
        self._by_name = self._names() if family == "python" else {}
        self._by_suffix = self._suffixes() if family == "go" else {}

    def _names(self) -> Mapping[str, str]:
        """Return the files of Python by the dotted name under which they are imported."""
        found: dict[str, str] = {}
        for path in sorted(self._paths, key=lambda path: (path.endswith(".pyi"), path)):
            top = self._package_root(path)
            names = [self._dotted_name(path, top)]
            names += [self._dotted_name(path, root) for root in _ROOTS if path.startswith(root)]
            if top or "/" not in path:
                names.append(self._dotted_name(path, ""))
            # A lone script in some folder is known there alone.
            if not (top == f"{posixpath.dirname(path)}/" and "/" in path):
                for name in filter(None, names):
                    found.setdefault(name, path)
            else:
                found.setdefault(self._dotted_name(path, ""), path)
        return found

    def _package_root(self, path: str) -> str:
        """Return the folder of the outermost package of *path*, with a slash, "" for the root."""
        folder = posixpath.dirname(path)
        while folder and f"{folder}/{_PACKAGE}.py" in self._paths:
            folder = posixpath.dirname(folder)
        return f"{folder}/" if folder else ""

    def _dotted_name(self, path: str, root: str) -> str:
        parts = _stem(path.removeprefix(root)).split("/")
        if parts[-1] == _PACKAGE:
            parts.pop()
        if not root and self._root_name and f"{_PACKAGE}.py" in self._paths:
            parts.insert(0, self._root_name)
        return ".".join(parts)

    def resolve_import(self, module: str, importer: str) -> list[str]:
        """Return the paths that the *module* of an import statement in *importer* means.

        These are one file, or for Go all files of a folder; none for a module outside the code.
        """
        if self._family == "python":
            found = self._python(module, importer)
        elif self._family == "javascript":
            found = self._javascript(module, importer)
        else:
            return self._go(module) if self._family == "go" else []
        return [found] if found else []

    def siblings(self, path: str) -> list[str]:
        """Return the files of the folder of *path*."""
        return self._folders[posixpath.dirname(path)]

    def submodule(self, path: str, name: str) -> str | None:
        """Return the module called *name* in the package whose file is *path*."""
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
        # TypeScript imports `./a.js` where `./a.ts` stands.
        bare = _stem(stem) if posixpath.splitext(stem)[1] in {".js", ".mjs", ".cjs"} else stem
        return self._first(stem, _SCRIPTS, _INDEX) or self._first(bare, _SCRIPTS, _INDEX)

    def _first(self, stem: str, suffixes: Collection[str], index: str) -> str | None:
        stem = stem.strip("/")
        files = (f"{stem}.{suffix}" for suffix in suffixes) if stem else ()
        inner = (f"{stem}/{index}.{suffix}".lstrip("/") for suffix in suffixes)
        return next((path for path in (*files, *inner) if path in self._paths), None)

    def _suffixes(self) -> Mapping[str, str]:
        """Return the folders by their last segments, where these name one alone."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for folder in self._folders:
            parts = folder.split("/")
            for start in range(len(parts)):
                found["/".join(parts[start:])].add(folder)
        return {suffix: folders.pop() for suffix, folders in found.items() if len(folders) == 1}

    def _go(self, module: str) -> list[str]:
        parts = module.split("/")
        # The first segment of a package of the standard library has no dot.
        starts = range(len(parts)) if "." in parts[0] or len(parts) > 1 else ()
        suffixes = ("/".join(parts[start:]) for start in starts)
        folder = next((self._by_suffix[one] for one in suffixes if one in self._by_suffix), None)
        return self._folders[folder] if folder is not None else []
