"""A second model confirms claims, if the recipe names one."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from claim_rows import MODEL, PROMPTS, RECIPES, make, talk
from preparation_rows import page

from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.payloads import Fact, LabelledClaim
from benchbuilder.core.records.row import ProducedBy

PARAGRAPH = page("口服补液盐开封后应在24小时内用完。", title="补液")
CLAIM = Fact[LabelledClaim].child(
    PARAGRAPH, produced_by=ProducedBy(rule="test"), payload=LabelledClaim(text=PARAGRAPH.text, label="true")
)


def confirmer(**spec: Any) -> Any:
    rules = yaml.safe_load((RECIPES / "rules" / "zh_documents.yaml").read_text("utf-8"))["confirm_claims"]
    prompt = {"path": rules["prompt"], "resolved_path": str(PROMPTS / rules["prompt"])}
    return make("confirm_claims", {**rules, "prompt": prompt, "model": MODEL, **spec})


class WithParents:
    """The step, with the paragraph of the claim."""

    def __init__(self, step: Any) -> None:
        self.step = step

    def converse(self, row: Any, _parents: Any) -> Any:
        return self.step.converse(row, {"passage": PARAGRAPH})


@pytest.mark.parametrize("reply", ["是", "是的。", "“是”", "<think>嗯</think>是"])
def test_a_claim_that_the_model_confirms_stays_as_it_is(reply):
    outcomes, [request] = talk(WithParents(confirmer()), CLAIM, reply)
    assert outcomes == [Kept(CLAIM)]
    assert PARAGRAPH.text in request.messages[-1].content


@pytest.mark.parametrize("reply", ["否", "不是", "是否属实难以判断", "", "不确定。\n是"])
def test_any_other_reply_drops_it(reply):
    [outcome], _ = talk(WithParents(confirmer()), CLAIM, reply)
    assert isinstance(outcome, Dropped)
    assert outcome.reason == "not_entailed"
    assert outcome.detail.endswith(f"| {CLAIM.payload.text}")


def test_without_a_second_model_nothing_is_asked():
    assert list(confirmer(model=None).map(CLAIM, {})) == [Kept(CLAIM)]
    assert list(confirmer(model={"kind": "none"}).map(CLAIM, {})) == [Kept(CLAIM)]
