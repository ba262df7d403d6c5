"""``benchbuild publish``: upload a release, or a trained judge, to the Hugging Face Hub."""

from __future__ import annotations

import argparse

from rich.console import Console

from benchbuilder.cli.terminal import print_line
from benchbuilder.core import count_phrase
from benchbuilder.publishing import is_judge, plan_judge_upload, plan_upload, publish_judge, publish_release


def run(args: argparse.Namespace, console: Console) -> int:
    """Upload the release or the judge, or say what would be uploaded."""
    judge = is_judge(args.folder)
    if not args.dry_run:
        done = (
            publish_judge(args.folder, args.repository, args.licence, hidden=args.hidden)
            if judge
            else publish_release(args.folder, args.repository, hidden=args.hidden)
        )
        files = count_phrase(len(done.files), "file")
        said = f"nothing was sent: these {files} were published before" if done.was_there else f"{files} published"
        print_line(console, f"{said}: {done.address}")
        return 0
    plan = (
        plan_judge_upload(args.folder, args.repository, args.licence)
        if judge
        else plan_upload(args.folder, args.repository)
    )
    print_line(console, f"to {plan.repository}, with the tag {plan.tag}:")
    for file in plan.files:
        print_line(console, f"  {file.name:<24} {file.size:>12,} bytes  {file.sha256}")
    if plan.record is not None and plan.record.despite is not None:
        print_line(console, f"released despite {count_phrase(len(plan.record.despite.refusals), 'refusal')}: "
                   f"{plan.record.despite.reason}")  # fmt: skip
    if plan.record is not None and plan.record.repository != plan.repository:
        print_line(console, f"note: the card does not name {plan.repository}; release with "
                   f"release.repository={plan.repository}, and it does")  # fmt: skip
    total = sum(file.size for file in plan.files)
    print_line(console, f"{count_phrase(len(plan.files), 'file')}, {total:,} bytes; nothing was sent")
    return 0
