"""Kinds: slot plus name to class, from a built-in table and entry points, imported only when asked for."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import TYPE_CHECKING, Any

from benchbuilder.errors import InstallationError

if TYPE_CHECKING:
    from benchbuilder.records.envelope import Row

SLOTS = (
    "source", "payload", "stage", "tokenizer", "retriever", "model", "votes", "baseline", "solver", "scorer",
    "metric", "judge", "exporter", "executor",
)  # fmt: skip

BUILT_IN: dict[str, dict[str, str]] = {
    "payload": {
        "triple": "benchbuilder.records.fact:Triple",
        "choice": "benchbuilder.records.fact:Choice",
        "several_choice": "benchbuilder.records.several:SeveralChoice",
        "claim": "benchbuilder.records.item:Claim",
        "term": "benchbuilder.records.term:Term",
    },
    "source": {
        "triples": "benchbuilder.sources.triples:Triples",
        "triple_tables": "benchbuilder.sources.triple_tables:TripleTables",
        "multiple_choice": "benchbuilder.sources.multiple_choice:MultipleChoice",
        "several_choice": "benchbuilder.sources.several_choice:SeveralChoices",
        "corpus": "benchbuilder.sources.corpus:Corpus",
        "huggingface": "benchbuilder.sources.huggingface:HuggingFace",
        "rdf": "benchbuilder.sources.rdf:Rdf",
        "sql": "benchbuilder.sources.sql:Sql",
        "terms": "benchbuilder.sources.terms:Terms",
        "wikipedia": "benchbuilder.sources.wikipedia:Wikipedia",
        "books": "benchbuilder.sources.books:Books",
        "benchmark": "benchbuilder.sources.benchmark:Benchmark",
        "built_items": "benchbuilder.sources.built_items:BuiltItems",
    },
    "tokenizer": {
        "character_ngrams": "benchbuilder.tokenizers.character_ngrams:CharacterNgrams",
        "huggingface": "benchbuilder.tokenizers.huggingface:Huggingface",
        "jieba": "benchbuilder.tokenizers.jieba:Jieba",
        "whitespace": "benchbuilder.tokenizers.whitespace:Whitespace",
    },
    "retriever": {
        "bm25": "benchbuilder.retrievers.bm25:Bm25",
        "rank_bm25": "benchbuilder.retrievers.rank_bm25:RankBm25",
        "dense": "benchbuilder.retrievers.dense:Dense",
        "hybrid": "benchbuilder.retrievers.hybrid:Hybrid",
    },
    "model": {
        "none": "benchbuilder.models.none:NoModel",
        "openai": "benchbuilder.models.openai:OpenAI",
        "replay": "benchbuilder.models.replay:Replay",
        "transformers": "benchbuilder.models.transformers:Transformers",
    },
    "votes": {
        "app": "benchbuilder.votes.app:AppVotes",
        "files": "benchbuilder.votes.files:FileVotes",
        "none": "benchbuilder.votes.none:NoVotes",
    },
    "stage": {
        "convert_script": "benchbuilder.stages.convert_script:ConvertScript",
        "split_answers": "benchbuilder.stages.split_answers:SplitAnswers",
        "clean_choice": "benchbuilder.stages.clean_choice:CleanChoice",
        "split_stem": "benchbuilder.stages.split_stem:SplitStem",
        "sample": "benchbuilder.stages.sample:Sample",
        "screen": "benchbuilder.stages.screen:Screen",
        "topic": "benchbuilder.stages.topic:Topic",
        "deduplicate": "benchbuilder.stages.deduplicate:Deduplicate",
        "state_choice": "benchbuilder.stages.state_choice:StateChoice",
        "state_option": "benchbuilder.stages.state_option:StateOption",
        "state_triple": "benchbuilder.stages.state_triple:StateTriple",
        "negate": "benchbuilder.stages.negate:Negate",
        "negate_triple": "benchbuilder.stages.negate_triple:NegateTriple",
        "deny": "benchbuilder.stages.deny:Deny",
        "replace": "benchbuilder.stages.replace:Replace",
        "replace_triple": "benchbuilder.stages.replace_triple:ReplaceTriple",
        "ask_tf": "benchbuilder.stages.ask_tf:AskTf",
        "ask_tf_triple": "benchbuilder.stages.ask_tf_triple:AskTfTriple",
        "ask_oe": "benchbuilder.stages.ask_oe:AskOe",
        "ask_oe_triple": "benchbuilder.stages.ask_oe_triple:AskOeTriple",
        "translate": "benchbuilder.stages.translate:Translate",
        "tidy_term": "benchbuilder.stages.tidy_term:TidyTerm",
        "merge_terms": "benchbuilder.stages.merge_terms:MergeTerms",
        "assemble": "benchbuilder.stages.assemble:Assemble",
        "paragraphs": "benchbuilder.stages.paragraphs:Paragraphs",
        "retrieve": "benchbuilder.stages.retrieve:Retrieve",
        "annotate": "benchbuilder.stages.annotate:Annotate",
        "vote": "benchbuilder.stages.vote:Vote",
        "answer": "benchbuilder.stages.answer:AnswerItems",
        "follow_up": "benchbuilder.stages.follow_up:FollowUp",
        "answer_by_rule": "benchbuilder.stages.answer_by_rule:AnswerByRule",
        "score": "benchbuilder.stages.score:ScoreAnswers",
        "score_by_model": "benchbuilder.stages.score_by_model:ScoreByModel",
    },
    "baseline": {
        "constant": "benchbuilder.baselines.constant:Constant",
        "echo": "benchbuilder.baselines.echo:Echo",
        "best_evidence": "benchbuilder.baselines.best_evidence:BestEvidence",
        "recorded": "benchbuilder.baselines.recorded:RecordedAnswers",
        "people": "benchbuilder.baselines.people:PeopleAnswers",
        "random": "benchbuilder.baselines.random:Random",
    },
    "solver": {"direct": "benchbuilder.solvers.direct:Direct"},
    "metric": {
        "mean": "benchbuilder.metrics.mean:Mean",
        "cluster_mean": "benchbuilder.metrics.cluster_mean:ClusterMean",
        "micro_f1": "benchbuilder.metrics.micro_f1:MicroF1",
    },
    "scorer": {
        "verdict": "benchbuilder.scorers.verdict:Verdict",
        "similarity": "benchbuilder.scorers.similarity:Similarity",
        "exact": "benchbuilder.scorers.exact:Exact",
        "ratings": "benchbuilder.scorers.ratings:Ratings",
        "judged": "benchbuilder.scorers.judged:Judged",
    },
    "judge": {
        "similarity": "benchbuilder.judges.similarity:SimilarityJudge",
        "tfidf_ridge": "benchbuilder.judges.tfidf_ridge:TfidfRidge",
        "encoder": "benchbuilder.judges.encoder:EncoderJudge",
        "decoder": "benchbuilder.judges.decoder:DecoderJudge",
        "prompted": "benchbuilder.judges.prompted:PromptedJudge",
        "openai_finetuned": "benchbuilder.judges.openai_finetuned:OpenAIFinetuned",
    },
    "executor": {"local": "benchbuilder.executors.local:LocalExecutor"},
    "exporter": {
        "jsonl": "benchbuilder.exporters.jsonl:Jsonl",
        "parquet": "benchbuilder.exporters.parquet:Parquet",
        "tsv": "benchbuilder.exporters.tsv:Tsv",
        "card": "benchbuilder.exporters.card:Card",
        "report": "benchbuilder.exporters.report:Report",
        "results": "benchbuilder.exporters.results:Results",
        "answers": "benchbuilder.exporters.answers:Answers",
    },
}


@dataclass(frozen=True)
class Kind:
    """A kind that is known by name; `load` imports it."""

    slot: str
    name: str
    target: str
    distribution: str
    version: str

    def load(self) -> type[Any]:
        """The class; InstallationError if it cannot be imported."""
        module, _, attribute = self.target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise InstallationError(
                f"the {self.slot} kind {self.name!r} of {self.distribution} cannot be imported",
                where=self.target,
                why=str(error),
                next=f"reinstall {self.distribution}, with the extra that this kind needs",
            ) from error


@cache
def known(slot: str) -> dict[str, Kind]:
    """Every kind of `slot` by name; imports nothing. A name claimed twice raises InstallationError."""
    from benchbuilder import __version__

    built_in = BUILT_IN.get(slot, {})
    kinds = {name: Kind(slot, name, target, "benchbuilder", __version__) for name, target in built_in.items()}
    for entry in _installed(tuple(sys.path)).select(group=f"benchbuilder.{slot}"):
        kind = _plugged(slot, entry)
        if (other := kinds.get(kind.name)) is not None:
            raise InstallationError(
                f"two distributions claim the {slot} kind {kind.name!r}: {other.distribution} and {kind.distribution}",
                next=f"uninstall {other.distribution if other.distribution != 'benchbuilder' else kind.distribution}",
            )
        kinds[kind.name] = kind
    return dict(sorted(kinds.items()))


@cache
def _installed(path: tuple[str, ...]) -> EntryPoints:  # noqa: ARG001
    """What is installed along `path`: to read it takes as long for one slot as for all."""
    found: Any = entry_points()
    return found


def _plugged(slot: str, entry: EntryPoint) -> Kind:
    dist = entry.dist
    return Kind(slot, entry.name, entry.value, dist.name if dist else "?", dist.version if dist else "?")


def find(slot: str, name: str) -> Kind:
    """The kind `name` of `slot`; InstallationError with a did-you-mean if there is none."""
    kinds = known(slot)
    if name not in kinds:
        close = get_close_matches(name, kinds, n=1)
        raise InstallationError(
            f"there is no {slot} kind {name!r}",
            why=f"installed: {', '.join(kinds)}",
            next=f"did you mean {close[0]!r}?" if close else "benchbuild ls --kinds lists what is installed",
        )
    return kinds[name]


def create(slot: str, spec: Any, *args: Any) -> Any:
    """The object that `spec` (with its `kind`) describes: the kind's class called with `spec` and `args`."""
    return find(slot, spec.kind).load()(spec, *args)


ROLES = ("statement", "question", "passage", "candidate", "evidence", "answer", "score")
"""The names of the row classes without a payload, each that of a module of `benchbuilder.records` too."""


def row_name(cls: type[Row]) -> str:
    """The name of a row class as manifests and messages write it: ``fact[triple]``, ``statement``."""
    if "payload" not in cls.model_fields:
        return cls.name
    payload = cls.model_fields["payload"].annotation
    return f"{cls.name}[{getattr(payload, 'kind', 'any')}]"


@cache
def row_class(name: str) -> type[Row]:
    """The row class that `row_name` names."""
    role, _, payload = name.rstrip("]").partition("[")
    if role not in (*ROLES, "fact", "item"):
        raise KeyError(role)
    made: Any = getattr(importlib.import_module(f"benchbuilder.records.{role}"), role.capitalize())
    return made[find("payload", payload).load()] if payload else made
