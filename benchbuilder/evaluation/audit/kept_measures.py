"""What earlier audits of a benchmark measured, for checks that see the same again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder import __version__
from benchbuilder.core import DataError, read_given_file, write_atomically
from benchbuilder.evaluation.audit.features import Reals
from benchbuilder.evaluation.audit.findings import AuditFinding

_COLUMNS = ("key", "observed", "permuted", "finding")


@dataclass(frozen=True)
class MeasuredCheck:
    """The score of a check, its score under each permutation, and the finding without the p of all checks together."""

    observed: float
    permuted: Reals
    finding: AuditFinding


@dataclass
class KeptMeasures:
    """Measured checks by the digest of all that they were measured from, kept in a file; without one, in memory only.

    A file that cannot be read, or that another version of the program wrote, holds nothing.
    """

    file: Path | None = None
    version: int = 0
    _known: dict[str, MeasuredCheck] = field(default_factory=dict[str, MeasuredCheck])
    _used: dict[str, MeasuredCheck] = field(default_factory=dict[str, MeasuredCheck])

    def __post_init__(self) -> None:
        if self.file is None or not self.file.exists():
            return
        try:
            rows = pq.read_table(pa.BufferReader(read_given_file(self.file)), page_checksum_verification=True)
            if (rows.schema.metadata or {}).get(b"written_by") == self._written_by:
                for key, observed, permuted, finding in zip(*(rows[name] for name in _COLUMNS), strict=True):
                    found = AuditFinding(**json.loads(finding.as_py()))
                    scores: Reals = permuted.values.to_numpy(zero_copy_only=False)
                    self._known[key.as_py()] = MeasuredCheck(observed.as_py(), scores, found)
        except (DataError, pa.ArrowException, OSError, KeyError, TypeError, ValueError):
            self._known = {}

    @property
    def _written_by(self) -> bytes:
        return f"{__version__} {self.version}".encode()

    def find(self, key: str) -> MeasuredCheck | None:
        """What was measured from the same, if anything."""
        found = self._used.get(key) or self._known.get(key)
        if found is not None:
            self._used[key] = found
        return found

    def keep(self, key: str, measured: MeasuredCheck) -> MeasuredCheck:
        """Keep what was measured."""
        self._used[key] = measured
        return measured

    def save(self) -> None:
        """Write what was found or kept; what this audit did not look for is forgotten."""
        if self.file is None or not self._used or self._used.keys() == self._known.keys():
            return
        keys, used = sorted(self._used), self._used
        columns = (
            pa.array(keys),
            pa.array([used[key].observed for key in keys]),
            pa.array([used[key].permuted for key in keys], pa.list_(pa.float64())),
            pa.array([json.dumps(asdict(used[key].finding)) for key in keys]),
        )
        table = pa.table(dict(zip(_COLUMNS, columns, strict=True))).replace_schema_metadata(
            {b"written_by": self._written_by}
        )
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, write_page_checksum=True)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.file, sink.getvalue().to_pybytes(), sync=False)


def digest_of(*parts: object) -> str:
    """A digest of arrays by their bytes, and of other things by what they show."""
    digest = blake2b(digest_size=16)
    for part in parts:
        data = np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part).encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
