"""Every prompt of the plugin renders as its example says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from benchbuilder.models import prompts

import benchbuilder_cmhe

ROOT = Path(benchbuilder_cmhe.__file__).parent / "prompts"
NAMES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.j2"))


@pytest.mark.parametrize("name", NAMES)
def test_every_prompt_renders_as_its_example_says(name: str) -> None:
    found = prompts.find_prompt(name, [ROOT])
    example = yaml.safe_load((ROOT / name).with_name("examples.yaml").read_text("utf-8"))[Path(name).stem]
    pairs = ROOT / name.replace(".j2", ".pairs.yaml")
    given = {**example["variables"], "pairs": prompts.read_few_shot_pairs(pairs) if pairs.is_file() else []}
    assert prompts.render_prompt(found, given) == example["rendered"].rstrip("\n")
    assert "reviewed_by" in example
    assert Path(name).name.startswith("cmhe_"), "a name that no other package has"
