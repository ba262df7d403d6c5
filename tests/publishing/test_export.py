"""Exports to harnesses: the written files, and the reader that they carry."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from built_sample import BuiltSample
from doc_blocks import ROOT

from benchbuilder.core import DataError, RecipeError, chrf
from benchbuilder.evaluation import YesNoQuestion, verdict_reader
from benchbuilder.publishing import HARNESSES, ExportRequest, Release, export_benchmark, reader_module

TABLES = [ROOT / "recipes" / "verdicts" / f"{language}.yaml" for language in ("zh", "en")]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The carried reader, imported from its file."""
    file = tmp_path_factory.mktemp("reader") / "verdict_reader.py"
    file.write_text(reader_module(TABLES, "sample"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("verdict_reader", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["verdict_reader"] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def exported(built: BuiltSample, released: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of the sample for all harnesses, not to be changed."""
    folder = tmp_path_factory.mktemp("exports")
    request = ExportRequest(built.loaded, tuple(HARNESSES), built.folder, released.folder, folder)
    assert {export.harness for export in export_benchmark(request)} == set(HARNESSES)
    return folder


def test_the_carried_reader_needs_regex_and_the_standard_library_alone(reader: ModuleType) -> None:
    nodes = list(ast.walk(ast.parse(Path(reader.__file__ or "").read_text("utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    assert "regex" in names
    assert {name.partition(".")[0] for name in names} <= {"regex", *sys.stdlib_module_names}


@pytest.mark.parametrize("place", range(2), ids=["zh", "en"])
def test_the_carried_reader_reads_as_the_project_does(reader: ModuleType, place: int) -> None:
    said = yaml.safe_load(TABLES[place].read_text("utf-8"))["examples"]
    own = verdict_reader(TABLES)
    for text in [
        *said["affirm"],
        *said["deny"],
        *said["neither"],
        "<think>Hm",
        "",
        "沒有這種說法",
        "Yes. No, wait: no.",
    ]:
        wanted = own.read(text, YesNoQuestion("这种说法对吗？", "这种说法对", "这种说法不对"))
        found = reader.read_verdict(text, "这种说法对吗？", "这种说法对", "这种说法不对")
        assert (found.verdict, found.why, found.words) == (wanted.verdict, wanted.why, wanted.words), text


@pytest.mark.parametrize(
    "texts",
    [
        ("milk is white", "milk is not white"),
        ("牛奶是白色的。", "奶 白"),
        ("a", "b"),
        ("", "b"),
        ("aa aa", "aaaa a"),
        ("ab", "abcdefgh"),
    ],
)
def test_the_carried_chrf_is_that_of_sacrebleu(reader: ModuleType, texts: tuple[str, str]) -> None:
    assert abs(reader.chrf(*texts) - chrf(*texts)) < 1e-12


def test_context_and_question_stay_apart_and_prompts_join_them(exported: Path) -> None:
    for harness in HARNESSES:
        lines = (exported / harness / "data" / "tf.test.jsonl").read_text("utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        assert any(row["context"] for row in rows)
        assert all(row["prompt"] == row["context"] + row["question"] for row in rows)
        assert all("-" not in name for row in rows for name in row)
        assert all(row["canary"] for row in rows)


def test_examples_come_from_the_split_dev_and_are_read_as_right(exported: Path, reader: ModuleType) -> None:
    texts = {
        split: (exported / "inspect" / "data" / f"tf.{split}.jsonl").read_text("utf-8") for split in ("test", "dev")
    }
    rows = {split: [json.loads(line) for line in text.splitlines()] for split, text in texts.items()}
    assert not {row["family"] for row in rows["test"]} & {row["family"] for row in rows["dev"]}
    assert len(rows["dev"]) >= 4
    for row in rows["dev"]:
        assert reader.score_verdict(row["target"], row).value == 1.0


def test_lm_eval_gets_tasks_by_source_and_a_group(exported: Path) -> None:
    class Loader(yaml.SafeLoader):
        """Reads the tag of a function as its name."""

    Loader.add_constructor("!function", lambda loader, node: str(node.value))
    folder = exported / "lm_eval"
    files = {file.stem: yaml.load(file.read_text("utf-8"), Loader) for file in folder.glob("*.yaml")}
    assert files["care_mi"]["task"] == ["care_mi_oe", "care_mi_tf"]
    parts = files["care_mi_tf_by_source"]
    assert set(parts["task"]) <= set(files)
    assert [metric["metric"] for metric in parts["aggregate_metric_list"]] == ["acc", "invalid", "said_yes"]
    assert files["care_mi_tf"]["fewshot_split"] == "dev"
    assert files["care_mi_tf"]["generation_kwargs"]["until"] == []


def test_written_programs_are_python(exported: Path) -> None:
    for file in exported.rglob("*.py"):
        compile(file.read_text("utf-8"), str(file), "exec")


def test_an_export_replaces_the_earlier_one_and_nothing_else(built: BuiltSample, tmp_path: Path) -> None:
    request = ExportRequest(built.loaded, ("inspect",), built.folder, None, tmp_path)
    (first,) = export_benchmark(request)
    (first.folder / "logs").mkdir()
    (first.folder / "data" / "tf.test.jsonl").write_text("", encoding="utf-8")
    (again,) = export_benchmark(request)
    assert (again.folder / "logs").is_dir()
    assert (again.folder / "data" / "tf.test.jsonl").read_text("utf-8")
    (tmp_path / "lm_eval").mkdir()
    (tmp_path / "lm_eval" / "mine.txt").touch()
    with pytest.raises(DataError, match="is in the way"):
        export_benchmark(ExportRequest(built.loaded, ("lm_eval",), built.folder, None, tmp_path))


@pytest.mark.parametrize("harnesses", [("lmeval",), ()])
def test_an_unknown_harness_is_named_with_those_there_are(built: BuiltSample, harnesses: tuple[str, ...]) -> None:
    with pytest.raises(RecipeError, match="lm_eval"):
        export_benchmark(ExportRequest(built.loaded, harnesses, built.folder))
