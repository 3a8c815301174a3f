"""Telemetry on the command line: only where it is asked for, and never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace import TracerProvider
from shop import plain_search
from telemetrical import Recording

import mcpg
from mcpg.cli import main
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.settings import Settings
from mcpg.search.telemetry import build_facts
from mcpg.telemetry import telemetry
from mcpg.telemetry.otel import OpenTelemetryObserver
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ENABLED = {"MCPG_TELEMETRY": "1"}
LAUNCHER = "from opentelemetry.instrumentation.auto_instrumentation import run; run()"


def observer(folder: Path, environment: Mapping[str, str], text: str = "") -> object:
    """Return the observer that settings make."""
    (folder / "mcpg.toml").write_text(text, encoding="utf-8")
    return ServiceFactory(Settings(folder, environment)).arguments().get("observer")


def test_only_settings_bring_an_observer(tmp_path: Path) -> None:
    """Nobody observes unless a setting says so; the text of queries is asked for by itself."""
    assert observer(tmp_path, {}) is None
    assert observer(tmp_path, {"MCPG_TELEMETRY_QUERIES": "1"}) is None
    assert ServiceFactory(Settings(tmp_path)).observer() is None
    plain = observer(tmp_path, ENABLED)
    telling = observer(tmp_path, {}, "[telemetry]\nenabled = true\nqueries = true")
    assert isinstance(plain, OpenTelemetryObserver)
    assert isinstance(telling, OpenTelemetryObserver)
    assert (plain._record_queries, telling._record_queries) == (False, True)


@pytest.mark.usefixtures("graph")
def test_a_search_that_is_watched_is_left_to_the_whole_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The quick way knows no observer; what is printed is the same."""
    assert main(["search", "shipment"]) == 0
    plain = capsys.readouterr()
    monkeypatch.setenv("MCPG_TELEMETRY", "1")
    assert plain_search("shipment") is None
    assert main(["search", "shipment"]) == 0
    assert capsys.readouterr() == plain


@pytest.mark.usefixtures("graph")
def test_without_the_extra_searches_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Telemetry that is enabled and not installed is a diagnostic with the remedy."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.setenv("MCPG_TELEMETRY", "1")
    assert main(["search", "shipment", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["matches"]
    (noticed,) = [one for one in told["diagnostics"] if one["code"] == "telemetry_missing"]
    assert "extra `telemetry`" in noticed["remedy"]


def test_without_the_extra_a_host_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking for an observer without the API names the command."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(Exception, match=r"pip install .+\[telemetry\]'"):
        telemetry()


def check(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Give status and message of the doctor's trial of telemetry."""
    main(["doctor", "--format", "json"])
    checks = json.loads(capsys.readouterr().out)["checks"]
    (found,) = [one for one in checks if one["name"] == "telemetry"]
    return found["status"], f"{found['message']}: {found.get('remedy')}"


@pytest.mark.usefixtures("graph")
def test_the_doctor_says_who_takes_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Off, enabled without an SDK, with one, and without the API are told apart."""
    monkeypatch.setenv("MCPG_EMBED_WITH", "none")
    assert check(capsys)[0] == "off"
    monkeypatch.setenv("MCPG_TELEMETRY", "yes")
    status, message = check(capsys)
    assert (status, "opentelemetry-instrument" in message) == ("note", True)
    provider = TracerProvider(shutdown_on_exit=False)
    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", lambda: provider)
    status, message = check(capsys)
    assert (status, "TracerProvider" in message) == ("ok", True)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    status, message = check(capsys)
    assert (status, install_command("telemetry") in message) == ("failed", True)


def test_the_launcher_of_opentelemetry_sees_a_search(graph: Path) -> None:
    """Under `opentelemetry-instrument` a search is a span and metrics, without any code."""
    environment = {
        **os.environ,
        **ENABLED,
        "OTEL_TRACES_EXPORTER": "console",
        "OTEL_METRICS_EXPORTER": "console",
        "OTEL_LOGS_EXPORTER": "none",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    arguments = (sys.executable, "-m", "mcpg", "search", "shipment", "--format", "json")
    done = subprocess.run(
        [sys.executable, "-c", LAUNCHER, *arguments],
        cwd=graph.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    decoder, text, told = json.JSONDecoder(), done.stdout.strip(), []
    while text:
        one, end = decoder.raw_decode(text)
        told.append(one)
        text = text[end:].strip()
    (answer,) = [one for one in told if "matches" in one]
    (span,) = [one for one in told if "trace_id" in one.get("context", ())]
    assert span["name"] == "mcpg.search"
    assert span["attributes"]["mcpg.search.result_count"] == len(answer["matches"])
    assert "shipment" not in json.dumps(span)
    (metrics,) = [one for one in told if "resource_metrics" in one]
    assert '"mcpg.search.duration"' in json.dumps(metrics)


def test_a_bundle_that_is_made_is_told(
    sources: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its index and its vectors are told with their counts; a run that compares tells nothing."""
    recording = Recording()
    monkeypatch.setattr("mcpg.telemetry.telemetry", recording.observer)
    monkeypatch.setenv("MCPG_TELEMETRY", "1")
    target = str(sources.parent / "made.mdld")
    arguments = ["bundle", str(sources), "-o", target]
    assert main([*arguments, "--embed"]) == 0
    plain = recording.attributes("mcpg.index.build")
    engine = mcpg.load(target)
    assert plain["mcpg.index.tool_count"] == len(engine.index)
    facts = build_facts(engine.index)
    assert plain["mcpg.index.graph_node_count"] == facts.nodes
    assert plain["mcpg.index.graph_edge_count"] == facts.edges
    vectors = recording.attributes("mcpg.index.vectors")
    assert vectors["mcpg.index.embedded_tool_count"] == len(engine.index)

    assert main([*arguments, "--check"]) == 0
    assert main([*arguments, "--embed"]) == 0
    assert main(["bundle", str(sources), "-o", "-"]) == 0
    assert len(recording.spans()) == 2
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    capsys.readouterr()
    assert main([*arguments, "--force"]) == 0
    assert "telemetry_missing" in capsys.readouterr().err
