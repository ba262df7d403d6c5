"""What annotators are shown of candidates, under keys that are hashes of just that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from benchbuilder.ports.votes import ShownClaim, ShownParagraph, Subject
from benchbuilder.records.candidate import Candidate
from benchbuilder.records.evidence import Evidence
from benchbuilder.spec.judging import JudgingSpec


@dataclass(frozen=True)
class Asked:
    """One thing that people are asked: guiding question `question` about `subject`, which belongs to `claim`."""

    subject: Subject
    question: str
    about: str
    claim: str


@dataclass(frozen=True)
class Display:
    """The claims in the order of their candidates, and which key stands for each candidate and evidence row.

    Candidates that look the same are shown once, and so are paragraphs of one claim that read the same. Evidence
    without a candidate has no key.
    """

    claims: tuple[ShownClaim, ...]
    claim_of: dict[str, str]
    paragraph_of: dict[str, str]


def _hash(prefix: str, *parts: str, size: int = 10) -> str:
    """A key that begins with a letter, so that no spreadsheet takes it for a number."""
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return prefix + hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


def claim_key(candidate: Candidate) -> str:
    """Hash of the text shown, the right and the wrong answer."""
    return _hash("c", candidate.context + candidate.question, candidate.answer, candidate.answer_wrong)


def paragraph_key(claim: str, evidence: Evidence) -> str:
    """Hash of what is shown of the claim, and of the paragraph."""
    return _hash("p", claim, evidence.text)


def wording_key(text: str) -> str:
    """Hash of a guiding question's wording."""
    return _hash("w", text, size=6)


def display(candidates: Iterable[Candidate], evidence: Iterable[Evidence]) -> Display:
    """What is shown of `candidates` with their `evidence`, paragraphs by base and rank."""
    claims: dict[str, ShownClaim] = {}
    claim_of: dict[str, str] = {}
    for candidate in candidates:
        key = claim_of[candidate.id] = claim_key(candidate)
        text = candidate.context + candidate.question
        claims.setdefault(key, ShownClaim(key, text, candidate.answer, candidate.answer_wrong))
    paragraph_of: dict[str, str] = {}
    paragraphs: dict[str, dict[str, ShownParagraph]] = {key: {} for key in claims}
    for row in sorted(evidence, key=lambda row: (row.base, row.rank, row.id)):
        if row.of not in claim_of:
            continue
        claim = claim_of[row.of]
        key = paragraph_of[row.id] = paragraph_key(claim, row)
        paragraphs[claim].setdefault(key, ShownParagraph(key, row.base, row.title, row.text))
    shown = tuple(replace(claim, paragraphs=tuple(paragraphs[key].values())) for key, claim in claims.items())
    return Display(shown, claim_of, paragraph_of)


def everything_asked(claims: Iterable[ShownClaim], judging: JudgingSpec) -> dict[Subject, Asked]:
    """Every judgement that the recipe wants about `claims`."""
    on_claims = [(name, wording_key(q.text)) for name, q in judging.asked("claim").items()]
    on_evidence = [(name, wording_key(q.text)) for name, q in judging.asked("evidence").items()]
    asked: dict[Subject, Asked] = {}
    for claim in claims:
        for name, wording in on_claims:
            subject = Subject(claim.key, wording, claim.text)
            asked[subject] = Asked(subject, name, "claim", claim.key)
        for paragraph in claim.paragraphs:
            for name, wording in on_evidence:
                subject = Subject(paragraph.key, wording, paragraph.text)
                asked[subject] = Asked(subject, name, "evidence", claim.key)
    return asked
