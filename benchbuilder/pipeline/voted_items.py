"""Finds who voted on what each item is made of."""

from __future__ import annotations

from typing import Any

from benchbuilder.core import Item, Table
from benchbuilder.pipeline.audits import committed_manifests
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
            tables = {
                port: [row for name in ups for row in store.rows(manifests[name])] for port, ups in node.inputs.items()
            }
            for row, people in node.producer.voters(tables, store.workplace).items():
                voters[row] = voters.get(row, frozenset()) | people
    none = frozenset[str]()
    return {
        item.id: none.union(*(voters.get(row, none) for row in (item.id, item.candidate, *item.parents)))
        for item in items
    }
