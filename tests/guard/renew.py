"""Record the results of the bundled recipes anew, and say in words what changed: ``python tests/guard/renew.py``."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path

if platform.machine() in ("x86_64", "AMD64"):  # as tests/conftest.py, before numpy is imported
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
sys.path.insert(0, str(Path(__file__).parent))

from cases import GROUPS, records
from comparison import differences
from record import read, written

RECORDED = Path(__file__).parent / "recorded"


def main() -> int:
    """Write the files of the chosen groups; with ``--check``, only say what differs: exit code 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"default: all, which are {', '.join(GROUPS)}")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--folder", type=Path, default=RECORDED, help="the folder of the files")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an override, as run.workers=1")
    args = parser.parse_args()
    said = 0
    for group in args.groups or GROUPS:
        with tempfile.TemporaryDirectory() as folder:
            found = records(group, Path(folder), *args.set)
        path: Path = args.folder / f"{group}.txt"
        before = read(path.read_text("utf-8")) if path.exists() else {}
        for text in differences(before, found):
            said += 1
            print(text)
        if not args.check:
            path.write_text(written(found), "utf-8")
    print(f"{said} differences" if said else "nothing changed", f"({sum(os.times()[:4]):.0f} s of processor)")
    return 1 if said and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
