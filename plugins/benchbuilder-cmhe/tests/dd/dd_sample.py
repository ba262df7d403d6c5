"""The sample of the task of diagnosis, as the recipe sets it up."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from benchbuilder.core.context import StepContext
from benchbuilder.core.records.row import Origin, ProducedBy

import benchbuilder_cmhe
from benchbuilder_cmhe.dd.classification import ClassificationSpec

PACKAGE = Path(benchbuilder_cmhe.__file__).parent
RECIPES = PACKAGE / "recipes"
SAMPLE = RECIPES / "recipe" / "cmhe" / "sample" / "dd"
PROMPTS = PACKAGE / "prompts"
ROW: dict[str, Any] = {"origin": Origin(file="x", line=1), "produced_by": ProducedBy(rule="x"), "language": "zh"}
_PATHS = {
    "paths.icd10_names": SAMPLE / "names.tsv",
    "paths.icd10_aliases": RECIPES / "recipe" / "cmhe" / "aliases_icd10.tsv",
    "paths.icd10": SAMPLE / "icd10.tsv",
}


def context(folder: Path = Path(), step: str = "s") -> StepContext:
    return StepContext(seed=5, language="zh", step=step, cache=folder, workplace=folder / "annotation")


@cache
def _read(name: str) -> str:
    text = (RECIPES / name).read_text("utf-8")
    for key, path in _PATHS.items():
        text = text.replace(f"${{{key}}}", str(path))
    return text


def part(name: str) -> dict[str, Any]:
    """A file of the recipe as plain data, the classification's paths filled in."""
    return yaml.safe_load(_read(name))


def classification(**changes: Any) -> ClassificationSpec:
    return ClassificationSpec.model_validate(part("classification/icd10_zh.yaml") | changes)


def step(name: str, **changes: Any) -> dict[str, Any]:
    """The spec of a step of the flow, prompts found, without what the loader fills in."""
    raw = part("flow/cmhe_dd.yaml")[name] | changes
    if raw["kind"] in ("code_case", "proofread"):
        raw["classification"] = part("classification/icd10_zh.yaml")
    for key in ("prompt", "template"):
        if isinstance(raw.get(key), str):
            raw[key] = {"path": raw[key], "resolved_path": str(PROMPTS / raw[key])}
    return {key: value for key, value in raw.items() if not (isinstance(value, str) and value.startswith("${oc."))}
