"""Finds who voted on what each item is made of."""

from __future__ import annotations

from typing import Any

from benchbuilder.core import Item, Table
from benchbuilder.pipeline.audits import committed_manifests
from benchbuilder.pipeline.node_inputs import port_files
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.steps import ReviewStep


def item_voters(plan: Plan, store: Store, items: Table[Item[Any]]) -> dict[str, frozenset[str]]:
    """The people who voted on each item or on a row that it is made of, by its id; as the annotation names them."""
    manifests = committed_manifests(plan, store)
    voters: dict[str, frozenset[str]] = {}
    for node in plan.nodes.values():
        names = {up for port in node.inputs.values() for up in port}
        if isinstance(node.producer, ReviewStep) and names <= set(manifests):
            tables = {port: port_files(node, port, store, manifests).load() for port in node.inputs}
            for row, people in node.producer.voters(tables, store.workplace).items():
                voters[row] = voters.get(row, frozenset()) | people
    none, found = frozenset[str](), dict[str, frozenset[str]]()
    for batch in items.batches(["id", "candidate", "parents"]):
        for item, candidate, parents in zip(
            *(batch.column(name).to_pylist() for name in batch.column_names), strict=True
        ):
            found[item] = none.union(*(voters.get(row, none) for row in (item, candidate, *parents)))
    return found
