"""Base classes of specs. Frozen, extra keys forbidden, no I/O in validators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from benchbuilder.core import Casing, Regex, WordForms, case_letters, language_fault, load_words

Part = TypeVar("Part")
"""What is looked for in a spec."""


class Spec(BaseModel):
    """Frozen configuration that rejects unknown keys."""

    model_config = ConfigDict(
        defer_build=True,
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        regex_engine="python-re",
        allow_inf_nan=False,
    )


@dataclass(frozen=True)
class RuntimeOption:
    """Marks a field that changes how a step runs but not its output; left out of keys."""


@dataclass(frozen=True)
class DescriptiveField(RuntimeOption):
    """Marks a field that only describes (title, licence): left out of keys too, but part of the resolved recipe."""


@dataclass(frozen=True)
class KeyedByStep(DescriptiveField):
    """Marks a field of which the step itself names what counts for its key; see `Step.fingerprint`."""


@dataclass(frozen=True)
class Slot:
    """Marks a field that holds the spec of a kind of `slot`; ``null`` inherits the recipe's top-level `inherit`."""

    slot: str
    inherit: str = ""


def _known_language(code: str) -> str:
    if fault := language_fault(code):
        raise ValueError(fault)
    return code


LanguageTag = Annotated[str, AfterValidator(_known_language)]
"""The tag of a known language (BCP 47)."""


def _known_day(text: str) -> str:
    if text:
        date.fromisoformat(text)
    return text


Day = Annotated[str, AfterValidator(_known_day)]
"""A day, ISO 8601 (2026-01-31); empty: nobody has said one."""


FolderPath = Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""The path of a folder."""


Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""A seed of random draws; databases hold whole numbers up to this one."""


class FileRef(Spec):
    """A file or folder of a recipe: `path` as written, `resolved_path` as found (absolute).

    A plain string in YAML is a path. The loader fills `resolved_path`, relative to the file that contains the path. In
    Python, `resolved_path` is taken from `path`.
    """

    path: str
    resolved_path: str = ""

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value

    @property
    def file(self) -> Path:
        """Where the file is on this machine."""
        return Path(self.resolved_path or self.path)


class PromptRef(FileRef):
    """A Jinja file under one of the prompt folders, for instance ``zh/qa2d.j2``."""


class PairsRef(PromptRef):
    """A YAML file of few-shot pairs beside the prompts, for instance ``zh/qa2d.pairs.yaml``."""


class KindSpec(Spec):
    """The spec of a kind: `kind` is its name, the other keys belong to the kind."""

    kind: str

    @property
    def looks_elsewhere(self) -> bool:
        """Whether the kind reads more than the files that the spec names and the folder of the build.

        That is a database, or a library's cache of what was downloaded: nobody can tell from files if it changed.
        """
        return False


PortRefs = dict[str, tuple[str, ...]]


class StepSpec(KindSpec):
    """The spec of a step: its kind and where its rows come from.

    `from` is a step, a list of steps (a union), or a mapping port -> step or list. ``sources.NAME`` is one source,
    ``sources.PAYLOAD`` every source with that payload (for instance ``sources.triple``).
    """

    from_: Annotated[PortRefs, Field(alias="from")]

    @model_validator(mode="before")
    @classmethod
    def _ports(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        data: dict[str, Any] = dict(value)  # pyright: ignore[reportUnknownArgumentType]
        wired = data.get("from")
        if isinstance(wired, str | list | tuple):
            wired = {"each": wired}
        if isinstance(wired, dict):
            data["from"] = {
                port: (refs,) if isinstance(refs, str) else refs
                for port, refs in wired.items()  # pyright: ignore[reportUnknownVariableType]
            }
        return data


def list_parts(value: Any, wanted: type[Part]) -> Iterator[Part]:
    """Every value of the class `wanted` in a spec, a mapping or a list, at any depth."""
    if isinstance(value, wanted):
        yield value
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from list_parts(getattr(value, name), wanted)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from list_parts(inner, wanted)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from list_parts(inner, wanted)


class CasingSpec(Spec):
    """Texts inside a sentence begin with a small letter, texts at its beginning with a capital."""

    names: FileRef | None = None
    """First words that always keep their capital, one per line."""
    keep: tuple[Regex, ...] = ()
    """Patterns for the beginning of texts that keep it."""
    default: Literal["keep", "lower"] = "keep"
    """What becomes of other texts inside a sentence: ``keep`` changes none; ``lower`` lowers their first letter, and
    damages every name that is not in `names`."""

    @model_validator(mode="after")
    def _names_of_lowered(self) -> CasingSpec:
        if self.default == "lower" and self.names is None:
            raise ValueError("`default: lower` damages every name: list these words under `names`, or write keep")
        return self


def open_casing(spec: CasingSpec | None, language: str) -> Casing | None:
    """The casing of `spec` in the language of a tag; ``None`` without one. DataError if the list cannot be read."""
    if spec is None:
        return None
    names = load_words(spec.names.file) if spec.names is not None else ()
    return Casing(names, spec.keep, lowers=spec.default == "lower", letters=case_letters(language))


def open_word_forms(files: Sequence[FileRef], parts: Mapping[str, str] | None = None) -> WordForms:
    """The word forms in `files`, with `parts` of patterns; DataError if a file cannot be read."""
    return WordForms.read([ref.file for ref in files], parts)
