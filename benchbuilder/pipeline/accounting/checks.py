"""Checks of row accounting: one outcome for each branch, declared reasons, and rows that come from their parents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import (
    AccountingError,
    Dropped,
    Failed,
    Kept,
    NotApplicable,
    Outcome,
    OutcomeBatch,
    Row,
    Table,
    UniqueIds,
    combined_column,
    schema_of,
)
from benchbuilder.steps import Gather, Map, Step


def count_error(step_name: str, what: str, why: str) -> AccountingError:
    """The error to raise where the counts of a step do not add up."""
    return AccountingError(
        f"the counts of step {step_name!r} do not add up: {what}",
        why=why,
        next="this is a bug in the kind of the step; nothing of the shard was committed: report it with this message",
    )


def source_accounting_error(source: str, what: str, why: str) -> AccountingError:
    """The error to raise where the counts of a source do not add up."""
    return AccountingError(f"source {source!r} {what}", why=why, next="this is a bug in the source's kind: report it")


def check_outcomes(step: Step, row_id: str, outcomes: Sequence[Outcome], output: type[Row]) -> None:
    """Check the outcomes of a row: one for each branch, with declared reasons, and kept rows of the class `output`.

    AccountingError also if a kept row is neither the row itself nor a child of it.
    """
    step_name = step.context.step
    slots = [outcome.slot for outcome in outcomes]
    declared = step.slots if isinstance(step, Map) else "many" if isinstance(step, Gather) else ("",)
    if declared == "many":
        if not outcomes:
            raise count_error(
                step_name, f"row {row_id} has no branch", "a row of `many` slots needs at least one outcome"
            )
        if len(set(slots)) != len(slots):
            raise count_error(step_name, f"row {row_id} has two outcomes in one slot", f"slots: {slots}")
    elif sorted(slots) != sorted(declared):
        raise count_error(
            step_name, f"row {row_id} has branches {sorted(slots)}", f"the kind declares {sorted(declared)}"
        )
    for outcome in outcomes:
        if isinstance(outcome, Kept):
            _check_kept(step_name, row_id, outcome.row, output)
            continue
        if isinstance(outcome, Dropped | NotApplicable) and outcome.reason not in step.reasons:
            raise count_error(step_name, f"row {row_id} has the undeclared reason {outcome.reason!r}",
                          f"declared: {', '.join(step.reasons) or 'none'}")  # fmt: skip
        detail = (
            outcome.detail if isinstance(outcome, Dropped) else outcome.error if isinstance(outcome, Failed) else ""
        )
        check_details(step_name, [detail])


def check_details(step_name: str, details: Sequence[object]) -> None:
    """AccountingError unless every detail is a string."""
    if wrong := [detail for detail in details if not isinstance(detail, str)]:
        raise count_error(step_name, f"a row has the detail {wrong[0]!r}", "a detail is a string")


def _check_kept(step_name: str, row_id: str, row: Row, output: type[Row]) -> None:
    if type(row) is not output:
        raise count_error(step_name, f"row {row_id} became a {type(row).__name__}", f"the step makes {output.__name__}")
    if row.id != row_id and (row.of != row_id or row_id not in row.parents):
        raise _lineage_error(step_name, row_id, row.id, row.of)


def _lineage_error(step_name: str, row_id: str, kept_id: str, parent_id: str) -> AccountingError:
    what = f"row {row_id} became {kept_id}, which names {parent_id or 'no row'} as the one that it comes from"
    return count_error(step_name, what, "a kept row is the row itself or a child of it")


def check_unique(step_name: str, ids: pa.ChunkedArray[Any] | Sequence[str]) -> None:
    """AccountingError if an id occurs twice in a table."""
    unique = UniqueIds()
    unique.add(ids if isinstance(ids, pa.ChunkedArray) else pa.array(ids, pa.string()))
    unique.check(step_name)


def check_outcome_batch(step: Map | Gather, table: Table[Any], branches: OutcomeBatch, output: type[Row]) -> Any:
    """Check outcomes that are given as columns, as `check_outcomes` does; gives a mask of the kept branches."""
    step_name, ids = step.context.step, combined_column(table.arrow, "id")
    _check_columns(step_name, branches, output)
    places: Any = branches.row_position.to_numpy(zero_copy_only=False)
    _check_order(step_name, places, len(table))
    _check_slots(step, ids, places, branches.slots)
    kept = _check_outcome_fields(step, ids, places, branches)
    rows = branches.rows.arrow
    if int(kept.sum()) != rows.num_rows:
        raise count_error(
            step_name, f"{int(kept.sum())} kept branches but {rows.num_rows} rows", "a kept branch is one row"
        )
    if not (rows is table.arrow and len(places) == len(table) and (np.diff(places) == 1).all()):
        _check_children(step_name, ids.take(pa.array(places[kept])), rows)
    return kept


def branch_texts(branches: OutcomeBatch) -> dict[str, Any]:
    """The columns of branches that are texts."""
    texts = (branches.slots, branches.outcomes, branches.reasons, branches.details)
    return dict(zip(("slot", "outcome", "reason", "detail"), texts, strict=True))


def _check_columns(step_name: str, branches: OutcomeBatch, output: type[Row]) -> None:
    """Check that columns have one length and the right types, and rows the class `output`."""
    for name, texts_of in branch_texts(branches).items():
        if len(texts_of) != len(branches.row_position):
            raise count_error(
                step_name,
                f"{len(branches.row_position)} branches but {len(texts_of)} {name}s",
                "a branch has one of each",
            )
        if not pa.types.is_string(texts_of.type) or texts_of.null_count:
            kind = f"{texts_of.type}, {texts_of.null_count} of them null"
            raise count_error(step_name, f"the {name}s of its branches are {kind}", f"a {name} is a string")
    if not pa.types.is_int64(branches.row_position.type) or branches.row_position.null_count:
        raise count_error(
            step_name, f"its branches name rows by {branches.row_position.type}", "a branch names the place of its row"
        )
    if branches.rows.row is not output:
        raise count_error(step_name, f"rows became {branches.rows.row.__name__}", f"the step makes {output.__name__}")
    if not branches.rows.arrow.schema.equals(schema_of(output)):
        raise count_error(step_name, "the columns of its rows are not those of their class", f"see {output.__name__}")


def _check_order(step_name: str, places: Any, count: int) -> None:
    if len(places) and (places[0] < 0 or places[-1] >= count or (places[1:] < places[:-1]).any()):
        raise count_error(
            step_name, "its branches name rows that are not there, or in disorder", f"it got {count} rows"
        )


def _check_slots(step: Map | Gather, ids: Any, places: Any, slots: Any) -> None:
    """Check that each row has the declared slots, each once, or of `many` at least one."""
    declared = step.slots if isinstance(step, Map) else "many"
    counts: Any = np.bincount(places, minlength=len(ids))
    if declared == "many":
        encoded = slots.dictionary_encode()
        codes, size, wrong = encoded.indices.to_numpy(zero_copy_only=False), len(encoded.dictionary), counts == 0
    else:
        codes = _positions(slots, declared)
        size, wrong = len(declared), counts != len(declared)
        wrong[places[codes < 0]] = True
    several = np.flatnonzero(counts[places] > 1) if (counts > 1).any() else np.zeros(0, np.int64)
    if len(several):
        taken = places[several] * (size + 1) + codes[several] + 1
        _, first, times = np.unique(taken, return_index=True, return_counts=True)
        wrong[places[several][first[times > 1]]] = True
    if not wrong.any():
        return
    row = int(np.flatnonzero(wrong)[0])
    check_outcomes(step, ids[row].as_py(), [Failed("", slot.as_py()) for slot in slots.filter(places == row)], Row)


_OUTCOME_NAMES = ("kept", "dropped", "not_applicable", "failed")


def _check_outcome_fields(step: Step, ids: Any, places: Any, branches: OutcomeBatch) -> Any:
    """Check the outcomes, reasons and details of branches; gives a mask of the kept ones."""
    outcomes, reasons = (
        _positions(branches.outcomes, _OUTCOME_NAMES),
        _positions(branches.reasons, tuple(step.reasons)),
    )
    lost = (outcomes == 1) | (outcomes == 2)
    wrong = {
        "outcomes": outcomes < 0,
        "reasons": np.where(lost, reasons < 0, ~_empty(branches.reasons)),
        "details": (outcomes % 2 == 0) & ~_empty(branches.details),
    }
    for name, mask in wrong.items():
        if mask.any():
            at = int(np.flatnonzero(mask)[0])
            what = f"row {ids[int(places[at])].as_py()}, {branches.outcomes[at].as_py()}, has the undeclared "
            what += f"{name.removesuffix('s')} {getattr(branches, name)[at].as_py()!r}"
            raise count_error(step.context.step, what, f"declared: {', '.join(step.reasons) or 'none'}")
    return outcomes == 0


def _positions(texts: Any, known: tuple[str, ...]) -> Any:
    """The position of each text among the `known` ones; -1 if it is none of them."""
    positions: Any = pc.index_in(texts, value_set=pa.array(known, pa.string()))
    return positions.fill_null(-1).to_numpy(zero_copy_only=False)


def _empty(texts: Any) -> Any:
    lengths: Any = pc.binary_length(texts)
    return lengths.to_numpy(zero_copy_only=False) == 0


def _check_children(step_name: str, ids: Any, rows: pa.Table) -> None:
    """Check that each row has the id at its position in `ids`, or is a child of that row."""
    compute: Any = pc
    right: Any = compute.equal(combined_column(rows, "id"), ids).to_numpy(zero_copy_only=False)
    if right.all():
        return
    places: Any = pa.array(np.flatnonzero(~right))
    children, ids = rows.select(["id", "of", "parents"]).take(places), ids.take(places)
    lists: Any = combined_column(children, "parents")
    orphans: Any = compute.equal(compute.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    if not orphans.any():
        orphans |= compute.not_equal(compute.list_element(lists, 0), ids).to_numpy(zero_copy_only=False)
    orphans |= compute.not_equal(combined_column(children, "of"), ids).to_numpy(zero_copy_only=False)
    if orphans.any():
        at = int(np.flatnonzero(orphans)[0])
        child = children.slice(at, 1).to_pylist()[0]
        raise _lineage_error(step_name, ids[at].as_py(), child["id"], child["of"])


# --- rows of `whole` ports


def check_unused_ports(step: Gather, unused: Collection[str], whole: Collection[str]) -> None:
    """AccountingError if `unused` names ports that are not `whole`."""
    if strange := set(unused) - set(whole):
        raise count_error(
            step.context.step, f"ports {sorted(strange)} have unused rows", "only rows of a `whole` port can be unused"
        )


def check_unused_reasons(step: Gather, reasons: Iterable[Any]) -> None:
    """AccountingError if the step does not declare one of the reasons."""
    if unknown := set(reasons) - set(step.reasons):
        raise count_error(
            step.context.step, f"undeclared reasons {sorted(unknown)}", f"declared: {', '.join(step.reasons)}"
        )


def vanished_rows_error(step: Gather, port: str, count: int, example: str) -> AccountingError:
    """The error to raise if rows of a `whole` port are neither parents of an output nor unused."""
    what = f"{count} rows of port {port} vanish"
    return count_error(step.context.step, what, f"such as {example}: neither used nor named")


def strange_unused_error(step: Gather, port: str, count: int, example: str) -> AccountingError:
    """The error to raise if unused rows of a `whole` port are used, unknown or named twice."""
    what = f"port {port} names rows as unused that are used or unknown"
    return count_error(step.context.step, what, f"{count} of them, such as {example}")
