"""A scorer of a plugin may ask a model: its prompt is checked, and an evaluation asks about each answer."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest

from benchbuilder.cli.dispatch import main
from benchbuilder.config.load import load_recipe
from benchbuilder.config.spec.base import KindSpec, PromptRef, Slot
from benchbuilder.core import registry
from benchbuilder.core.errors import RecipeError
from benchbuilder.core.records.payloads import Item
from benchbuilder.core.records.roles import Answer
from benchbuilder.evaluation.scorers.base import AspectScore, Scorer, ScorerResult, ScoringConversation
from benchbuilder.models import prompts
from benchbuilder.models.base import Message, Request
from benchbuilder.pipeline.check import check_recipe
from benchbuilder.testing import fake_openai_server


class AskerSpec(KindSpec):
    prompt: PromptRef
    model: Annotated[KindSpec | None, Slot("model")] = None


class Asker(Scorer):
    """1 if the model says yes, 0 if not; without a model 0.5."""

    kind = "asker"
    spec_class = AskerSpec
    prompt_variables = {"said": "the answer", "wanted": "the right answer"}

    @property
    def model_spec(self) -> KindSpec | None:
        model: KindSpec | None = self.spec.model
        return None if model is None or model.kind == "none" else model

    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[ScorerResult]:
        return [(AspectScore("agreement", 0.5),) for _ in pairs]

    def converse(self, answer: Answer, item: Item[Any]) -> ScoringConversation:
        found = prompts.read_prompt(self.spec.prompt.path, self.spec.prompt.file)
        given = {"said": answer.text, "wanted": item.payload.answer}
        asked = Request((Message("user", prompts.render_prompt(found, given)),), {"max_new_tokens": 1}, None, 0, "yes")
        reply = yield asked
        return (AspectScore("agreement", float(reply.text == "yes")),)


ITEMS = "full-question,answer\nWhat is red?,A tomato.\nWhat is long?,A bean.\n"
NOBODY = dict.fromkeys(("always_agree", "always_disagree", "echo", "best_evidence", "people"), "null")
BASELINES = ", ".join(f"{name}: {value}" for name, value in NOBODY.items())
WORDS = [
    "recipe=care_mi", "evaluation.judges=null", "evaluation.scorers=null", "evaluation.answers=null",
    f"evaluation.baselines={{{BASELINES}, beans: {{kind: constant, texts: {{}}, otherwise: A bean.}}}}",
]  # fmt: skip


@pytest.fixture(autouse=True)
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The kind is installed, and a prompt for it lies in the working folder."""
    scorers = registry.BUILT_IN_KINDS["scorer"] | {"asker": "test_asking_scorers:Asker"}
    monkeypatch.setitem(registry.BUILT_IN_KINDS, "scorer", scorers)
    monkeypatch.chdir(tmp_path)
    registry.kinds_of_slot.cache_clear()
    yield
    registry.kinds_of_slot.cache_clear()


def asker(prompt: str, model: str = "null") -> list[str]:
    file = Path("prompts/en/asker.j2")
    file.parent.mkdir(parents=True)
    Path("recipes").mkdir()  # whose prompts they are
    file.write_text(prompt, encoding="utf-8")
    return [*WORDS, f"evaluation.scorers={{asker: {{kind: asker, prompt: en/asker.j2, model: {model}}}}}"]


@pytest.mark.full
def test_its_prompt_may_use_what_the_scorer_gives_it_and_nothing_else() -> None:
    words = asker("Is {{ said }} the same as {{ wanted }}?")
    check_recipe(load_recipe(words), sources=())
    Path("prompts/en/asker.j2").write_text("Is {{ said }} an answer to {{ question }}?", encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        check_recipe(load_recipe(words), sources=())
    (problem,) = caught.value.problems
    assert problem.key == "evaluation.scorers.asker.prompt"
    assert problem.actual == "question"
    assert {"said", "wanted"} <= set(problem.allowed.split(", "))


def scores() -> dict[str, str]:
    """The value of each item."""
    (found,) = Path("builds").rglob("results_scores.csv")
    with found.open(encoding="utf-8-sig", newline="") as handle:
        return {row["item"]: row["value"] for row in csv.DictReader(handle) if row["scorer"] == "asker"}


@pytest.mark.full
def test_it_asks_about_each_answer_where_it_has_a_model() -> None:
    Path("items.csv").write_text(ITEMS, encoding="utf-8")
    plugin = Path("model.py").absolute()
    plugin.write_text(
        "def reply(messages, body):\n"
        "    said, wanted = messages[-1]['content'].split('|')\n"
        "    return 'yes' if said == wanted else 'no'\n",
        encoding="utf-8",
    )
    words = ["evaluate", "--benchmark", "items.csv"]
    with fake_openai_server({"plugin": str(plugin)}) as server:
        model = f"{{kind: openai, name: m, base_url: '{server.base_url}'}}"
        assert main([*words, *asker("{{ said }}|{{ wanted }}", model), "budget.tokens=100000"]) == 0
        assert len(server.log()) == 2
    assert sorted(scores().values()) == ["0", "1"]


@pytest.mark.push
def test_without_a_model_it_scores_by_itself() -> None:
    Path("items.csv").write_text(ITEMS, encoding="utf-8")
    assert main(["evaluate", "--benchmark", "items.csv", *asker("{{ said }}|{{ wanted }}")]) == 0
    assert set(scores().values()) == {"0.5"}
