# SPDX-License-Identifier: Apache-2.0
"""Runs the tests and benchmarks that need a GPU, summarises them, and writes their measurements to a file.

Exit status: 0 all passed, 1 something failed, 2 invalid options, 77 there is no GPU.
"""
import argparse
import datetime
import json
import os
import platform
import re
import sys
import time

import commands
import gpu
import parts

SECONDS = 475  # for all parts together


def parse():
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--only", metavar="PART", action="append", default=[],
                        help="run only this part; may be repeated (default: all)")
    parser.add_argument("--list", action="store_true", help="list the parts and exit")
    parser.add_argument("--out", metavar="FILE", help="the JSON file (default: gpu-check.json)")
    for name in ("--manifest", "--results"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    parser.add_argument("--ready", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = [name for name, _, _ in commands.PARTS]
    for name in options.only:
        if name not in names:
            parser.error(f"--only is '{name}': it must be {', '.join(names[:-1])} or {names[-1]}")
    if options.out and not os.path.isdir(os.path.dirname(options.out) or "."):
        parser.error(f"--out is '{options.out}': there is no such folder")
    return options


def cannot_run(manifest):
    """Returns why this machine cannot run a bundle, or None."""
    if platform.machine() != manifest["machine"]:
        return f"these programs are for {manifest['machine']}, and this machine is {platform.machine()}"
    here = os.confstr("CS_GNU_LIBC_VERSION") if hasattr(os, "confstr") else None
    found = re.fullmatch(r"glibc (\d+)\.(\d+).*", here or "")
    if found and [int(found[1]), int(found[2])] < manifest["glibc"]:
        return f"these programs need glibc {'.'.join(map(str, manifest['glibc']))}, and this machine has {here}"
    return None


def read_line(path, pattern):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = re.search(pattern, file.read(), re.M)
            return found[1].strip() if found else None
    except OSError:
        return None


def host():
    """Describes the machine, without its name."""
    return {
        "cpu": read_line("/proc/cpuinfo", r"^model name\s*:\s*(.*)$"),
        "cores": len(os.sched_getaffinity(0)),
        "system": read_line("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)'),
        "kernel": platform.release(),
    }


def slug(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "gpu"


def save(path, report):
    """Writes the report atomically. Called after each part, so that completed parts survive if the machine is lost."""
    part = f"{path}.part"
    with open(part, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    os.replace(part, path)


def out_path(options, name):
    """Complete results go to bench/results; those of selected parts must not overwrite them."""
    if options.out:
        return options.out
    if options.results and not options.only:
        os.makedirs(options.results, exist_ok=True)
        return os.path.join(options.results, f"{slug(name)}.json")
    return "gpu-check.json"


def main():
    options = parse()
    if options.list:
        for name, seconds, words in commands.PARTS:
            print(f"{name:<12} {words} (at most {seconds} s)")
        return 0
    try:
        device = gpu.ask()
    except gpu.NoGpu as reason:
        print(f"gpu-check: no GPU found: {reason}", file=sys.stderr)
        return gpu.NO_GPU
    if options.ready:
        return 0
    with open(options.manifest, encoding="utf-8") as file:
        manifest = json.load(file)
    why = cannot_run(manifest)
    if why:
        print(f"gpu-check: {why}", file=sys.stderr)
        return 1
    return check(options, manifest, device)


def check(options, manifest, device):
    path = out_path(options, device["gpu"])
    report = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), **device,
              "commit": manifest["commit"], "dirty": manifest["dirty"], "host": host(), "parts": {}}
    try:
        save(path, report)
    except OSError as error:
        print(f"gpu-check: cannot write {path}: {error.strerror}", file=sys.stderr)
        return 2
    commit = f"{manifest['commit'] or 'unknown'}{' with changes' if manifest['dirty'] else ''}"
    print(f"{device['gpu']}, driver {device['driver'] or 'unknown'}, CUDA {device['cuda'] or 'unknown'}")
    print(f"commit {commit}", flush=True)

    root = os.path.realpath(os.path.join(os.path.dirname(options.manifest), manifest["root"]))
    machine = parts.Machine(root, manifest, device["gpus"])
    end = time.monotonic() + SECONDS
    for name, seconds, words in commands.PARTS:
        if options.only and name not in options.only:
            continue
        print(f"\n{name}: {words}", flush=True)
        report["parts"][name] = parts.run_part(machine, name, min(seconds, max(end - time.monotonic(), 1)))
        save(path, report)
    return sum_up(report["parts"], path)


def sum_up(done, path):
    print(f"\n{'':<12} {'passed':>7} {'failed':>7} {'skipped':>7} {'seconds':>8}")
    for name, part in done.items():
        print(f"{name:<12} {part['passed']:>7} {part['failed']:>7} {part['skipped']:>7} {part['seconds']:>8.1f}")
    passed, failed, skipped = (sum(part[word] for part in done.values()) for word in ("passed", "failed", "skipped"))
    print(f"\nFigures: {path}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
