"""What the bundled recipe `guideline_zh` promises: claims bound to quotes, from recordings, offline, accounts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import make_guideline_replies as maker
import pytest
from bundled_builds import ENDS, evaluated, shared, warnings

from benchbuilder.core import quote_span
from benchbuilder.models.providers.replay import read_replies

SAMPLE = Path(__file__).parents[2] / "recipes" / "recipe" / "guideline_zh" / "sample"


@pytest.fixture(scope="module")
def made(once, tmp_path_factory):
    return shared(once, "guideline_zh", tmp_path_factory.mktemp("guideline"))


@pytest.mark.push
def test_check_is_clean():
    assert warnings("guideline_zh") == []


def test_every_unit_ends_somewhere(made):
    assert made.ends("guideline_zh") <= ENDS
    assert "item" in made.ends("guideline_zh")


def test_every_claim_is_bound_to_the_words_that_show_it(made):
    paragraphs = {row.id: row for row in made.rows("paragraphs")}
    claims = made.rows("claims")
    assert len(claims) >= 20
    for claim in claims:
        paragraph = paragraphs[claim.of]
        assert quote_span(claim.payload.quote, paragraph.text) is not None
        assert claim.payload.gold == (paragraph.text,)
        assert claim.payload.as_of == "2024年3月"
    assert {row.title.split(" > ")[1] for row in paragraphs.values()} >= {"一、清洁", "二、加热", "三、储存"}


def test_faults_are_repaired_or_are_the_reasons_of_drops(made):
    assert set(made.reasons("read_claims")) == {"already_said", "not_standalone", "other_numbers"}
    texts = {row.payload.text for row in made.rows("claims")}
    assert "浸泡叶类蔬菜的时间一般不超过10分钟。" in texts
    assert "发芽的马铃薯的毒素经过加热也不容易被破坏。" in texts


def test_each_true_claim_has_a_false_one_of_the_same_family(made):
    expected = Counter((row.family, row.payload.expected) for row in made.rows("items"))
    assert set(expected.values()) == {1}
    assert {family for family, answer in expected if answer == "yes"} == {
        family for family, answer in expected if answer == "no"
    }
    assert {row.form for row in made.rows("items")} == {"claim"}
    assert {row.wrong_from for row in made.rows("items")} == {"model", "number"}


def test_no_reply_is_missing_and_all_are_named_as_those_of_the_fake_service(made):
    failed = [one for name in made.manifests for one in made.store.outcomes(made.manifests[name]).to_pylist()
              if one["outcome"] == "failed"]  # fmt: skip
    assert failed == []
    recorded = [reply for _, _, reply in read_replies(SAMPLE / "fake_service_replies.jsonl")]
    assert {reply.model for reply in recorded} == {maker.NAME}
    for reply in recorded:
        messages = [{"role": message.role, "content": message.content} for message in reply.messages]
        assert maker.reply(messages, {}) == reply.text


def test_the_evaluation_runs_with_the_baselines(made, tmp_path):
    evaluation = evaluated(made, tmp_path)
    for name in ("always_agree", "always_disagree"):
        values = [row.value for row in evaluation.rows(f"verdict.{name}")]
        assert sum(values) / len(values) == 0.5


@pytest.mark.push
def test_the_sample_is_a_document_with_sections():
    [line] = (SAMPLE / "guideline.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["text"].count("\n") >= 18
