"""Fits, memory, the table of ratios and its place in the README, the pictures, and the whole command at tiny sizes."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from scale import machine, plots, table
from scale.fits import growing, power, with_constant
from scale.watch import Opened, run

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "performance" / "results.json"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")


def _build(seconds: float, opened: int = 0, tree: float = 900.0) -> dict:
    memory = {"tree_mb": tree, "shared_mb": 800.0, "process_mb": 700.0}
    return {"seconds": seconds, **memory, "sources_opened": {"opened": opened}}


def _results(**changed: dict) -> dict:
    built = {f"triples.{10**n}": {"triples": 10**n, "candidates": 10 ** (n - 3), "first": _build(2 + 1e-5 * 10**n),
                                  "again": _build(0.5)} for n in (4, 5, 6, 7)}  # fmt: skip
    tasks = {
        "start": {"hydra_s": 0.2, "help_s": 0.1, "python_s": 0.01, "ls_s": 0.5},
        "tokens.plain": {"seconds": 10.0, "texts": 20_000, "digest": "a"},
        "tokens.ours": {"seconds": 2.0, "texts": 20_000, "digest": "a"},
        "retrieval.plain.1000": {"tokens_s": 1.0, "index_s": 1.0, "queries": 20, "queries_s": 20.0},
        "retrieval.ours.1000": {"index_s": 1.0, "open_s": 0.0, "queries": 2_000, "queries_s": 1.0, "compared": 20,
                                "equal": 20},
        **built,
    }  # fmt: skip
    run_on = {"date": "2025-06-01", "machine": "a machine", "cores": 2, "memory_gb": 8.0, "python": "3.11.7",
              "versions": {"numpy": "2"}, "load": 0.1}  # fmt: skip
    return {"run": run_on, "tasks": {**tasks, **changed}}


def _line(results: dict, start: str) -> table.Line:
    (line,) = (line for line in table.lines(results) if line.what.startswith(start))
    return line


def test_the_exponent_is_that_of_the_points():
    points = [(10.0**n, 3e-6 * 10 ** (1.2 * n)) for n in (4, 5, 6, 7)]
    assert power(points).exponent == pytest.approx(1.2)
    assert power(points[:1]) is None


def test_a_constant_in_front_is_left_out_of_the_exponent():
    points = [(10.0**n, 2 + 3e-6 * 10**n) for n in (4, 5, 6, 7)]
    fit = with_constant(points)
    assert (fit.exponent, fit.constant) == pytest.approx((1.0, 2.0), rel=1e-3)
    assert growing(points).first == 10**6
    assert growing(points).exponent < 1


def test_ratios_and_targets():
    line = _line(_results(), "BM25, 1,000 paragraphs: a query")
    assert (line.plain, line.ours, line.relation, line.met) == ("1.0 s", "0.5 ms", "2,000 ×", True)
    assert _line(_results(), "tokenising").met is True
    slow = _results(**{"tokens.ours": {"seconds": 5.0, "texts": 20_000, "digest": "a"}})
    assert _line(slow, "tokenising").met is False


def test_results_that_differ_miss_the_target_however_fast_they_are():
    changed = {"seconds": 0.1, "texts": 20_000, "digest": "b"}
    line = _line(_results(**{"tokens.ours": changed}), "tokenising")
    assert line.met is False
    assert "differ" in line.relation


def test_a_second_build_that_opens_a_source_misses_the_target():
    assert _line(_results(), "the same again").met is True
    built = {"triples": 10**7, "candidates": 1, "first": _build(100.0), "again": _build(0.5, opened=1)}
    assert _line(_results(**{"triples.10000000": built}), "the same again").met is False


def test_memory_is_that_of_all_processes():
    built = {"triples": 10**7, "candidates": 1, "first": _build(100.0, tree=1_600.0), "again": _build(0.5)}
    line = _line(_results(**{"triples.10000000": built}), "10,000,000 triples to 1 candidates with evidence: peak")
    assert line.met is False


def test_the_table_is_put_between_its_marks_and_nothing_else_changes():
    begin, end = table.marks(table.MARK)
    drawn = table.markdown(_results())
    page = f"before\n{begin}\nold\n{end}\nafter\n"
    filled = table.filled(page, table.MARK, drawn)
    assert filled.startswith(f"before\n{begin}\n\n| what |")
    assert filled.endswith(f"{end}\nafter\n")
    assert "a machine" in filled
    assert "old" not in filled
    assert table.filled(filled, table.MARK, drawn) == filled
    with pytest.raises(ValueError, match="no lines"):
        table.filled("no marks", table.MARK, drawn)


@pytest.mark.skipif(not RESULTS.exists(), reason="no results are kept")
def test_the_readme_shows_the_results_that_are_kept():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert table.filled(page, table.MARK, table.markdown(results)) == page


def test_pictures_are_xml_and_name_the_exponent(tmp_path: Path):
    drawn = plots.write(_results(), tmp_path)
    assert [path.name for path in drawn] == ["triples.svg"]
    root = ElementTree.fromstring(drawn[0].read_text(encoding="utf-8"))
    texts = [element.text or "" for element in root.iter() if element.tag.endswith("text")]
    assert any(text.startswith("first build: exponent ") for text in texts)


@LINUX
def test_memory_and_reading_are_those_of_all_processes_together(tmp_path: Path):
    (tmp_path / "source").write_bytes(b"x" * 3_000_000)
    inner = "import time; held = bytearray(60_000_000); open('source', 'rb').read(); time.sleep(0.6)"
    outer = f"import subprocess, sys; held = bytearray(60_000_000); subprocess.run([sys.executable, '-c', {inner!r}])"
    with Opened([tmp_path / "source"]) as opened:
        needed = run([sys.executable, "-c", outer], tmp_path)
    assert needed.code == 0
    assert needed.tree_mb > 120 > needed.process_mb > 60
    assert needed.read_mb > 3
    assert opened.counts["opened"] == 1


@LINUX
def test_looking_at_a_file_is_not_opening_it(tmp_path: Path):
    path = tmp_path / "source"
    path.write_text("text")
    with Opened([path]) as opened:
        path.stat()
    assert opened.counts == {"opened": 0, "read": 0}


def test_a_run_goes_on_only_where_machine_program_and_sizes_are_the_same():
    command = importlib.import_module("all")
    now = {"run": machine.describe(quick=True), "tasks": {}}
    before = {"run": {**now["run"], "load": 9.0}, "tasks": {"start": {}}}
    assert command._former(before, now) is before
    for key in ("machine", "versions", "commit", "quick"):
        assert command._former({"run": {**before["run"], key: "another"}, "tasks": {"start": {}}}, now) is now


@pytest.mark.full
def test_the_whole_command_at_tiny_sizes(tmp_path: Path):
    some = ["start", "triples.1000", "real.care_mi"]
    command = [sys.executable, str(ROOT / "performance" / "all.py"), "--quick", "--data", str(tmp_path / "data"),
               "--output", str(tmp_path / "results.json"), "--only"]  # fmt: skip
    done = subprocess.run([*command, *some], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["tasks"]
    assert found["triples.1000"]["candidates"] > 0
    assert "skipped" in found["real.care_mi.ours"]
    assert "nothing changed" in done.stdout
