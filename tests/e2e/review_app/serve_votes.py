"""Serves the review app over a database that stands already, in a process that tests may kill.

    python serve_votes.py URL [--port N] [--log] [--at TIME] [--proxy ADDRESS] [--host NAME]

A fault that the environment names comes in it (`injected_faults`). With ``--log``, everything that any library logs
goes to stderr. With ``--at``, its clock stands still.
"""

from __future__ import annotations

import argparse
import logging
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchbuilder.annotation.app.app import create_app
from benchbuilder.annotation.database.store import AnnotationStore
from benchbuilder.web import serve_app

sys.path.append(str(Path(__file__).parents[2] / "support"))

from injected_faults import arm


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", action="store_true")
    parser.add_argument("--at", type=datetime.fromisoformat)
    parser.add_argument("--proxy", action="append", default=[])
    parser.add_argument("--host", action="append", default=["127.0.0.1"], help="a name that it answers to, by TLS")
    args = parser.parse_args()
    arm()
    if args.log:
        logging.basicConfig(level=logging.DEBUG)
    with AnnotationStore.open(args.url, lambda: args.at or datetime.now(UTC)) as store:
        app = create_app(store, {}, secure=len(args.host) > 1, hosts=args.host)
        serve_app(app, "127.0.0.1", args.port, on_ready=lambda address: print(address, flush=True), proxies=args.proxy)


if __name__ == "__main__":
    main()
