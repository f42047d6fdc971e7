# SPDX-License-Identifier: Apache-2.0
"""rondo-perf between two hosts over RoCE or InfiniBand of the stand-in for libibverbs, which is first in
LD_LIBRARY_PATH."""
import os
import shutil
import subprocess
import tempfile
import unittest

from host_ranks import await_first_row, fabric_warnings, right_rows, start
from network import Network
from sys_folder import put_below_roots, put_on_nodes

IN_SHARES = {"all_reduce": "hierarchical_ring", "broadcast": "hierarchical_tree", "reduce": "hierarchical_chain",
             "scan": "hierarchical", "exscan": "hierarchical_doubling", "reduce_scatter": "hierarchical_halving",
             "all_gather": "hierarchical_ring"}


class FabricCase(unittest.TestCase):
    def run_perf(self, words=("all_reduce", "-e", "64K"), of_hosts=({}, {}), command=None, own_gpus=False,
                 gpus_of_nics=(), cpus=None, ranks_a_host=2, **variables):
        """Some ranks on each of two hosts; names of variables in one word are the stand-in's, which gets the command
        once the first result is there. Returns what all have printed to standard error, and the transports that were
        used."""
        def named(values):
            return {name if "_" in name else f"RONDO_STANDIN_VERBS_{name}": value for name, value in values.items()}

        def disturb(processes):
            if command is None:
                return
            await_first_row(self, processes)
            fabric = shutil.which("verbs_fabric", path=os.environ["LD_LIBRARY_PATH"])  # beside the library
            subprocess.run([fabric, folder, "command", command], check=True)

        with tempfile.TemporaryDirectory() as folder, Network(2) as hosts:
            os.makedirs(f"{folder}/sys/class/infiniband/rondo_0")
            if gpus_of_nics:
                put_below_roots(f"{folder}/sys", gpus_of_nics)
                put_on_nodes(f"{folder}/sys", sorted(set(cpus or [])))
                variables["SYS"] = f"{folder}/sys"
            words = [*words, "-b", "8", "-f", "64", "-n", "2", "--json", f"{folder}/rows.json"]
            ended = start(hosts, ranks_a_host, words, own_gpus=own_gpus, cpus=cpus, meanwhile=disturb,
                          of_hosts=[dict(named(of_hosts[i]), RONDO_STANDIN_VERBS_HOST=str(i)) for i in (0, 1)],
                          SYSFS_PATH=f"{folder}/sys", RONDO_STANDIN_VERBS=folder, **named(variables))
            log = "".join(log for (_, log), _ in ended)
            if any(code != 0 for _, code in ended):
                return log, {"failed"}
            rows = right_rows(self, f"{folder}/rows.json")
        return log, {row["transport"] for row in rows}

    def run_shares(self, *words, **variables):
        log, used = self.run_perf((",".join(IN_SHARES), "-e", "256K", *words),
                                  RONDO_ALGORITHM=";".join("=".join(rule) for rule in IN_SHARES.items()), **variables)
        self.assertEqual(fabric_warnings(log), [])
        self.assertIn("verbs", "".join(used), log)
        return log
