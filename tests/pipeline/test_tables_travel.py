"""A table goes to another process whoever first made the class of its rows."""

from __future__ import annotations

import pickle
import subprocess
import sys

from benchbuilder.core.records.arrow.table import Table, schema_of
from benchbuilder.core.records.payloads import Fact, Triple
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Origin, ProducedBy

READ = (
    "import pickle, sys; from benchbuilder.core.records.payloads import Fact, Triple;"
    "table = pickle.load(sys.stdin.buffer); assert table.row is Fact[Triple];"
    "print([row.payload.head for row in table])"
)


def facts() -> Table[Fact[Triple]]:
    def generic() -> type[Fact[Triple]]:
        return Fact[Triple]

    row = generic().build(
        origin=Origin(file="x", line=1), produced_by=ProducedBy(rule="x"), language="en", partition="x",
        payload=Triple(head="Earth", relation="orbits", tail="Sun"),
    )  # fmt: skip
    return Table.of([row], generic())


def test_rows_with_a_payload_travel() -> None:
    done = subprocess.run([sys.executable, "-c", READ], input=pickle.dumps(facts()), capture_output=True, check=False)
    assert done.stdout.decode().strip() == "['Earth']", done.stderr.decode()


def test_plain_rows_come_back_as_they_are() -> None:
    table = Table(schema_of(Passage).empty_table(), Passage)
    again = pickle.loads(pickle.dumps(table))
    assert again.row is Passage
    assert again.arrow.equals(table.arrow)
