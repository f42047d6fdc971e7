#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_topo_hosts.py RONDO_TOPO: what rondo-topo says of a job on several hosts."""
import subprocess
import tempfile
import unittest

from host_ranks import PROGRAM, start
from network import Network, main


class Topologies(unittest.TestCase):
    def test_a_job_has_the_topology_of_all_its_hosts_and_equal_ones_are_described_once(self):
        with tempfile.TemporaryDirectory() as folder, Network(3) as hosts:
            for machine in ("hgx-h100", "hgx-a100"):
                subprocess.run([PROGRAM, "--machine", machine, "--save", f"{folder}/{machine}.xml"], check=True)
            # As on three hosts: NICs have numbers of their own.
            files = [f"{folder}/{i}.xml" for i in range(3)]
            for i, machine in enumerate(("hgx-h100", "hgx-a100", "hgx-h100")):
                with open(f"{folder}/{machine}.xml", encoding="utf-8") as file:
                    text = file.read()
                text = text.replace("<net ", f'<net guid="0x{i + 7}" ')
                with open(files[i], "w", encoding="utf-8") as file:
                    file.write(text.replace("<cpu ", f'<cpu host_hash="0x{i + 1}" '))
            own_files = [{"RONDO_TOPO_FILE": path} for path in files]

            def printed(*words):
                ended = start(hosts, 2, ["--job", *words], of_hosts=own_files)
                self.assertTrue(all(out == "" for (out, _), _ in ended[1:]), ended)
                return ended[0][0][0], ended[0][0][1], {code for _, code in ended}

            tree, log, codes = printed()
            self.assertEqual(codes, {0}, log)
            self.assertTrue(tree.startswith("24 GPUs, 24 NICs, 6 NUMA nodes; GB/s each way\n"), tree)
            for host, links in enumerate((18, 12, 18)):
                self.assertRegex(tree, rf"host{host}/gpu7 .* NVLink x{links} ")
            _, log, codes = printed("--save", f"{folder}/saved.xml")
            self.assertIn("its hosts are of 2 kinds: expected equal hosts", log)
            own_files[1] = own_files[0]
            table, log, codes = printed("--paths")
            self.assertEqual(codes, {0}, log)
            of_one = [PROGRAM, "--machine", "hgx-h100", "--hosts", "3", "--paths"]
            self.assertEqual(table, subprocess.run(of_one, check=True, capture_output=True, text=True).stdout)
            own_files[1] = {"RONDO_TOPO_FILE": f"{folder}/none.xml"}
            ended = start(hosts, 2, ["--job"], of_hosts=own_files)
            for (_, log), code in ended:
                self.assertEqual(code, 1, log)
                self.assertRegex(log, r"rank 2 \(.*\): RONDO_TOPO_FILE: .*/none.xml: No such file or directory")


if __name__ == "__main__":
    main()
