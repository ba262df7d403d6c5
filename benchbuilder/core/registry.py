"""Kinds by slot and name, from a built-in table and entry points; imported on first use."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import TYPE_CHECKING, Any

from benchbuilder.core.errors import InstallationError
from benchbuilder.core.extras import explain_import_error

if TYPE_CHECKING:
    from benchbuilder.core.records.row import Row

SLOTS = (
    "source", "payload", "step", "tokenizer", "retriever", "model", "annotation", "baseline", "solver", "scorer",
    "metric", "judge", "verifier", "view", "exporter", "executor",
)  # fmt: skip

BUILT_IN_KINDS: dict[str, dict[str, str]] = {
    "payload": {
        "triple": "benchbuilder.core.records.payloads:Triple",
        "choice": "benchbuilder.core.records.payloads:Choice",
        "several_choice": "benchbuilder.core.records.payloads:MultipleAnswerChoice",
        "claim": "benchbuilder.core.records.payloads:Claim",
        "question_answer": "benchbuilder.core.records.answered:QuestionAnswer",
        "labelled_claim": "benchbuilder.core.records.payloads:LabelledClaim",
        "procedure": "benchbuilder.core.records.procedures:Procedure",
        "term": "benchbuilder.core.records.payloads:Term",
    },
    "source": {
        "triples": "benchbuilder.sources.triples:Triples",
        "triple_tables": "benchbuilder.sources.triple_tables:TripleTables",
        "multiple_choice": "benchbuilder.sources.multiple_choice:MultipleChoice",
        "several_choice": "benchbuilder.sources.multiple_choice:SeveralChoices",
        "question_answer": "benchbuilder.sources.question_answer:QuestionAnswers",
        "claims": "benchbuilder.sources.claims:Claims",
        "procedures": "benchbuilder.sources.procedures:Procedures",
        "corpus": "benchbuilder.sources.corpus:Corpus",
        "huggingface": "benchbuilder.sources.huggingface:HuggingFace",
        "rdf": "benchbuilder.sources.rdf:Rdf",
        "sql": "benchbuilder.sources.record_source:Sql",
        "terms": "benchbuilder.sources.terms:Terms",
        "wikipedia": "benchbuilder.sources.wikipedia:Wikipedia",
        "books": "benchbuilder.sources.books:Books",
        "benchmark": "benchbuilder.sources.items:Benchmark",
        "built_items": "benchbuilder.sources.items:BuiltItems",
    },
    "tokenizer": {
        "character_ngrams": "benchbuilder.retrieval.tokenizers.simple:CharacterNgramsTokenizer",
        "huggingface": "benchbuilder.retrieval.tokenizers.huggingface:HuggingfaceTokenizer",
        "jieba": "benchbuilder.retrieval.tokenizers.jieba:JiebaTokenizer",
        "whitespace": "benchbuilder.retrieval.tokenizers.simple:WhitespaceTokenizer",
    },
    "retriever": {
        "bm25": "benchbuilder.retrieval.retrievers.bm25:Bm25Retriever",
        "rank_bm25": "benchbuilder.retrieval.retrievers.bm25:RankBm25Retriever",
        "dense": "benchbuilder.retrieval.retrievers.dense:DenseRetriever",
        "hybrid": "benchbuilder.retrieval.retrievers.hybrid:HybridRetriever",
    },
    "model": {
        "none": "benchbuilder.models.providers.none:NoModel",
        "openai": "benchbuilder.models.providers.openai:OpenAIModel",
        "replay": "benchbuilder.models.providers.replay:ReplayModel",
        "transformers": "benchbuilder.models.providers.transformers:TransformersModel",
    },
    "annotation": {
        "app": "benchbuilder.annotation.backends.app:AppBackend",
        "sheets": "benchbuilder.annotation.backends.sheets:SheetsBackend",
        "none": "benchbuilder.annotation.base:NoBackend",
    },
    "step": {
        "convert_script": "benchbuilder.steps.convert_script:ConvertScript",
        "split_answers": "benchbuilder.steps.choices:SplitAnswers",
        "clean_choice": "benchbuilder.steps.choices:CleanChoice",
        "split_stem": "benchbuilder.steps.choices:SplitStem",
        "sample": "benchbuilder.steps.selection:Sample",
        "screen": "benchbuilder.steps.screen:Screen",
        "screen_shown": "benchbuilder.steps.screen_shown:ScreenShown",
        "topic": "benchbuilder.steps.topic:Topic",
        "deduplicate": "benchbuilder.steps.selection:Deduplicate",
        "state_choice": "benchbuilder.steps.state_choice:StateChoice",
        "state_pairs": "benchbuilder.steps.state_pairs:StatePairs",
        "state_option": "benchbuilder.steps.state_option:StateOption",
        "state_triple": "benchbuilder.steps.template_statements:StateTriple",
        "negate": "benchbuilder.steps.negate:Negate",
        "negate_triple": "benchbuilder.steps.template_statements:NegateTriple",
        "deny": "benchbuilder.steps.template_statements:Deny",
        "replace": "benchbuilder.steps.replace:Replace",
        "swap_triple": "benchbuilder.steps.swap_triple:SwapTriple",
        "replace_triple": "benchbuilder.steps.replace_triple:ReplaceTriple",
        "ask_tf": "benchbuilder.steps.ask_tf:AskTf",
        "ask_true_or_false": "benchbuilder.steps.ask_true_or_false:AskTrueOrFalse",
        "ask_tf_triple": "benchbuilder.steps.triple_questions:AskTfTriple",
        "ask_oe": "benchbuilder.steps.ask_oe:AskOe",
        "ask_oe_triple": "benchbuilder.steps.triple_questions:AskOeTriple",
        "ask_set_triple": "benchbuilder.steps.ask_set_triple:AskSetTriple",
        "propose": "benchbuilder.steps.propose:Propose",
        "ask_verify": "benchbuilder.steps.ask_verify:AskVerify",
        "ask_pass": "benchbuilder.steps.ask_pass:AskPass",
        "translate": "benchbuilder.steps.translate:Translate",
        "draft_translation": "benchbuilder.steps.draft_translation:DraftTranslation",
        "normalise_term": "benchbuilder.steps.terms:NormaliseTerm",
        "merge_terms": "benchbuilder.steps.terms:MergeTerms",
        "choose_forms": "benchbuilder.steps.choose_forms:ChooseForms",
        "filter_predictable": "benchbuilder.steps.filter_predictable:FilterPredictable",
        "assemble": "benchbuilder.steps.assemble:Assemble",
        "group_families": "benchbuilder.steps.group_families:GroupFamilies",
        "correct": "benchbuilder.steps.correct:Correct",
        "paragraphs": "benchbuilder.steps.paragraphs:Paragraphs",
        "read_claims": "benchbuilder.steps.read_claims:ReadClaims",
        "confirm_claims": "benchbuilder.steps.confirm_claims:ConfirmClaims",
        "definitions": "benchbuilder.steps.definitions:Definitions",
        "find_claims": "benchbuilder.steps.find_claims:FindClaims",
        "order_claims": "benchbuilder.steps.order_facts:OrderClaims",
        "order_questions": "benchbuilder.steps.order_facts:OrderQuestions",
        "screen_claims": "benchbuilder.steps.screen_claims:ScreenClaims",
        "answer_claims": "benchbuilder.steps.answer_claims:AnswerClaims",
        "ask_claim": "benchbuilder.steps.answer_claims:AskClaim",
        "state_claim": "benchbuilder.steps.state_claim:StateClaim",
        "false_claims": "benchbuilder.steps.false_claims:FalseClaims",
        "wrong_answers": "benchbuilder.steps.wrong_answers:WrongAnswers",
        "retrieve": "benchbuilder.steps.retrieve:Retrieve",
        "annotate": "benchbuilder.steps.annotate:Annotate",
        "vote": "benchbuilder.steps.vote:VoteOnRows",
        "one_of_family": "benchbuilder.evaluation.steps.one_of_family:OneOfFamily",
        "reword": "benchbuilder.evaluation.steps.reword:Reword",
        "press": "benchbuilder.evaluation.steps.press:Press",
        "push": "benchbuilder.evaluation.steps.push:Push",
        "answer_pushed": "benchbuilder.evaluation.steps.push:AnswerPushed",
        "read_turns": "benchbuilder.evaluation.steps.push:ReadTurns",
        "answer": "benchbuilder.evaluation.steps.answer:AnswerItems",
        "follow_up": "benchbuilder.evaluation.steps.answer:FollowUp",
        "answer_by_rule": "benchbuilder.evaluation.steps.answer:AnswerByRule",
        "claims": "benchbuilder.evaluation.steps.claims:ReadAnswerClaims",
        "score": "benchbuilder.evaluation.steps.score:ScoreAnswers",
        "score_by_model": "benchbuilder.evaluation.steps.score:ScoreByModel",
    },
    "baseline": {
        "constant": "benchbuilder.evaluation.baselines.rules:ConstantBaseline",
        "echo": "benchbuilder.evaluation.baselines.rules:EchoBaseline",
        "best_evidence": "benchbuilder.evaluation.baselines.best_evidence:BestEvidenceBaseline",
        "recorded": "benchbuilder.evaluation.baselines.recorded:RecordedAnswers",
        "people": "benchbuilder.evaluation.baselines.people:PeopleAnswers",
        "random": "benchbuilder.evaluation.baselines.rules:RandomBaseline",
    },
    "solver": {"direct": "benchbuilder.evaluation.solvers:DirectSolver"},
    "metric": {
        "mean": "benchbuilder.evaluation.metrics:MeanMetric",
        "cluster_mean": "benchbuilder.evaluation.metrics:ClusterMeanMetric",
        "micro_f1": "benchbuilder.evaluation.metrics:MicroF1Metric",
    },
    "scorer": {
        "verdict": "benchbuilder.evaluation.scorers.verdict:VerdictScorer",
        "support": "benchbuilder.evaluation.scorers.support:SupportScorer",
        "similarity": "benchbuilder.evaluation.scorers.similarity:SimilarityScorer",
        "claims": "benchbuilder.evaluation.scorers.claims:ClaimsScorer",
        "exact": "benchbuilder.evaluation.scorers.exact:ExactScorer",
        "set_answer": "benchbuilder.evaluation.scorers.set_answer:SetAnswerScorer",
        "ratings": "benchbuilder.evaluation.scorers.ratings:RatingsScorer",
        "judged": "benchbuilder.evaluation.scorers.judged:JudgedScorer",
    },
    "judge": {
        "similarity": "benchbuilder.evaluation.judges.similarity:SimilarityJudge",
        "claims": "benchbuilder.evaluation.claims.judge:ClaimsJudge",
        "tfidf_ridge": "benchbuilder.evaluation.judges.tfidf_ridge:TfidfRidgeJudge",
        "encoder": "benchbuilder.evaluation.judges.encoder:EncoderJudge",
        "decoder": "benchbuilder.evaluation.judges.decoder:DecoderJudge",
        "prompted": "benchbuilder.evaluation.judges.prompted:PromptedJudge",
        "openai_finetuned": "benchbuilder.evaluation.judges.openai_finetuned:OpenAIFinetunedJudge",
    },
    "verifier": {
        "lexical": "benchbuilder.evaluation.claims.by_rule:RuleVerifier",
        "prompted": "benchbuilder.evaluation.claims.prompted:PromptedVerifier",
    },
    "view": {
        "majority": "benchbuilder.evaluation.audit.views.facts:MajorityView",
        "source": "benchbuilder.evaluation.audit.views.facts:SourceView",
        "relation": "benchbuilder.evaluation.audit.views.facts:RelationView",
        "length": "benchbuilder.evaluation.audit.views.texts:LengthView",
        "ending": "benchbuilder.evaluation.audit.views.texts:EndingView",
        "negation": "benchbuilder.evaluation.audit.views.texts:NegationView",
        "cue_words": "benchbuilder.evaluation.audit.views.texts:CueWordsView",
        "frame": "benchbuilder.evaluation.audit.views.texts:FrameView",
        "question_words": "benchbuilder.evaluation.audit.views.texts:QuestionWordsView",
        "answer_words": "benchbuilder.evaluation.audit.views.texts:AnswerWordsView",
        "answer_identity": "benchbuilder.evaluation.audit.views.texts:AnswerIdentityView",
        "concept_words": "benchbuilder.evaluation.audit.views.texts:ConceptWordsView",
        "answer_with_relation": "benchbuilder.evaluation.audit.views.texts:AnswerWithRelationView",
        "popularity": "benchbuilder.evaluation.audit.views.facts:PopularityView",
        "shared_letters": "benchbuilder.evaluation.audit.views.facts:SharedLettersView",
        "position": "benchbuilder.evaluation.audit.views.facts:PositionView",
        "letter": "benchbuilder.evaluation.audit.views.facts:LetterView",
        "longest_option": "benchbuilder.evaluation.audit.views.facts:LongestOptionView",
        "evidence_overlap": "benchbuilder.evaluation.audit.views.facts:EvidenceOverlapView",
        "together": "benchbuilder.evaluation.audit.views.facts:TogetherView",
        "relatedness": "benchbuilder.evaluation.audit.views.facts:RelatednessView",
        "all": "benchbuilder.evaluation.audit.views.interactions:AllView",
        "all_interactions": "benchbuilder.evaluation.audit.views.interactions:AllInteractionsView",
    },
    "executor": {"local": "benchbuilder.pipeline.executors.local:LocalExecutor"},
    "exporter": {
        "jsonl": "benchbuilder.exporters.rows:Jsonl",
        "parquet": "benchbuilder.exporters.rows:Parquet",
        "tsv": "benchbuilder.exporters.rows:Tsv",
        "card": "benchbuilder.exporters.report.dataset_card:DatasetCard",
        "report": "benchbuilder.exporters.report.report:Report",
        "results": "benchbuilder.evaluation.results.exporter:ResultsExporter",
        "claims": "benchbuilder.evaluation.results.claim_exporter:ClaimsExporter",
        "answers": "benchbuilder.evaluation.results.answers_to_rate:AnswersToRate",
    },
}


@dataclass(frozen=True)
class Kind:
    """A kind by name; `load` imports it."""

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
            user = f"the {self.slot} kind {self.name!r}"
            raise explain_import_error(error, user) or InstallationError(
                f"{user} of {self.distribution} cannot be imported",
                where=self.target,
                why=str(error),
                next=f"reinstall {self.distribution}, with the extra that this kind needs",
            ) from error


@cache
def kinds_of_slot(slot: str) -> dict[str, Kind]:
    """Every kind of `slot` by name; imports nothing. A name claimed twice raises InstallationError."""
    from benchbuilder import __version__

    built_in = BUILT_IN_KINDS.get(slot, {})
    kinds = {name: Kind(slot, name, target, "benchbuilder", __version__) for name, target in built_in.items()}
    for entry in installed_entry_points(f"benchbuilder.{slot}"):
        kind = _plugin_kind(slot, entry)
        if (other := kinds.get(kind.name)) is not None:
            raise InstallationError(
                f"two distributions claim the {slot} kind {kind.name!r}: {other.distribution} and {kind.distribution}",
                next=f"uninstall {other.distribution if other.distribution != 'benchbuilder' else kind.distribution}",
            )
        kinds[kind.name] = kind
    return dict(sorted(kinds.items()))


def installed_entry_points(group: str) -> EntryPoints:
    """The entry points of a group that installed distributions have. What is installed later is not seen."""
    return _all_entry_points(tuple(sys.path)).select(group=group)


@cache
def _all_entry_points(path: tuple[str, ...]) -> EntryPoints:  # noqa: ARG001
    """All entry points along `path`: reading them for one group takes as long as for all."""
    found: Any = entry_points()
    return found


def _plugin_kind(slot: str, entry: EntryPoint) -> Kind:
    dist = entry.dist
    return Kind(slot, entry.name, entry.value, dist.name if dist else "?", dist.version if dist else "?")


def find_kind(slot: str, name: str) -> Kind:
    """The kind `name` of `slot`; InstallationError with a did-you-mean if there is none."""
    kinds = kinds_of_slot(slot)
    if name not in kinds:
        close = get_close_matches(name, kinds, n=1)
        raise InstallationError(
            f"there is no {slot} kind {name!r}",
            why=f"installed: {', '.join(kinds)}",
            next=f"did you mean {close[0]!r}?" if close else "benchbuild ls --kinds lists what is installed",
        )
    return kinds[name]


def create_from_spec(slot: str, spec: Any, *args: Any) -> Any:
    """The object that `spec` (with its `kind`) describes: the kind's class called with `spec` and `args`."""
    return find_kind(slot, spec.kind).load()(spec, *args)


ROLES = ("statement", "question", "passage", "candidate", "evidence", "answer", "answer_claim", "score")
"""The names of the row classes without a payload, each a class of `benchbuilder.core.records.roles`."""


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
    module = "roles" if role in ROLES else "payloads"
    found: Any = getattr(importlib.import_module(f"benchbuilder.core.records.{module}"), role.title().replace("_", ""))
    return found[find_kind("payload", payload).load()] if payload else found
