"""``benchbuild review``: serve the review app for experts."""

from __future__ import annotations

import argparse
import ipaddress
import shlex
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console

from benchbuilder.annotation import CLAIMS_PROJECT
from benchbuilder.cli.annotation_session import AnnotationSession, create_rating_projects, open_annotation_session
from benchbuilder.cli.session import Session, open_session, progress_watcher
from benchbuilder.cli.terminal import print_line
from benchbuilder.core import DEFAULT_LANGUAGE, DataError, Problem, RecipeError, count_phrase, imports_of, page_texts
from benchbuilder.pipeline import build_benchmark, judging_option, without_secrets


def run(args: argparse.Namespace, console: Console) -> int:
    """Create the tasks and serve until Ctrl-C."""
    host = f"[{args.host}]" if ":" in args.host else args.host
    address = args.url or f"http://{host}:{args.port}"
    hosts, secure = _served_hosts(args, address)
    _check_proxies(args.proxy)
    create_app, serve = _app()
    _check_free(args.host, args.port)
    session = open_session(args, console)
    for warning in session.warnings:
        print_line(console, f"warning: {warning}")
    _build_candidates(session, console)
    with open_annotation_session(session) as annotation:
        create_rating_projects(annotation, console)
        _print_work(annotation, args.overrides, console)
        spec = annotation.app_spec
        strings = {} if spec is None else {name: ref.file for name, ref in spec.strings.items()}
        app = create_app(annotation.store, strings, secure=secure, hosts=hosts, site_name=address,
                         command=_build_command(args.overrides))  # fmt: skip

        def print_address(_: str) -> None:
            print_line(console, f"serving at {address} (Ctrl-C stops)")

        serve(app, args.host, args.port, on_ready=print_address, proxies=args.proxy)
    return 0


def _build_command(overrides: list[str]) -> str:
    return f"benchbuild {shlex.join(without_secrets(overrides))}"


def _app() -> tuple[Callable[..., Any], Callable[..., None]]:
    """The functions that make and serve the app; InstallationError without the extra ``review``."""
    with imports_of("review", "the review app"):
        from benchbuilder.annotation import create_app
        from benchbuilder.web import serve_app
    return create_app, serve_app


def _check_free(host: str, port: int) -> None:
    """DataError if something listens there already."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise DataError(
                f"the review app cannot listen at {host}, port {port}",
                why=str(error),
                next="free the port, or choose another one with --port",
            ) from error


def _served_hosts(args: argparse.Namespace, address: str) -> tuple[tuple[str, ...], bool]:
    """The host names that the app answers to, and whether it is reached by TLS."""
    if not 1 <= args.port <= 65535:
        raise RecipeError(
            [Problem("--port is a number from 1 to 65535", where="command line: --port", actual=str(args.port))]
        )
    if _is_any_address(args.host) and not args.url:
        raise RecipeError([Problem("--url is needed: the name by which people reach the app",
                                   where=f"command line: --host {args.host}", allowed="http://HOST:PORT",
                                   hint=f"--url http://NAME-OF-THIS-MACHINE:{args.port}")])  # fmt: skip
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
        raise RecipeError([Problem("--url is an address without a path", where=f"command line: --url {args.url}",
                                   allowed="https://review.example.org")])  # fmt: skip
    own = {parts.hostname, args.host, "127.0.0.1", "localhost", "::1"}
    return tuple(sorted(host for host in own if not _is_any_address(host))), parts.scheme == "https"


def _check_proxies(proxies: list[str]) -> None:
    """RecipeError for what is not an address or network, or covers every address."""
    for proxy in proxies:
        try:
            too_wide = ipaddress.ip_network(proxy).prefixlen == 0
        except ValueError as error:
            raise RecipeError([Problem("--proxy is an address or a network", where=f"command line: --proxy {proxy}",
                                       allowed="127.0.0.1, 10.0.0.0/8", hint=str(error))]) from error  # fmt: skip
        if too_wide:
            raise RecipeError([Problem("--proxy names your proxy, not everybody",
                                       where=f"command line: --proxy {proxy}", allowed="127.0.0.1")])  # fmt: skip


def _is_any_address(host: str) -> bool:
    """Whether `host` means all addresses of the machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _build_candidates(session: Session, console: Console) -> None:
    """Build the candidates; DataError if that would ask a model."""
    plan, store = session.plan, session.store
    statuses = plan.statuses(store)
    asking = [name for name, status in statuses.items() if status.state != "reused" and plan.nodes[name].model_spec]
    if asking:
        app = judging_option(session.loaded.roots, session.loaded.recipe, "app")
        raise DataError(
            f"{', '.join(asking)} would ask a model",
            why="the review app shows what is built and asks no model",
            next=f"build first, with the same arguments and annotation={app}; `benchbuild plan` says what it costs",
        )
    with progress_watcher(console) as watcher:
        report = build_benchmark(plan, store, session.loaded.yaml, watcher, write_outputs=False)
    for waiting in report.waiting.values():
        if waiting.why:
            print_line(console, f"warning: {waiting.why}")


def _print_work(annotation: AnnotationSession, overrides: list[str], console: Console) -> None:
    """Print how many tasks there are, where their votes count, and how many people there are."""
    if annotation.app_spec is None:
        loaded = annotation.session.loaded
        app = judging_option(loaded.roots, loaded.recipe, "app")
        print_line(
            console,
            f"{CLAIMS_PROJECT}: left out, this build does not have candidates judged in the app; "
            f"`annotation={app}`, or another annotation of that kind, does",
        )
    for project in annotation.store.projects():
        print_line(console, f"{project.name}: {count_phrase(len(annotation.store.tasks(project.name)), 'task')}")
    print_line(console, f"{page_texts(DEFAULT_LANGUAGE)('common.votes_rule')} Here: {_build_command(overrides)}")
    people = [person for person in annotation.store.people() if not person.revoked]
    roles = ("annotator", "adjudicator", "lead")
    by_role = {role: sum(person.role == role for person in people) for role in roles}
    print_line(console, "people: " + ", ".join(count_phrase(n, role) for role, n in by_role.items()))
    needed = max((project.spec.per_task for project in annotation.store.projects()), default=0)
    if by_role["annotator"] < needed:
        invite = f"benchbuild people invite NAME {shlex.join(overrides)}"
        print_line(console, f"{count_phrase(needed, 'annotator')} {'is' if needed == 1 else 'are'} needed: {invite}")
