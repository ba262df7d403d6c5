from __future__ import annotations

from typing import Any

import pytest
from once import BUILT, Once

from benchbuilder.config.load import load_recipe
from benchbuilder.core.records.payloads import Item
from benchbuilder.pipeline.store.folder import Store


@pytest.fixture(scope="session")
def sample_items(once: Once) -> list[Item[Any]]:
    """The items of the bundled recipe's build."""
    store = Store(load_recipe(["recipe=care_mi"]).recipe.build_folder(once.after(BUILT)))
    manifest = store.latest("items")
    assert manifest is not None
    return list(store.rows(manifest))
