from __future__ import annotations

from pathlib import Path

import pytest

from mcpg.cli.settings import Setting, Settings
from mcpg.errors import InputError, McpgError, NotFoundError, UsageError


def write(path: Path, text: str = "") -> Path:
    """Put *text* into a file, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """A folder two levels down."""
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    return folder


class TestPrecedence:
    """Who decides when several say something."""

    @pytest.mark.parametrize("count", range(5))
    def test_the_nearest_voice_wins(self, deep: Path, count: int) -> None:
        """Flag > environment > mcpg.toml > pyproject.toml > nothing."""
        flags = {"limit": 1} if count > 3 else {"limit": None}
        environment = {"MCPG_LIMIT": "2"} if count > 2 else {}
        if count > 1:
            write(deep.parent.parent / "mcpg.toml", "limit = 3")
        if count > 0:
            write(deep / "pyproject.toml", "[tool.mcpg]\nlimit = 4")
        found = Settings(deep, environment, flags).find("limit")
        assert (found.value if found else None) == [None, 4, 3, 2, 1][count]

    def test_every_value_says_where_it_comes_from(self, deep: Path) -> None:
        """A setting carries the flag, variable or file and key that said it."""
        file = write(deep / "mcpg.toml", 'strategy = "auto"')
        settings = Settings(deep, {"MCPG_LIMIT": "7"}, {"bundle": "x"})
        assert settings.find("bundle") == Setting("x", "--bundle")
        assert settings.find("limit") == Setting(7, "MCPG_LIMIT")
        assert settings.find("strategy") == Setting("auto", f"{file}: strategy")

    def test_an_empty_variable_says_nothing(self, deep: Path) -> None:
        """An empty variable is as good as none."""
        assert Settings(deep, {"MCPG_BUNDLE": ""}).find("bundle") is None


class TestConfigurationFiles:
    """Files are found upwards and read strictly."""

    def test_paths_are_relative_to_the_file(self, deep: Path) -> None:
        """A bundle named in a file is looked for beside that file."""
        write(deep.parent.parent / "mcpg.toml", 'bundle = "out/tools.mdld"')
        target = write(deep.parent.parent / "out" / "tools.mdld")
        assert Path(Settings(deep).bundles()[0].value) == target

    def test_a_published_catalog_is_no_path(self, deep: Path) -> None:
        """A file names the catalog in the database as the option does."""
        write(deep / "mcpg.toml", 'bundle = "postgres:"')
        found = Settings(deep).find("bundle")
        assert found is not None
        assert found.value == "postgres:"

    def test_the_nearest_file_counts(self, deep: Path) -> None:
        """A file nearer to the working folder hides one further up."""
        write(deep.parent.parent / "mcpg.toml", "limit = 3")
        write(deep.parent / "mcpg.toml", "limit = 9")
        found = Settings(deep).find("limit")
        assert found is not None
        assert found.value == 9

    @pytest.mark.parametrize("text", ['[project]\nname = "mcpg-user"', 'tool = "mcpg"'])
    def test_project_files_without_our_table_are_passed_over(self, deep: Path, text: str) -> None:
        """A project file that does not speak of mcpg hides nothing, broken or not."""
        write(deep / "pyproject.toml", "[project")
        write(deep.parent / "pyproject.toml", text)
        write(deep.parent.parent / "pyproject.toml", "[tool.mcpg]\nlimit = 4")
        found = Settings(deep).find("limit")
        assert found is not None
        assert found.value == 4

    @pytest.mark.parametrize(
        ("name", "text", "place", "message", "remedy"),
        [
            ("mcpg.toml", 'bundel = "x"', ":1: bundel", "unknown key 'bundel'", "mean 'bundle'"),
            ("mcpg.toml", "x = 1", ": x", "unknown key 'x'", "bundle, limit, strategy"),
            ("mcpg.toml", "limit = true", ": limit", "'limit' is True", "a whole number"),
            ("mcpg.toml", "bundle = 1", ": bundle", "'bundle' is 1", "use a string"),
            ("pyproject.toml", "[tool.mcpg]\nlmit = 1", ": tool.mcpg.lmit", "'lmit'", "'limit'"),
            ("pyproject.toml", "[tool]\nmcpg = 1", ":2: tool.mcpg", "not a table", "[tool.mcpg]"),
        ],
    )
    def test_mistakes_name_file_key_and_remedy(
        self, deep: Path, name: str, text: str, place: str, message: str, remedy: str
    ) -> None:
        """A mistake in a file is refused, not ignored, and says what to write instead."""
        file = write(deep / name, text)
        with pytest.raises(UsageError) as caught:
            Settings(deep).find("limit")
        assert str(caught.value.place).startswith(str(file))
        assert str(caught.value.place).endswith(place)
        assert message in caught.value.message
        assert remedy in str(caught.value.remedy)

    @pytest.mark.parametrize(
        ("content", "place"),
        [(b"limit = ", ":1"), (b"limit = '\xff'", ""), (b"x = " + b"[" * 5000, ":1")],
    )
    def test_a_broken_file_is_refused(self, deep: Path, content: bytes, place: str) -> None:
        """A file that is no TOML is named, with the line if there is one, and a remedy."""
        (deep / "mcpg.toml").write_bytes(content)
        with pytest.raises(InputError) as caught:
            Settings(deep).find("limit")
        assert str(caught.value.place).startswith(f"{deep / 'mcpg.toml'}{place}")
        assert caught.value.remedy

    def test_a_variable_that_is_no_number_is_refused(self, deep: Path) -> None:
        """The message names the variable."""
        with pytest.raises(UsageError) as caught:
            Settings(deep, {"MCPG_LIMIT": "many"}).find("limit")
        assert caught.value.place == "MCPG_LIMIT"
        assert caught.value.message == "the value is 'many'"


class TestBundle:
    """The bundle is what was named, or else what lies around."""

    def test_the_nearest_graph_is_found(self, deep: Path) -> None:
        """Without a setting, graph.mdld of the folder or the nearest parent counts."""
        far = write(deep.parent.parent / "graph.mdld")
        assert Path(Settings(deep).bundles()[0].value) == far
        near = write(deep / "graph.mdld")
        assert Path(Settings(deep).bundles()[0].value) == near

    def test_nothing_found_says_what_to_do(self, deep: Path) -> None:
        """The message names every way to say where the bundle is."""
        with pytest.raises(NotFoundError) as caught:
            Settings(deep).bundles()
        for way in ("--bundle", "MCPG_BUNDLE", "mcpg.toml", "mcpg bundle"):
            assert way in str(caught.value.remedy)

    def test_a_named_bundle_must_be_there(self, deep: Path) -> None:
        """A bundle that was named is not silently replaced by one that was found."""
        write(deep / "graph.mdld")
        with pytest.raises(NotFoundError) as caught:
            Settings(deep, {"MCPG_BUNDLE": "other.mdld"}).bundles()
        assert caught.value.place == "MCPG_BUNDLE"
        assert "'other.mdld'" in caught.value.message

    def test_an_impossible_path_is_not_found(self, deep: Path) -> None:
        """A path that no file can have is refused like any other that is not there."""
        with pytest.raises(McpgError):
            Settings(deep, {}, {"bundle": "a\x00b"}).bundles()

    def test_a_folder_that_cannot_be_looked_into_is_passed_over(
        self, deep: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A parent folder that may not be read hides nothing above it."""
        far = write(deep.parent.parent / "graph.mdld")
        looked = Path.is_file

        def is_file(path: Path) -> bool:
            if path.parent == deep:
                raise PermissionError
            return looked(path)

        monkeypatch.setattr(Path, "is_file", is_file)
        assert Path(Settings(deep).bundles()[0].value) == far

    @pytest.mark.parametrize("name", ["mcpg.toml", "graph.mdld"])
    def test_folders_with_the_name_of_a_file_are_passed_over(self, deep: Path, name: str) -> None:
        """Only files count."""
        (deep / name).mkdir()
        with pytest.raises(NotFoundError):
            Settings(deep).bundles()
