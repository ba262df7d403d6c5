"""What is said of wrong words about models and prompts, over the bundled recipe."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.config.load import load_recipe
from benchbuilder.core.errors import RecipeError
from benchbuilder.pipeline.check import check

SECRET = "the-secret-that-must-not-be-printed"
HOSTED = "model=openai model.name=x"


@pytest.mark.parametrize(
    ("words", "told", "never"),
    [
        (f"{HOSTED} model.tempreature=0.3", "belong to a step: steps.state_choice.sampling.temperature=0.3", "mean"),
        (f"{HOSTED} model.temperature=0.3", "belong to a step: steps.state_choice.sampling.temperature=0.3", "mean"),
        (f"{HOSTED} model.timeout=3", "did you mean 'timeout_s'?", "sampling"),
        ("model=openai", "give model.name=NAME on the command line, or set it in your recipe", "write it there"),
        ("model=replay", "give model.replies=REPLIES on the command line, or set it in", "write it there"),
        ("model=gpt-4o", "hint:    model=openai model.name=gpt-4o", "did you mean"),
        (f"{HOSTED} model.base_url=127.0.0.1:18801", "hint:    http://127.0.0.1:18801/v1", "found:   http"),
        (f"{HOSTED} model.base_url=127.0.0.1:18801/v1/", "hint:    http://127.0.0.1:18801/v1", "/v1/v1"),
        (f"{HOSTED} model.base_url=me:{SECRET}@127.0.0.1:18801", "not an address", SECRET),
        (f"{HOSTED} model.base_url=http://me:{SECRET}@127.0.0.1:18801", "no user, password or query", SECRET),
        (f"{HOSTED} model.base_url=127.0.0.1:1/v1?{SECRET}", "not an address", SECRET),
        (f"{HOSTED} model.base_url=http://127.0.0.1:1/v1?{SECRET}", "no user, password or query", SECRET),
        ("steps.state_choice.prompt=zh/mine.j2", ", or ./prompts beside your ./recipes", "site-packages"),
    ],
)
def test_message(words: str, told: str, never: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecipeError) as caught:
        check(load_recipe(["recipe=care_mi", *words.split()]))
    text = str(caught.value)
    assert told in text
    assert never not in text
