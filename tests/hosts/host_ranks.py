# SPDX-License-Identifier: Apache-2.0
"""Ranks on several hosts (network.py), as tests start them; takes the first argument of the test's program, the program
that they run."""
import json
import os
import re
import subprocess
import sys

from network import Network, rank_variables

PROGRAM = sys.argv.pop(1)
TIMEOUT_S = 120


def start(hosts, ranks_a_host, words, own_gpus=False, meanwhile=lambda processes: None, program=PROGRAM, of_hosts=None,
          placed=None, cpus=None, secret="correct horse", **variables):
    """Starts the ranks, each with its own GPU if requested, and calls `meanwhile` with them. `of_hosts`: further
    variables by host. `placed`: each rank's host, if not `ranks_a_host` consecutive ranks on each. `cpus`: the one of
    each rank of a host. Returns the finished processes with their output."""
    if placed is None:
        placed = [host for host in range(len(hosts.names)) for _ in range(ranks_a_host)]
    processes = []
    for rank, host in enumerate(placed):
        environment = {**os.environ, **rank_variables(placed, rank), "RONDO_LOG": "info", **variables,
                       **(of_hosts[host] if of_hosts else {})}
        if secret is not None:
            environment["RONDO_SECRET"] = secret
        if own_gpus:
            environment["RONDO_DEVICE"] = f"cuda:{rank}"
        command = ["ip", "netns", "exec", hosts.names[host], program, *words]
        own = os.sched_getaffinity(0)
        if cpus is not None:
            os.sched_setaffinity(0, {cpus[placed[:rank].count(host)]})
        processes.append(subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE))
        os.sched_setaffinity(0, own)
    try:
        meanwhile(processes)
        return [(one.communicate(timeout=TIMEOUT_S), one.returncode) for one in processes]
    finally:
        for one in processes:
            one.kill()
            one.wait()
            one.stdout.close()
            one.stderr.close()


def await_first_row(test, processes):
    """Returns when rondo-perf has printed its first row, which is of 8 bytes: all are connected then."""
    while not (line := processes[0].stdout.readline()).strip().startswith("8 "):
        test.assertNotEqual(line, "", "rank 0 has ended")


def run_right(test, count, words, **options):
    with Network(count) as hosts:
        ended = start(hosts, 2, words, **options)
    for (out, log), code in ended:
        test.assertEqual(code, 0, out + log)
    out = ended[0][0][0]
    test.assertIn("# Out of bounds values : 0 OK", out)
    return ended


def right_rows(test, path):
    """What rondo-perf has written there, without a wrong result."""
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["results"]
    test.assertTrue(rows and all(row["wrong"] == 0 for row in rows), rows)
    return rows


def fabric_warnings(log):
    return [line for line in log.splitlines() if re.search("warning.*(InfiniBand|network plugin|reached by)", line)]
