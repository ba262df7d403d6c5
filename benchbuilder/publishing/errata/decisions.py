"""Decisions about errata: fix the key or the texts of an item, withdraw it, or reject the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal

from benchbuilder.config import LoadedRecipe, did_you_mean
from benchbuilder.core import Problem, RecipeError
from benchbuilder.publishing.errata.known_items import KnownItem, family_of, known_items, releases_of
from benchbuilder.publishing.errata.log_file import append_errata, log_of, mark_released
from benchbuilder.publishing.errata.reports import LONGEST_TEXT, clean_text, person
from benchbuilder.steps import ITEM_FIELDS, Corrections, Erratum, ItemTexts

Decision = Literal["fix_key", "fix_text", "withdraw", "reject"]
DECISIONS: tuple[Decision, ...] = ("fix_key", "fix_text", "withdraw", "reject")
_KEY_FIELDS = ("expected", "answer", "answer_wrong")
_TEXT_FIELDS = ("context", "question", "answer", "answer_wrong")
_SHORT_ID = 4


@dataclass(frozen=True)
class DecisionRequest:
    """What to decide about an erratum, named by its id or the beginning of it.

    `reason` is published. `texts` are the new values of fields. With `swap`, the right and the wrong answer change
    places, and so does the verdict. With `again`, a decision that was not released yet is replaced.
    """

    erratum: str
    decision: Decision
    by: str
    reason: str
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    swap: bool = False
    again: bool = False


@dataclass(frozen=True)
class DecidedErratum:
    """An erratum with its decision, and the other items of its family: they fall with a withdrawn one."""

    erratum: Erratum
    family: tuple[KnownItem, ...]


def decide_erratum(loaded: LoadedRecipe, cwd: Path, request: DecisionRequest) -> DecidedErratum:
    """Record a decision; builds follow it from now on, and the next release lists it.

    Raises:
        RecipeError: No erratum is called so, it was decided, the item was changed by another decision, or the fix is
            none.
        DataError: The log is damaged or in use.
    """
    log = log_of(loaded)
    mark_released(log, releases_of(loaded, cwd))
    items = known_items(loaded, cwd)
    by, reason = person(request.by), " ".join(clean_text(request.reason).split())
    if not by:
        raise _problem("a decision needs a person", "--by", hint="--by NAME; names stay in the log")
    if not reason:
        raise _problem("a decision needs a reason", "--reason", hint="--reason 'WHY'; reasons are published")
    if len(reason) > LONGEST_TEXT:
        raise _problem(f"a reason has at most {LONGEST_TEXT} characters", "--reason", actual=f"{len(reason)}")

    def change(errata: dict[str, Erratum]) -> list[Erratum]:
        erratum = find_erratum(errata, request.erratum)
        _check_state(erratum, errata, request)
        after = _fixed_texts(erratum.before, request)
        if after is not None:
            _check_unique(after, erratum, items)
        return [erratum.model_copy(update={
            "state": "rejected" if request.decision == "reject" else "decided", "decision": request.decision, "by": by,
            "decided": date.today().isoformat(), "reason": reason, "after": after,
        })]  # fmt: skip

    (erratum,) = append_errata(log, change)
    item = next((item for item in items if item.id == erratum.item), None)
    return DecidedErratum(erratum, () if item is None else tuple(family_of(items, item)))


def find_erratum(errata: Mapping[str, Erratum], named: str) -> Erratum:
    """The erratum with this id, or the only one whose id begins so; RecipeError otherwise."""
    if named in errata:
        return errata[named]
    start = named if named.startswith("erratum-") else f"erratum-{named}"
    found = [erratum for name, erratum in errata.items() if name.startswith(start) and len(named) >= _SHORT_ID]
    if len(found) == 1:
        return found[0]
    if found:
        raise _problem(f"{len(found)} errata begin with {named!r}", named,
                       allowed=", ".join(erratum.id for erratum in found[:5]), hint="give more of the id")  # fmt: skip
    raise _problem(f"no erratum is called {named!r}", named, hint=did_you_mean(named, list(errata)) or
                   "`benchbuild errata ls` lists them; give at least four characters")  # fmt: skip


def _check_state(erratum: Erratum, errata: Mapping[str, Erratum], request: DecisionRequest) -> None:
    """RecipeError if the erratum, or its item, is no longer open to this decision."""
    if erratum.state == "released":
        raise _problem(f"{erratum.id} was released in {erratum.released}", erratum.id, actual=erratum.decision,
                       hint="if the item is still wrong, report the item as it is now")  # fmt: skip
    if erratum.state != "open" and not request.again:
        raise _problem(f"{erratum.id} was decided on {erratum.decided}", erratum.id, actual=erratum.decision,
                       hint="--again replaces the decision, as long as it is not released")  # fmt: skip
    if erratum.after is not None and (later := [one.id for one in errata.values() if one.is_in_force and
                                                one.id != erratum.id and one.before == erratum.after]):  # fmt: skip
        raise _problem(f"{later[0]} is about the fixed item", erratum.id, hint="decide that one again first")
    if request.decision == "reject":
        return
    others = Corrections(one for name, one in errata.items() if name != erratum.id)
    found = others.apply(erratum.before)
    if found.texts != erratum.before:
        other = found.errata[-1]
        what = "withdrawn" if found.texts is None else "fixed"
        raise _problem(f"{erratum.item} was {what} by {other}", erratum.id, actual=request.decision,
                       hint=f"reject this one as settled by {other}, or decide that one again")  # fmt: skip


def _fixed_texts(before: ItemTexts, request: DecisionRequest) -> ItemTexts | None:
    """The texts of the fixed item, ``None`` without a fix; RecipeError if the fix is none or breaks the item."""
    if request.decision in ("withdraw", "reject"):
        if request.texts or request.swap:
            raise _problem(f"{request.decision} changes no text", "--set, --swap", hint="fix_key and fix_text do")
        return None
    allowed = _KEY_FIELDS if request.decision == "fix_key" else _TEXT_FIELDS
    for name in request.texts:
        if name not in allowed:
            where = f"it belongs to {'fix_text' if name in _TEXT_FIELDS else 'fix_key'}" if name in ITEM_FIELDS else ""
            raise _problem(f"{request.decision} cannot set {name!r}", f"--set {name}", allowed=", ".join(allowed),
                           hint=where or did_you_mean(name, list(allowed)))  # fmt: skip
    values = {name: _text_of_item(name, text) for name, text in request.texts.items()}
    if request.swap:
        if request.decision != "fix_key":
            raise _problem("only fix_key exchanges the answers", "--swap")
        verdict = {"yes": "no", "no": "yes"}.get(before.expected, "")
        values = {"answer": before.answer_wrong, "answer_wrong": before.answer, "expected": verdict, **values}
    after = before.model_copy(update=values)
    _check_fix(before, after, request.decision)
    return after


def _text_of_item(name: str, text: str) -> str:
    if clean_text(text) != text.strip():
        raise _problem(f"the new {name} holds control characters or carriage returns", f"--set {name}",
                       hint="they would be asked and published; leave them out")  # fmt: skip
    if len(text) > LONGEST_TEXT:
        raise _problem(f"the new {name} has {len(text)} characters", f"--set {name}", allowed=f"at most {LONGEST_TEXT}")
    return text if name == "context" else text.strip()


def _check_fix(before: ItemTexts, after: ItemTexts, decision: str) -> None:
    if after == before:
        raise _problem(
            "the fix changes nothing", f"errata decide {decision}", hint="--set FIELD=TEXT, or for a wrong key --swap"
        )
    for name in ("question", "answer", "answer_wrong"):
        if getattr(before, name).strip() and not getattr(after, name).strip():
            raise _problem(f"the {name} would be empty", f"--set {name}", hint="withdraw the item instead")
    if after.answer == after.answer_wrong:
        raise _problem("the right and the wrong answer would be the same", "--set answer", hint="set both")
    verdicts = ("yes", "no") if before.type == "tf" else ("",)
    if after.expected not in verdicts:
        raise _problem("an open question has no verdict" if verdicts == ("",) else "a verdict is yes or no",
                       "--set expected", actual=after.expected)  # fmt: skip
    if decision == "fix_text" and after.key != before.key:
        raise _problem("the answers are the key of an open question", "--set answer", hint="decide fix_key")
    if decision == "fix_key" and after.key == before.key:
        raise _problem("the key stays as it is", "--set", actual=after.expected, hint="decide fix_text")
    if after.expected != before.expected and (after.answer, after.answer_wrong) == (before.answer, before.answer_wrong):
        raise _problem("with the other verdict, the right answer is another one", "--set expected",
                       hint="--swap exchanges both answers; or set answer and answer_wrong too")  # fmt: skip


def _check_unique(after: ItemTexts, erratum: Erratum, items: Sequence[KnownItem]) -> None:
    same = next((item for item in items if item.texts == after and item.id != erratum.item), None)
    newest = {item.version for item in items[:1]} | {""}
    if same is not None and same.version in newest:
        raise _problem(f"the fixed item would be the same as {same.id}", erratum.id, hint="withdraw it instead")


def _problem(message: str, where: str, **more: Any) -> RecipeError:
    return RecipeError([Problem(message, where=f"errata: {where}", **more)])
