"""A release is loaded by the libraries that others use: `datasets` and Croissant's own reader."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchbuilder.publishing import Release


@pytest.fixture
def release(released: Release) -> Path:
    return released.folder


def counts(release: Path) -> dict[str, dict[str, int]]:
    record = json.loads((release / "release.json").read_text("utf-8"))
    return {config["name"]: config["items"] for config in record["configs"]}


_LOAD = """
import json, sys
import datasets
datasets.disable_progress_bars()
found = {}
for name in datasets.get_dataset_config_names(sys.argv[1]):
    splits = datasets.load_dataset(sys.argv[1], name)
    found[name] = {split: rows.num_rows for split, rows in splits.items()}
tf = datasets.load_dataset(sys.argv[1], "tf", split="test")
print(json.dumps({"counts": found, "columns": tf.column_names, "first": tf[0]["evidence"][0]["text"] != ""}))
"""


def test_datasets_loads_every_configuration(release: Path) -> None:
    environment = {"HF_DATASETS_CACHE": str(release.parents[2] / "cache"), "HF_HUB_OFFLINE": "1", "PATH": ""}
    words = [sys.executable, "-c", _LOAD, release]
    run = subprocess.run(words, check=False, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    loaded = json.loads(run.stdout)
    assert loaded["counts"] == counts(release)
    assert {"full_question", "full-question", "answer_wrong", "canary"} <= set(loaded["columns"])
    assert loaded["first"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_croissant_reads_every_record_set(release: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    described = mlcroissant.Dataset(jsonld=str(release / "croissant.json"))
    assert described.metadata.issues.report() == ""
    found = {record_set.id: sum(1 for _ in described.records(record_set.id))
             for record_set in described.metadata.record_sets}  # fmt: skip
    expected = {
        name if split in ("test", name) else f"{name}_{split}": rows
        for name, splits in counts(release).items()
        for split, rows in splits.items()
    }
    assert found == expected
    assert described.metadata.data_limitations
    assert described.metadata.personal_sensitive_information
