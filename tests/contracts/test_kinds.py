"""Every built-in kind keeps its contract, with the settings of the bundled recipe and the rows that it gets there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import tiny_judges
import tiny_models
import yaml
from several_examples import bundled, right_options, several_answers
from source_examples import SOURCES

from benchbuilder import kinds
from benchbuilder.build import build, finished_build
from benchbuilder.evaluating import plan_evaluation
from benchbuilder.loading import Loaded, load_recipe
from benchbuilder.models.replay import Recorded, write_replies
from benchbuilder.plan import Node, Plan, make_plan
from benchbuilder.ports.exporter import Finished
from benchbuilder.ports.judge import Example, case_of
from benchbuilder.ports.metric import Scored
from benchbuilder.ports.model import Message, Reply, Request
from benchbuilder.ports.solver import Asked
from benchbuilder.ports.source import Source
from benchbuilder.ports.stage import Context, Stage
from benchbuilder.records.fates import Dropped, Kept
from benchbuilder.records.table import Table
from benchbuilder.spec.base import KindSpec
from benchbuilder.spec.model import Sampling
from benchbuilder.store.checksums import Checksums
from benchbuilder.store.folder import Store
from benchbuilder.store.manifest import Manifest
from benchbuilder.testing import (
    check_baseline,
    check_exporter,
    check_judge,
    check_kind,
    check_metric,
    check_model,
    check_payload,
    check_retriever,
    check_scorer,
    check_solver,
    check_source,
    check_stage,
    check_tokenizer,
)

ROWS = 24
"""How many rows a stage gets of each table."""

TEXTS = (
    "孕妇应当注意补充叶酸。", "妊娠期 12周\t超声检查", "BMI ≥ 30 kg/m²，β-hCG (+)", "Zinc 5.0mg/d, q.d.",
    "\n", "　全角　",
    "新生儿黄疸多在出生后2～3天出现，4～5天达高峰。", "𠮷野家👶🏽", "a", "  ",
    "ما هو العلاج؟ ٢٫٥ ملغم", "โรคเบาหวานขณะตั้งครรภ์", "क्या शिशु को शहद दे सकते हैं?", "Ọmọ ọwọ́ kò gbọdọ̀ mu omi.",
)  # fmt: skip


class Quiet:
    """Watches and says nothing."""

    def begin(self, step: str, total: int | None, unit: str) -> None: ...

    def advance(self, step: str, count: int) -> None: ...

    def end(self, step: str, summary: str) -> None: ...

    def note(self, text: str) -> None: ...


@dataclass(frozen=True)
class Sample:
    """The bundled recipe, built over its sample data without people."""

    loaded: Loaded
    plan: Plan
    store: Store
    manifests: dict[str, Manifest]
    evaluation: Sample | None = None

    def rows(self, step: str) -> list[Any]:
        """The rows of a step."""
        return list(self.store.rows(self.manifests[step]))

    def finished(self) -> Finished:
        """What its exporters get."""
        return finished_build(self.plan, self.store, self.manifests, self.loaded.yaml)

    def of(self, slot: str, kind: str) -> Sample:
        """The evaluation where the flow has no such source or step, and the evaluation has."""
        return self.evaluation if self.evaluation is not None and self.node(slot, kind) is None else self

    def node(self, slot: str, kind: str) -> Node | None:
        """A source or step of a kind; one with rows, if there is one."""
        wanted = Source if slot == "source" else Stage
        nodes = [node for node in self.plan.nodes.values() if node.kind == kind and isinstance(node.maker, wanted)]
        return max(nodes, key=lambda node: self.manifests[node.name].rows, default=None)

    def tables(self, node: Node, rows: int) -> dict[str, Table[Any]]:
        """The rows that a step gets, the rows of its `each` port cut to `rows` and the others to what belongs there."""
        found: dict[str, Table[Any]] = {}
        assert isinstance(node.maker, Stage)
        for port, names in node.inputs.items():
            tables = [self.store.rows(self.manifests[name]) for name in names]
            found[port] = Table.concat(tables, tables[0].row)
        each = found["each"].arrow
        step = max(1, len(each) // rows)
        found["each"] = Table(each.take(pa.array(range(0, len(each), step))), found["each"].row)
        return found


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    kinds.known.cache_clear()
    folder = tmp_path_factory.mktemp("sample")
    loaded = load_recipe(["recipe=care_mi", "annotation=none", f"run.dir={folder / 'build'}"], cwd=folder, environ={})
    store = Store(loaded.recipe.folder(folder))
    plan = make_plan(loaded.recipe, store, Checksums(store.checksums).of)
    report = build(plan, store, loaded.yaml, Quiet())
    planned = plan_evaluation(loaded, folder)
    made = build(planned.plan, planned.store, loaded.yaml, Quiet(), outputs=False)
    evaluation = Sample(loaded, planned.plan, planned.store, made.manifests)
    yield Sample(loaded, plan, store, report.manifests, evaluation)
    kinds.known.cache_clear()


def _all(slot: str) -> list[str]:
    return sorted(kinds.BUILT_IN[slot])


def _load(slot: str, kind: str) -> type[Any]:
    return kinds.Kind(slot, kind, kinds.BUILT_IN[slot][kind], "benchbuilder", "").load()


EVERY = [(slot, kind) for slot in kinds.SLOTS for kind in _all(slot)]


@pytest.mark.parametrize(("slot", "kind"), EVERY)
def test_kind_says_what_it_is(slot: str, kind: str) -> None:
    check_kind(slot, kind, _load(slot, kind))


@pytest.mark.parametrize("kind", _all("payload"))
def test_payload(kind: str) -> None:
    check_payload(_load("payload", kind))


@pytest.mark.parametrize("kind", _all("source"))
def test_source(sample: Sample, kind: str, tmp_path: Path) -> None:
    if kind == "benchmark":
        cls = _load("source", kind)
        path = tmp_path / "items.jsonl"
        kinds.create("exporter", sample.loaded.recipe.outputs["items_jsonl"]).write(sample.finished(), tmp_path)
        check_source(cls(cls.spec_class(kind=kind, path=str(path)), "benchmark", "zh"))
        return
    if kind == "several_choice":
        check_source(_load("source", kind)(bundled("law_zh").sources["jec_qa"], "jec_qa", "zh"))
        return
    if kind in SOURCES:
        cls = _load("source", kind)
        units = check_source(cls(cls.spec_class(kind=kind, **SOURCES[kind](tmp_path)), "example", "zh"))
        assert {type(unit.fate) for unit in units} == {Kept, Dropped}
        return
    node = sample.of("source", kind).node("source", kind)
    assert node is not None, f"the recipe has no source of the kind {kind!r}: write an example here"
    assert isinstance(node.maker, Source)
    check_source(node.maker)


# --- stages that the recipe's flow does not have, or switches off: their settings, from those of the recipe's steps


def _ask_oe_triple(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    asks = sample.plan.nodes["ask_tf_triple"]
    spec = sample.loaded.recipe.steps["ask_tf_triple"]
    given = {
        "kind": "ask_oe_triple", "from": "state_triple", "enabled": True, "relations": spec.relations,
        "mark": spec.mark, "ends": spec.ends, "ignore": "",
    }  # fmt: skip
    return _load("stage", "ask_oe_triple").spec_class.model_validate(given), sample.tables(asks, ROWS)


def _replace_triple(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    node = sample.plan.nodes["replace_triple"]
    assert isinstance(node.maker, Stage)
    return node.maker.spec.model_copy(update={"enabled": True}), sample.tables(node, ROWS)


def _convert_script(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    node = sample.plan.nodes["choices"]
    assert isinstance(node.maker, Stage)
    return node.maker.spec.model_copy(update={"convert": "t2s"}), sample.tables(node, 200)


def _deny(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    rows = sample.tables(sample.plan.nodes["ask_tf_choice"], ROWS)["each"]
    return bundled("law_zh").steps["deny_options"], {"each": rows}


def _sample(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    given = {"kind": "sample", "from": "choices", "n": 5, "by": "payload.category"}
    each = sample.tables(sample.plan.nodes["choices"], ROWS)["each"]
    return _load("stage", "sample").spec_class.model_validate(given), {"each": each}


def _vote(sample: Sample) -> tuple[Any, dict[str, Table[Any]]]:
    """Nobody is asked; with votes: tests/stages/test_vote.py."""
    spec = _load("stage", "vote").spec_class.model_validate({"kind": "vote", "from": "items"})
    items = sample.store.rows(sample.manifests["items"])
    return spec.model_copy(update={"votes": sample.loaded.recipe.annotation}), {"each": items}


SPECIAL: dict[str, Callable[[Sample], tuple[Any, dict[str, Table[Any]]]]] = {
    "ask_oe_triple": _ask_oe_triple,
    "replace_triple": _replace_triple,
    "convert_script": _convert_script,
    "sample": _sample,
    "vote": _vote,
    "split_answers": lambda _: several_answers(),
    "state_option": lambda _: right_options(),
    "deny": _deny,
}

SOME_KEPT = set(_all("stage"))
"""Stages of which some row of the example must come through, or the check would say little: all of them."""


ASKING = {"answer", "follow_up", "score_by_model"}
"""Stages that do nothing without a model: see tests/stages/test_answering.py."""


@pytest.mark.parametrize("kind", sorted(set(_all("stage")) - ASKING))
def test_stage(sample: Sample, kind: str, tmp_path: Path) -> None:
    if kind not in SPECIAL:
        sample = sample.of("stage", kind)
    node = sample.node("stage", kind)
    if kind in SPECIAL:
        spec, tables = SPECIAL[kind](sample)
    else:
        assert node is not None, f"the recipe has no step of the kind {kind!r}: write an example in SPECIAL"
        assert isinstance(node.maker, Stage)
        spec, tables = node.maker.spec, sample.tables(node, ROWS)
    cls = _load("stage", kind)
    tables = {port: table for port, table in tables.items() if port in cls.ports}
    context = Context(
        seed=sample.loaded.recipe.seed, language=sample.loaded.recipe.language, step=node.name if node else kind,
        cache=tmp_path / "cache", workplace=tmp_path / "people",
    )  # fmt: skip
    shard = check_stage(lambda: cls(spec, context), tables)
    if kind in SOME_KEPT:
        assert len(shard.rows) > 0


def test_stages_of_the_flow_take_any_part_of_their_rows(sample: Sample, tmp_path: Path) -> None:
    """Every step of the recipe, on its first rows alone."""
    for name, node in sample.plan.nodes.items():
        if isinstance(node.maker, Stage):
            stage = node.maker
            context = replace(stage.context, cache=tmp_path / name, workplace=tmp_path)
            tables = sample.tables(node, 3)
            check_stage(lambda s=stage, c=context: type(s)(s.spec, c), tables)


def _pieces(folder: Path) -> dict[str, Any]:
    tiny_models.tokenizer(None).save_pretrained(folder)
    return {"path": str(folder)}


TOKENIZERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "character_ngrams": lambda _: {"shortest": 2, "longest": 4, "within": "words"},
    "huggingface": _pieces,
    "whitespace": lambda _: {"punctuation": "apart"},
}
"""The settings of an example of each kind of tokenizer that the recipe does not use."""


@pytest.mark.parametrize("kind", _all("tokenizer"))
def test_tokenizer(sample: Sample, kind: str, tmp_path: Path) -> None:
    spec = sample.loaded.recipe.tokenizer
    if spec.kind != kind:
        spec = _load("tokenizer", kind).spec_class(kind=kind, **TOKENIZERS[kind](tmp_path))
    check_tokenizer(lambda: kinds.create("tokenizer", spec), TEXTS)


@pytest.mark.parametrize("kind", _all("retriever"))
@pytest.mark.parametrize("variant", ["okapi", "l", "plus"])
def test_retriever(sample: Sample, kind: str, variant: str) -> None:
    spec: KindSpec = sample.loaded.recipe.retriever
    assert spec.kind == kind, f"the recipe does not retrieve with {kind!r}: write an example here"
    spec = spec.model_copy(update={"variant": variant})
    texts = sample.store.rows(sample.manifests["paragraphs"]).column("text")[:80]
    queries = sample.store.rows(sample.manifests["candidates"]).column("question")[:12]
    hits = check_retriever(lambda: kinds.create("retriever", spec), texts, [*queries, "qqqq zzzz"])
    assert not hits[-1]


REQUESTS = [
    Request((Message("user", text),), {"temperature": temperature, "max_new_tokens": 12}, sample=sample)
    for text in TEXTS
    for temperature, sample in ((0.0, 0), (0.7, 0), (0.7, 1))
]


def _replay(folder: Path) -> dict[str, Any]:
    replies = (Recorded.of(asked, Reply(f"{n}", "complete"), model="m") for n, asked in enumerate(REQUESTS))
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


@pytest.mark.parametrize("kind", _all("model"))
def test_model(kind: str, tmp_path: Path) -> None:
    assert kind in MODELS, f"write an example of the model {kind!r} in MODELS"
    spec = _load("model", kind).spec_class(kind=kind, **MODELS[kind](tmp_path))
    replies = check_model(lambda: kinds.create("model", spec), REQUESTS)
    assert len(replies) == (len(REQUESTS) if kind in ("replay", "transformers") else 0)


def _judge_example(kind: str, sample: Sample, folder: Path | None = None) -> dict[str, Any]:
    """The settings of an example of each kind of judge."""
    assert sample.loaded.recipe.evaluation is not None
    bundled = [spec for spec in sample.loaded.recipe.evaluation.judges.values() if spec.kind == kind]
    if kind == "openai_finetuned":
        more = ["evaluation=[zh_claims,zh_finetuned]", "model=openai", "model.name=some-model"]
        evaluation = load_recipe(["recipe=care_mi", *more], environ={}).recipe.evaluation
        assert evaluation is not None
        bundled = [spec for spec in evaluation.judges.values() if spec.kind == kind]
    if bundled:
        return dict(bundled[0])
    prompts = Path(__file__).resolve().parents[2] / "prompts" / "zh"
    if kind in ("encoder", "decoder"):
        assert folder is not None
        said = yaml.safe_load((prompts.parents[1] / "recipes" / "judge" / f"{kind}.yaml").read_text("utf-8"))
        base = tiny_judges.encoder(folder) if kind == "encoder" else tiny_judges.decoder(folder)
        small = {"path": str(base), "epochs": 1, "device": "cpu", "max_length": 96, "gradient_checkpointing": False}
        more = {"prompt": str(prompts / "judge_decoder.j2")} if kind == "decoder" else {}
        return {**said, **small, **more}
    assert kind == "prompted", f"write an example of the judge {kind!r} here"
    prompt = {"path": "zh/judge_correctness.j2", "at": str(prompts / "judge_correctness.j2")}
    return {"kind": kind, "aspect": "correctness", "max_evidence_chars": 500, "reply": "json", "prompt": prompt}


@pytest.mark.parametrize("kind", _all("baseline"))
def test_baseline(sample: Sample, kind: str, tmp_path: Path) -> None:
    assert sample.evaluation is not None
    steps = sample.evaluation.plan.recipe.steps.values()
    specs = [step.baseline for step in steps if step.kind == "answer_by_rule" and step.baseline.kind == kind]
    if kind == "random":
        specs = [
            _load("baseline", kind).spec_class(kind=kind, seed=1, texts={"tf": ("对。", "不对。")}, otherwise=("无",))
        ]
    assert specs, f"the recipe has no baseline of the kind {kind!r}: write an example here"
    answers = check_baseline(lambda: kinds.create("baseline", specs[0]), sample.evaluation.rows("benchmark"), tmp_path)
    assert any(text for text, _ in answers)


@pytest.mark.parametrize("kind", _all("solver"))
def test_solver(sample: Sample, kind: str) -> None:
    spec = _load("solver", kind).spec_class(kind=kind)
    asked = Asked("some_model", sample.loaded.recipe.model, None, None, Sampling())
    steps = check_solver(lambda: kinds.create("solver", spec), asked)
    assert steps["answer"].from_ == {"each": ("item",)}


METRICS: dict[str, dict[str, Any]] = {
    "mean": {"missing": "zero"}, "cluster_mean": {"missing": "left_out"}, "micro_f1": {},
}  # fmt: skip
"""The settings of an example of each kind of metric."""


@pytest.mark.parametrize("kind", _all("metric"))
def test_metric(sample: Sample, kind: str) -> None:
    evaluation = sample.evaluation
    assert evaluation is not None
    facts = {item.id: item.fact for item in evaluation.rows("benchmark")}
    scores = [score.model_copy(update={"counts": (place % 2, 1 + place % 3, 2)})
              for place, score in enumerate(evaluation.rows("verdict.model_jia"))]  # fmt: skip
    spec = _load("metric", kind).spec_class(kind=kind, aspect="verdict", **METRICS[kind])
    found = check_metric(lambda: kinds.create("metric", spec), [Scored(one, facts[one.item]) for one in scores])
    assert any(0 < value < 1 for value in found.values())


@pytest.mark.parametrize("kind", _all("scorer"))
def test_scorer(sample: Sample, kind: str, tmp_path: Path) -> None:
    evaluation = sample.evaluation
    assert evaluation is not None
    assert sample.loaded.recipe.evaluation is not None
    specs = [spec for spec in sample.loaded.recipe.evaluation.scorers.values() if spec.kind == kind]
    if kind == "exact":
        specs = [_load("scorer", kind).spec_class(kind=kind, announced=("答案是",), ignore="。，", drop=())]
    if kind == "judged":
        judge = _load("judge", "similarity").spec_class.model_validate(_similarity())
        specs = [_load("scorer", kind).spec_class(kind=kind, judge=judge, language="zh")]
    assert specs, f"the recipe has no scorer of the kind {kind!r}: write an example here"
    items = {item.id: item for item in evaluation.rows("benchmark")}
    answers = [*evaluation.rows("answer.model_jia")[::9], *evaluation.rows("answer.echo")[::31]]
    pairs = [(answer, items[answer.of]) for answer in answers]
    context = Context(1, "zh", "scoring", tmp_path / "cache", tmp_path / "people")
    scored = check_scorer(lambda: kinds.create("scorer", specs[0], context), pairs)
    assert any(isinstance(one, tuple) for one in scored)


def _similarity() -> dict[str, Any]:
    tokenizer = _load("tokenizer", "jieba").spec_class(kind="jieba")
    return {"kind": "similarity", "aspect": "correctness", "measure": "rouge_l", "tokenizer": tokenizer}


@pytest.mark.parametrize("kind", _all("judge"))
def test_judge(sample: Sample, kind: str, tmp_path: Path) -> None:
    evaluation = sample.evaluation
    assert evaluation is not None
    items = {item.id: item for item in evaluation.rows("benchmark")}
    answered = [answer for answer in evaluation.rows("answer.model_yi") if answer.text][:40]
    cases = [case_of(items[answer.of], answer.text) for answer in answered]
    examples = [
        Example(case, (place % 11) / 10, 1.0, answer.of, items[answer.of].fact, answer.model, answer.partition)
        for place, (case, answer) in enumerate(zip(cases, answered, strict=True))
    ]
    given = _similarity() if kind == "similarity" else _judge_example(kind, sample, tmp_path / "base")
    spec = _load("judge", kind).spec_class.model_validate(given)
    (tmp_path / "judge").mkdir()
    found = check_judge(lambda: kinds.create("judge", spec), cases[:12], examples, tmp_path / "judge")
    assert len(found) == (0 if kind in ("prompted", "openai_finetuned") else 12)


@pytest.mark.parametrize("kind", _all("exporter"))
def test_exporter(sample: Sample, kind: str) -> None:
    specs = [spec for spec in sample.loaded.recipe.outputs.values() if spec.kind == kind]
    if not specs and sample.evaluation is not None:
        sample = sample.evaluation
        specs = [spec for spec in sample.plan.recipe.outputs.values() if spec.kind == kind]
    assert specs, f"the recipe writes nothing with the exporter {kind!r}: write an example here"
    for spec in specs:
        check_exporter(lambda s=spec: kinds.create("exporter", s), sample.finished())
