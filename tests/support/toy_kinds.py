"""Kinds that do nothing, for tests of configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.config.spec.base import FileRef, KindSpec, PromptRef, RuntimeOption, Slot, StepSpec
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.payloads import Choice, Claim, Fact, Item, Triple
from benchbuilder.core.records.roles import Candidate, Statement
from benchbuilder.core.records.row import Row
from benchbuilder.sources.base import Source, SourceSpec
from benchbuilder.steps.base import Filter, Map, Port


class FileSpec(SourceSpec):
    path: FileRef


class TriplesFile(Source):
    kind = "triples_file"
    spec_class = FileSpec
    output: ClassVar[type[Row]] = Fact[Triple]

    def files(self) -> list[FileRef]:
        return [self.spec.path]

    def read(self) -> Iterator[Any]:
        return iter(())

    def check(self) -> None:
        key = f"sources.{self.name}.path"
        if not self.spec.path.file.is_file():
            raise DataError(f"{key}: {self.spec.path.path} is missing", next=f"set {key}")
        if not self.spec.path.file.read_text().startswith("head\t"):
            raise DataError(f"{key}: {self.spec.path.path} has the wrong shape")


class QuestionsFile(TriplesFile):
    kind = "questions_file"
    output: ClassVar[type[Row]] = Fact[Choice]


class TopicSpec(StepSpec):
    words: FileRef
    match: Literal["exact", "contains"]


class Topic(Filter):
    kind = "topic"
    spec_class = TopicSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact)}

    def screen(self, table):
        raise AssertionError("a check runs nothing")


class StateSpec(StepSpec):
    min_chars: Annotated[int, Field(ge=0)]
    endings: tuple[str, ...]
    tone: str
    version: str = "1"
    prompt: PromptRef | None = None
    model: Annotated[KindSpec | None, Slot("model", inherit="model")] = None
    timeout_s: Annotated[float, RuntimeOption()] = 60.0


class State(Map):
    kind = "state"
    spec_class = StateSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Triple])}
    output = Statement
    prompt_variables: ClassVar[Mapping[str, str]] = {"head": "the head", "relation": "its relation", "tail": "the tail"}

    def map(self, row, parents):
        raise AssertionError("a check runs nothing")


class ChooseSpec(StepSpec):
    pass


class Choose(Map):
    kind = "choose"
    spec_class = ChooseSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Choice])}
    output = Statement

    def map(self, row, parents):
        raise AssertionError("a check runs nothing")


class PairSpec(StepSpec):
    pass


class Pair(Map):
    kind = "pair"
    spec_class = PairSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Statement), "fact": Port(Fact[Triple], mode="parent")}
    output = Candidate

    def map(self, row, parents):
        raise AssertionError("a check runs nothing")


class ReviewSpec(StepSpec):
    retriever: Annotated[KindSpec | None, Slot("retriever", inherit="retriever")] = None
    annotation: Annotated[KindSpec | None, Slot("annotation", inherit="annotation")] = None


class Review(Map):
    kind = "review"
    spec_class = ReviewSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Candidate)}
    output = Item[Claim]

    def map(self, row, parents):
        raise AssertionError("a check runs nothing")


class Plain:
    def __init__(self, spec: Any) -> None:
        self.spec = spec


class Letters(Plain):
    spec_class = KindSpec


class NoModel(Plain):
    spec_class = KindSpec


class RemoteSpec(KindSpec):
    name: str
    base_url: str | None = None
    api_key_env: str | None = None


class Remote(Plain):
    spec_class = RemoteSpec


class Bm25Spec(KindSpec):
    k1: float
    top_k: Annotated[int, Field(ge=1)]
    stop_words: FileRef | None = None
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None


class Bm25(Plain):
    spec_class = Bm25Spec


class FileVotesSpec(KindSpec):
    min_evidence: Annotated[int, Field(ge=0)]


class FileVotes(Plain):
    spec_class = FileVotesSpec


class NoVotes(Plain):
    spec_class = KindSpec


class JsonlSpec(KindSpec):
    file: str


class Jsonl(Plain):
    spec_class = JsonlSpec

    def output_names(self) -> tuple[str, ...]:
        return (self.spec.file,)


TOY_KINDS = {
    "source": {"triples_file": "toy_kinds:TriplesFile", "questions_file": "toy_kinds:QuestionsFile"},
    "payload": {
        "triple": "benchbuilder.core.records.payloads:Triple",
        "choice": "benchbuilder.core.records.payloads:Choice",
    },
    "step": {
        "topic": "toy_kinds:Topic",
        "state": "toy_kinds:State",
        "choose": "toy_kinds:Choose",
        "pair": "toy_kinds:Pair",
        "review": "toy_kinds:Review",
        "broken": "toy_kinds:NotThere",
    },
    "tokenizer": {"letters": "toy_kinds:Letters"},
    "retriever": {"bm25": "toy_kinds:Bm25"},
    "model": {"none": "toy_kinds:NoModel", "remote": "toy_kinds:Remote"},
    "annotation": {"sheets": "toy_kinds:FileVotes", "none": "toy_kinds:NoVotes"},
    "exporter": {"jsonl": "toy_kinds:Jsonl"},
}
