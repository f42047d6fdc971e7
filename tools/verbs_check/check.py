# SPDX-License-Identifier: Apache-2.0
"""tools/verbs-check: everything that needs InfiniBand or RoCE between two hosts."""
import argparse
import json
import os
import subprocess
import sys
import time

import parts
from hosts import Hosts

SHOWN_LINES = 30


class Check:
    """What runs where, and what has come of it."""

    def __init__(self, hosts, given):
        self.hosts, self.build = hosts, os.path.abspath(given.build)
        self.rounds, self.iterations = given.rounds, given.iterations
        self.results = {"hosts": {}, "cases": []}
        self.perf = self.program("bench/perf/rondo-perf")

    def program(self, path):
        return os.path.join(self.build, path)

    def case(self, what, passed, output):
        self.results["cases"].append({"case": what, "passed": passed, **({} if passed else {"output": output})})
        print(f"{'ok    ' if passed else 'FAILED'} {what}", flush=True)
        if not passed:
            print("\n".join(f"       | {line}" for line in output.splitlines()[-SHOWN_LINES:]), flush=True)


def part_names(text):
    names = text.split(",")
    for name in names:
        if name not in parts.ALL:
            raise argparse.ArgumentTypeError(f"there is no part '{name}': the parts are {', '.join(parts.ALL)}")
    return names


def arguments(tree):
    parser = argparse.ArgumentParser(
        prog="tools/verbs-check", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Checks InfiniBand or RoCE between two hosts, within some minutes: what the hosts have, the\n"
        "probes and the conformance suite on each, every collective between them, a rank that is killed, and speed\n"
        "beside TCP and, where perftest is installed, ib_send_lat, ib_write_bw and ib_send_bw. Both hosts must be\n"
        "reached without a password, and find this folder with its build folder at the same path.",
        epilog="parts:\n" + "\n".join(f"  {name:12} {part.__doc__}" for name, part in parts.ALL.items()))
    parser.add_argument("hosts", nargs=2, metavar="HOST", help="names by which the hosts are reached")
    parser.add_argument("--build", default=os.path.join(tree, "build-test"), help="build folder (build-test)")
    parser.add_argument("--remote", default="ssh -o BatchMode=yes {host} bash -s", metavar="COMMAND",
                        help="runs the shell script on its standard input on a host (%(default)s)")
    parser.add_argument("--address", help="address at which the second host reaches the first (its name)")
    parser.add_argument("--port", type=int, default=29600, help="ports of the first host from here on are used (29600)")
    parser.add_argument("--only", type=part_names, default=list(parts.ALL), metavar="PARTS", help="comma separated")
    parser.add_argument("--rounds", type=int, default=5, help="of speed, of which the medians count (5)")
    parser.add_argument("--iterations", type=int, default=1000, help="of speed in a round, half of them calls (1000)")
    parser.add_argument("--output", default="verbs-check.json", metavar="FILE", help="(verbs-check.json)")
    return parser.parse_args(sys.argv[2:])


def commit(tree):
    found = subprocess.run(["git", "-C", tree, "describe", "--always", "--dirty"], capture_output=True, text=True,
                           check=False)
    return found.stdout.strip()


def main():
    tree = sys.argv[1]
    given = arguments(tree)
    check = Check(Hosts(given.hosts, given.remote, given.address or given.hosts[0], given.port), given)
    folder = os.path.dirname(os.path.abspath(given.output))
    if not os.access(folder, os.W_OK):
        print(f"verbs-check: {given.output} cannot be written: {folder} is not a folder that this user may change",
              file=sys.stderr)
        return 2
    if not os.path.exists(check.perf):
        print(f"verbs-check: {check.build} has no bench/perf/rondo-perf: tools/test builds build-test", file=sys.stderr)
        return 2
    check.results.update(date=time.strftime("%Y-%m-%d"), commit=commit(tree))
    with open(given.output, "w", encoding="utf-8") as file:
        try:
            for name in given.only:
                print(f"== {name}", flush=True)
                parts.ALL[name](check)
        finally:
            json.dump(check.results, file, indent=1)
            file.write("\n")
    failed = sum(not case["passed"] for case in check.results["cases"])
    print(f"{given.output} has all of it\n{len(check.results['cases']) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
