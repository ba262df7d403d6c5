"""Every built-in kind keeps its contract, with the settings of the bundled recipe and the rows that it gets there."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny_encoders
import tiny_models
import yaml
from claim_examples import answered, claims, definitions, guideline, ordered
from form_examples import shown
from kind_sample import Sample, every, in_tiers, load
from several_examples import bundled, right_options, several_answers
from source_examples import SOURCES
from term_examples import terms

from benchbuilder.config.spec.base import KindSpec
from benchbuilder.core import registry
from benchbuilder.core.context import StepContext
from benchbuilder.core.records.answered import QuestionAnswer
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.payloads import Fact
from benchbuilder.core.records.roles import Answer, Score
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.evaluation.steps.reword import asked_anew
from benchbuilder.models.base import Message, Reply, Request
from benchbuilder.models.providers.replay import RecordedReply, write_replies
from benchbuilder.sources.base import Source
from benchbuilder.steps.base import Step
from benchbuilder.steps.correct import ItemTexts
from benchbuilder.testing import (
    check_exporter,
    check_kind,
    check_model,
    check_payload,
    check_retriever,
    check_source,
    check_step,
    check_tokenizer,
)

RECIPES = Path(__file__).parents[3] / "recipes"
ROWS, MANY_ROWS = 24, 150
"""How many rows a step gets of each table; many, if it uses few of the facts of a graph."""

TEXTS = (
    "孕妇应当注意补充叶酸。", "妊娠期 12周\t超声检查", "BMI ≥ 30 kg/m²，β-hCG (+)", "Zinc 5.0mg/d, q.d.",
    "\n", "　全角　",
    "新生儿黄疸多在出生后2～3天出现，4～5天达高峰。", "𠮷野家👶🏽", "a", "  ",
    "ما هو العلاج؟ ٢٫٥ ملغم", "โรคเบาหวานขณะตั้งครรภ์", "क्या शिशु को शहद दे सकते हैं?", "Ọmọ ọwọ́ kò gbọdọ̀ mu omi.",
)  # fmt: skip


EVERY = [(slot, kind) for slot in registry.SLOTS for kind in every(slot)]


@pytest.mark.parametrize(("slot", "kind"), EVERY)
def test_kind_says_what_it_is(slot: str, kind: str) -> None:
    check_kind(slot, kind, load(slot, kind))


@pytest.mark.parametrize("kind", every("payload"))
def test_payload(kind: str) -> None:
    check_payload(load("payload", kind))


@pytest.mark.push
@pytest.mark.parametrize("kind", every("source"))
def test_source(sample: Sample, kind: str, tmp_path: Path) -> None:
    if kind == "benchmark":
        cls = load("source", kind)
        path = tmp_path / "items.jsonl"
        registry.create_from_spec("exporter", sample.loaded.recipe.outputs["items_jsonl"]).write(
            sample.finished(), tmp_path
        )
        check_source(cls(cls.spec_class(kind=kind, path=str(path)), "benchmark", "zh"))
        return
    if kind == "several_choice":
        check_source(load("source", kind)(bundled("law_zh").sources["jec_qa"], "jec_qa", "zh"))
        return
    if kind in SOURCES:
        cls = load("source", kind)
        units = check_source(cls(cls.spec_class(kind=kind, **SOURCES[kind](tmp_path)), "example", "zh"))
        assert {type(unit.outcome) for unit in units} == {Kept, Dropped}
        return
    node = sample.of("source", kind).node("source", kind)
    assert node is not None, f"the recipe has no source of the kind {kind!r}: write an example here"
    assert isinstance(node.producer, Source)
    check_source(node.producer)


# --- kinds of steps that the recipe's flow lacks or disables: settings based on those of its other steps


def _ask_oe_triple(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    ask_tf = sample.plan.nodes["ask_tf_triple"]
    spec = sample.loaded.recipe.steps["ask_tf_triple"]
    given = {
        "kind": "ask_oe_triple", "from": "state_triple", "enabled": True, "relations": spec.relations,
        "mark": spec.mark, "ends": spec.ends, "ignore": "",
    }  # fmt: skip
    return load("step", "ask_oe_triple").spec_class.model_validate(given), sample.tables(ask_tf, MANY_ROWS)


def _replace_triple(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    given = {
        "kind": "replace_triple", "from": "state_triple", "enabled": True, "entity": "same_type", "unknown_only": True,
        "any_relation": True, "inverse_suffix": "", "ignore": "",
    }  # fmt: skip
    tables = sample.tables(sample.plan.nodes["negate_triple"], ROWS)
    facts = sample.store.rows(sample.manifests["facts_triple"])
    return load("step", "replace_triple").spec_class.model_validate(given), {**tables, "pool": facts, "known": facts}


def _choose_forms(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    spec = load("step", "choose_forms").spec_class.model_validate({"kind": "choose_forms", "from": "ask_tf_choice"})
    return spec, {"each": sample.store.rows(sample.manifests["ask_tf_choice"])}


def _filter_predictable(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    given = {"kind": "filter_predictable", "from": "candidates"}
    spec = load("step", "filter_predictable").spec_class.model_validate(given)
    return spec, {"each": sample.store.rows(sample.manifests["candidates"])}


def _correct(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    """A log that withdraws one candidate and fixes another."""
    rows = sample.store.rows(sample.manifests["families"])
    first, *_, last = map(ItemTexts.of, rows)
    shared = {"kind": "text", "text": "…", "when": "2026-01-31", "state": "decided", "reason": "…"}
    log = [
        {**shared, "id": "erratum-1", "item": "item-1", "decision": "withdraw", "before": first.model_dump()},
        {**shared, "id": "erratum-2", "item": "item-2", "decision": "fix_text", "before": last.model_dump(),
         "after": last.model_dump() | {"question": "？"}},
    ]  # fmt: skip
    file = sample.store.cache / "errata.jsonl"
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in log), "utf-8")
    given = {"kind": "correct", "from": "families", "errata": str(file)}
    return load("step", "correct").spec_class.model_validate(given), {"each": rows}


def _convert_script(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    node = sample.plan.nodes["choices"]
    assert isinstance(node.producer, Step)
    return node.producer.spec.model_copy(update={"convert": "t2s"}), sample.tables(node, 200)


def _deny(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    rows = sample.tables(sample.plan.nodes["ask_tf_choice"], ROWS)["each"]
    return bundled("law_zh").steps["deny_options"], {"each": rows}


def _sample(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    given = {"kind": "sample", "from": "choices", "n": 5, "by": "payload.category"}
    each = sample.tables(sample.plan.nodes["choices"], ROWS)["each"]
    return load("step", "sample").spec_class.model_validate(given), {"each": each}


def _one_of_family(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    spec = load("step", "one_of_family").spec_class.model_validate({"kind": "one_of_family", "from": "items"})
    return spec, {"each": sample.store.rows(sample.manifests["items"])}


def _reword(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    given = {"kind": "reword", "from": "items", "families": 5, "frames": ["{claim}吗？"],
             "sentences": {"plain": "{claim}？", "short": "{question}简要回答。"}}  # fmt: skip
    spec = load("step", "reword").spec_class.model_validate(given)
    return spec, {"each": sample.store.rows(sample.manifests["items"])}


def _press(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    settings = yaml.safe_load((RECIPES / "evaluation/zh_pressure.yaml").read_text("utf-8"))["pressure"]
    given = {"kind": "press", "from": "items", "tables": [str(RECIPES / "verdicts/zh.yaml")], **settings}
    spec = load("step", "press").spec_class.model_validate(given)
    return spec, {"each": sample.store.rows(sample.manifests["items"])}


def _push(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    spec, tables = _press(sample)
    return spec.model_copy(update={"kind": "push"}), tables


def _read_turns(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    table, pushes = str(RECIPES / "verdicts/zh.yaml"), {"sure": ["您有把握吗？{question}"]}
    given = {"kind": "read_turns", "from": "answers", "name": "turns", "tables": [table], "pushes": pushes}
    items = [*sample.store.rows(sample.manifests["items"])][:ROWS]
    made = ProducedBy(rule="test")
    asked = [asked_anew(item, made, "sure", item.payload.question).row for item in items]
    texts = ("是的。", "不对。", "我坚持我的看法。")
    answers = [
        Answer.child(row, produced_by=made, slot="sure.none.2", model="m", text=texts[place % 3])
        for place, row in enumerate(asked)
    ]
    scores = Table.of(list[Score](), Score)
    items_table = Table.of(asked, sample.store.rows(sample.manifests["items"]).row)
    tables = {"each": Table.of(answers, Answer), "item": items_table, "verdict": scores, "support": scores}
    return load("step", "read_turns").spec_class.model_validate(given), tables


def _vote(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    """Without people; tests/steps/test_vote.py checks the step with votes."""
    spec = load("step", "vote").spec_class.model_validate({"kind": "vote", "from": "items"})
    items = sample.store.rows(sample.manifests["items"])
    return spec.model_copy(update={"votes": sample.loaded.recipe.annotation}), {"each": items}


def _state_pairs(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    given = {
        "kind": "state_pairs", "from": "facts_choice", "unit": "characters", "stop": "。",
        "pairs": str(Path(__file__).with_name("pairs.tsv")),
        "accepted": str(Path(__file__).with_name("pairs_accepted.tsv")),
    }  # fmt: skip
    facts = sample.store.rows(sample.manifests["facts_choice"])
    return load("step", "state_pairs").spec_class.model_validate(given), {"each": facts, "facts": facts}


def _ask_true_or_false(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    given = {"kind": "ask_true_or_false", "from": "state_choice", "sentence": "“{claim}” 对吗？"}
    spec = load("step", "ask_true_or_false").spec_class.model_validate(given)
    return spec, sample.tables(sample.plan.nodes["ask_tf_choice"], ROWS)


def _shown(kind: str) -> Callable[[Sample], tuple[Any, dict[str, Table[Any]]]]:
    return lambda sample: shown(kind, lambda: sample.store.rows(sample.manifests["facts_choice"]), ROWS)


def _without_model(example: tuple[Any, dict[str, Table[Any]]]) -> tuple[Any, dict[str, Table[Any]]]:
    """The example with rules alone: the contract has no model."""
    spec, tables = example
    return spec.model_copy(update={"strategy": "rules", "model": None}), tables


def _wrong_answers(_: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    given = {
        "kind": "wrong_answers", "from": "rows", "order": ["listed", "number", "rows"], "longest": 40,
        "rows": {"question_words": {"thing": ["Which (?P<head>[a-z]+)"]}, "max_question_similarity": 1.0},
    }  # fmt: skip
    planets = {"second": "Venus", "third": "Earth", "fourth": "Mars"}
    rows = [
        Fact[QuestionAnswer].build(
            payload=QuestionAnswer(question=f"Which planet is {place}?", answers=(name,)), language="en",
            origin=Origin(file="planets.json", line=line), produced_by=ProducedBy(rule="reader"), partition="planets",
        )
        for line, (place, name) in enumerate(planets.items(), 1)
    ]  # fmt: skip
    table = Table.of(rows, Fact[QuestionAnswer])
    spec = load("step", "wrong_answers").spec_class.model_validate(given)
    return spec, {"each": table, "pool": table, "known": table}


SPECIAL: dict[str, Callable[[Sample], tuple[Any, dict[str, Table[Any]]]]] = {
    "ask_oe_triple": _ask_oe_triple,
    "replace_triple": _replace_triple,
    "choose_forms": _choose_forms,
    "filter_predictable": _filter_predictable,
    "convert_script": _convert_script,
    "correct": _correct,
    "sample": _sample,
    "one_of_family": _one_of_family,
    "reword": _reword,
    "press": _press,
    "push": _push,
    "read_turns": _read_turns,
    "vote": _vote,
    "state_pairs": _state_pairs,
    "ask_true_or_false": _ask_true_or_false,
    "screen_shown": _shown("screen_shown"),
    "propose": _shown("propose"),
    "ask_verify": _shown("ask_verify"),
    "ask_pass": _shown("ask_pass"),
    "wrong_answers": _wrong_answers,
    "split_answers": lambda _: several_answers(),
    "state_option": lambda _: right_options(),
    "deny": _deny,
    "false_claims": lambda _: _without_model(claims("false_claims")),
    "definitions": lambda _: definitions(),
    "find_claims": lambda _: guideline(),
    "state_claim": lambda _: claims("state_claims"),
    "order_claims": lambda _: ordered("order_claims"),
    "order_questions": lambda _: ordered("order_questions"),
    "screen_claims": lambda _: claims("screen_claims", "claims_en"),
    "answer_claims": lambda _: claims("answer_claims", "claims_en"),
    "ask_claim": lambda _: answered(),
    "translate": lambda _: terms("translate", "translate"),
    "normalise_term": lambda _: terms("normalise_term", "tidy"),
    "merge_terms": lambda _: terms("merge_terms", "merge"),
}

MODEL_STEPS = {
    "answer", "answer_pushed", "follow_up", "score_by_model", "read_claims", "confirm_claims", "draft_translation",
}  # fmt: skip
"""Kinds of steps that do nothing without a model: see test_answering.py, test_push.py, test_read_claims.py,
test_confirm_claims.py and test_draft_translation.py."""


@pytest.mark.push
@pytest.mark.parametrize("kind", sorted(set(every("step")) - MODEL_STEPS))
def test_step(sample: Sample, kind: str, tmp_path: Path) -> None:
    if kind not in SPECIAL:
        sample = sample.of("step", kind)
    node = sample.node("step", kind)
    if kind in SPECIAL:
        spec, tables = SPECIAL[kind](sample)
    else:
        assert node is not None, f"the recipe has no step of the kind {kind!r}: write an example in SPECIAL"
        assert isinstance(node.producer, Step)
        spec, tables = node.producer.spec, sample.tables(node, MANY_ROWS if kind == "swap_triple" else ROWS)
    cls = load("step", kind)
    tables = {port: table for port, table in tables.items() if port in cls.ports}
    context = StepContext(
        seed=sample.loaded.recipe.seed, language=sample.loaded.recipe.language, step=node.name if node else kind,
        cache=tmp_path / "cache", workplace=tmp_path / "people",
    )  # fmt: skip
    shard = check_step(lambda: cls(spec, context), tables)
    assert len(shard.rows) > 0, "an example of which nothing is kept checks little"


@pytest.mark.push
def test_steps_of_the_flow_take_any_part_of_their_rows(sample: Sample, tmp_path: Path) -> None:
    """Checks every step of the recipe on a few of its rows."""
    for name, node in sample.plan.nodes.items():
        if isinstance(node.producer, Step):
            step = node.producer
            context = replace(step.context, cache=tmp_path / name, workplace=tmp_path)
            tables = sample.tables(node, 3)
            check_step(lambda s=step, c=context: type(s)(s.spec, c), tables)


def _pieces(folder: Path) -> dict[str, Any]:
    tiny_models.tokenizer(None).save_pretrained(folder)
    return {"path": str(folder)}


TOKENIZERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "character_ngrams": lambda _: {"shortest": 2, "longest": 4, "within": "words"},
    "huggingface": _pieces,
    "whitespace": lambda _: {"punctuation": "apart"},
}
"""The settings of an example of each kind of tokenizer that the recipe does not use."""


@pytest.mark.parametrize("kind", in_tiers(every("tokenizer")))  # pytest.mark.push, or pytest.mark.full
def test_tokenizer(sample: Sample, kind: str, tmp_path: Path) -> None:
    spec = sample.loaded.recipe.tokenizer
    if spec.kind != kind:
        spec = load("tokenizer", kind).spec_class(kind=kind, **TOKENIZERS[kind](tmp_path))
    check_tokenizer(lambda: registry.create_from_spec("tokenizer", spec), TEXTS)


def _by_words(kind: str, variant: str) -> Callable[[Any, Path], KindSpec]:
    return lambda bm25, _: load("retriever", kind).spec_class(**{**dict(bm25), "kind": kind, "variant": variant})


def _dense(_: Any, folder: Path) -> KindSpec:
    given = {"path": str(tiny_encoders.encoder(folder / "encoder")), "query_prefix": "q: ", "passage_prefix": "p: "}
    return load("retriever", "dense").spec_class(kind="dense", **given, top_k=3, device="cpu")


def _hybrid(bm25: Any, folder: Path) -> KindSpec:
    given = {"lists": {"words": bm25, "meaning": _dense(bm25, folder)}, "weights": {"words": 2.0}, "k": 60, "top_k": 4}
    return load("retriever", "hybrid").spec_class(kind="hybrid", **given)


VARIANTS = ("okapi", "l", "plus")
RETRIEVERS: dict[str, Callable[[Any, Path], KindSpec]] = {
    **{f"{kind} {variant}": _by_words(kind, variant) for kind in ("bm25", "rank_bm25") for variant in VARIANTS},
    "dense": _dense,
    "hybrid": _hybrid,
}


def test_every_retriever_has_an_example() -> None:
    assert {example.partition(" ")[0] for example in RETRIEVERS} == set(every("retriever"))


@pytest.mark.parametrize("example", in_tiers(RETRIEVERS))  # pytest.mark.push, or pytest.mark.full
def test_retriever(sample: Sample, example: str, tmp_path: Path) -> None:
    spec = RETRIEVERS[example](sample.loaded.recipe.retriever, tmp_path)
    texts = sample.store.rows(sample.manifests["paragraphs"]).column("text")[:80]
    queries = sample.store.rows(sample.manifests["candidates"]).column("question")[:12]
    matches = check_retriever(lambda: registry.create_from_spec("retriever", spec), texts, [*queries, "qqqq zzzz"])
    if "bm25" in example:
        assert not matches[-1]


REQUESTS = [
    Request((Message("user", text),), {"temperature": temperature, "max_new_tokens": 12}, sample=sample)
    for text in TEXTS
    for temperature, sample in ((0.0, 0), (0.7, 0), (0.7, 1))
]


def _replay(folder: Path) -> dict[str, Any]:
    replies = (
        RecordedReply.from_reply(request, Reply(f"{n}", "complete"), model="m") for n, request in enumerate(REQUESTS)
    )
    write_replies(folder / "replies.jsonl", replies)
    return {"replies": str(folder / "replies.jsonl")}


def _transformers(folder: Path) -> dict[str, Any]:
    model = tiny_models.causal(folder / "model")
    return {"path": str(model), "architecture": "causal", "dtype": "float32", "device": "cpu"}


MODELS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "none": lambda _: {},
    "openai": lambda _: {"name": "some-model"},
    "replay": _replay,
    "transformers": _transformers,
}
"""The settings of an example of each kind of model."""


@pytest.mark.parametrize("kind", in_tiers(every("model")))  # pytest.mark.push, or pytest.mark.full
def test_model(kind: str, tmp_path: Path) -> None:
    assert kind in MODELS, f"write an example of the model {kind!r} in MODELS"
    spec = load("model", kind).spec_class(kind=kind, **MODELS[kind](tmp_path))
    replies = check_model(lambda: registry.create_from_spec("model", spec), REQUESTS)
    assert len(replies) == (len(REQUESTS) if kind in ("replay", "transformers") else 0)


@pytest.mark.push
@pytest.mark.parametrize("kind", every("exporter"))
def test_exporter(sample: Sample, kind: str) -> None:
    specs = [spec for spec in sample.loaded.recipe.outputs.values() if spec.kind == kind]
    if not specs and sample.evaluation is not None:
        sample = sample.evaluation
        specs = [spec for spec in sample.plan.recipe.outputs.values() if spec.kind == kind]
    assert specs, f"the recipe writes nothing with the exporter {kind!r}: write an example here"
    for spec in specs:
        check_exporter(lambda s=spec: registry.create_from_spec("exporter", s), sample.finished())
