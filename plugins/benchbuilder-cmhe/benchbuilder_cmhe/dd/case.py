"""Cases: what is known of a patient, and the diseases that the patient has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from benchbuilder.core import FrozenModel, Payload


class Diagnosis(FrozenModel):
    """A disease by the `name` that the source gives it, with its code.

    `entry` is what the list of names calls the code; `how` says how the code was found (``exact``, ``alias``,
    ``fuzzy``, ``model`` or ``person``; empty without a code), `score` from 0 to 100 how near the name is to the entry.
    `chapter`, `block` and `category` are what counts at level 0, 1 and 2.
    """

    name: str
    code: str = ""
    entry: str = ""
    how: str = ""
    score: float = 0.0
    chapter: str = ""
    block: str = ""
    category: str = ""


class PatientCase(Payload):
    """The text that a model is shown, and the right diagnoses. `setting` is where it comes from: a chat, an exam."""

    kind: ClassVar[str] = "case"

    text: str
    diagnoses: tuple[Diagnosis, ...]
    setting: str

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {"question": (self.text,), "diagnoses": tuple(diagnosis.name for diagnosis in self.diagnoses)}

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with every text converted."""
        diagnoses = tuple(d.model_copy(update={"name": convert(d.name)}) for d in self.diagnoses)
        return self.model_copy(update={"text": convert(self.text), "diagnoses": diagnoses})

    def flat_cells(self) -> dict[str, str]:
        """One cell per column."""
        return {
            "text": self.text,
            "setting": self.setting,
            "diagnoses": " | ".join(d.name for d in self.diagnoses),
            "codes": " | ".join(d.code for d in self.diagnoses),
            "categories": " | ".join(d.category for d in self.diagnoses),
        }

    def prompt_fields(self) -> dict[str, Any]:
        """The text; never a diagnosis."""
        return {"question": self.text}

    def display_fields(self) -> tuple[tuple[str, str], ...]:
        """The text and the diagnoses with their codes."""
        return (
            ("text", self.text),
            ("diagnoses", "\n".join(f"{d.name} ({d.code})" if d.code else d.name for d in self.diagnoses)),
        )

    def codes_at(self, level: int) -> frozenset[str]:
        """What the diagnoses come to at `level` 0, 1 or 2."""
        found = ((d.chapter, d.block, d.category)[level] for d in self.diagnoses)
        return frozenset(name for name in found if name)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        cold = Diagnosis(name="hay fever", code="J30.1", entry="Allergic rhinitis due to pollen", how="alias",
                         score=100.0, chapter="X", block="J30-J39", category="J30")  # fmt: skip
        gout = Diagnosis(name="gout", code="M10.9", entry="Gout", how="exact", score=100.0, chapter="XIII",
                         block="M05-M14", category="M10")  # fmt: skip
        return (
            cls(text="Sneezing and a runny nose every spring.", diagnoses=(cold,), setting="exam"),
            cls(text="A red and painful toe. The nose runs.", diagnoses=(gout, cold), setting="chat"),
            cls(text="Nothing was found yet.", diagnoses=(Diagnosis(name="a cold"),), setting="chat"),
        )
