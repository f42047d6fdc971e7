#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rondo-topo as a user runs it: this host, trees, paths, limits, reviews, files written and read again, and what it
refuses.

Usage: check_topo.py RONDO_TOPO SOURCE-ROOT STANDIN_NVML
"""
import glob
import os
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from topo_command import DATA, NVML, SOURCE, TOPO, known, output, recorded, topo


def fewer(text, gpu, links, target):
    """A description in which a GPU, by its number, has one link less in an element of that number of links."""
    start = text.index(f'<gpu dev="{gpu}"')
    end = text.index("</gpu>", start)
    changed, number = re.subn(rf'(<nvlink [^>]*target="{target}"[^>]*count=")({links})(")',
                              lambda found: found[1] + str(links - 1) + found[3], text[start:end], count=1)
    assert number == 1
    return text[:start] + changed + text[end:]


def rows_of(table):
    """The cells of a table in Markdown, without its heading and its last column, which is a time."""
    lines = table.splitlines()
    assert all(re.fullmatch(r"\| .* \|", line) for line in lines[:1] + lines[2:]), table
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-2]] for line in lines[2:]]


def documented(command):
    """The table that follows a command in docs/topology.md."""
    with open(os.path.join(SOURCE, "docs", "topology.md"), encoding="utf-8") as file:
        after = file.read().split(f"\n    {command}\n")[1]
    return re.search(r"(?m)(^\|.*\n)+", after)[0]


# Machine: GB/s of the best rings and of plans, by NVLink or xGMI alone, if it joins all GPUs; equal parts of a block;
# the largest number of trees; GB/s of plans over all links.
RECORDED = {
    "nvidia-dgx1v-8xv100": (120.0, 120.0, 6, 32, 132.0), "simai-hgx-a100-8gpu-4cx6": (240.0, 240.0, 1, 8, 264.0),
    "oci-bm-gpu4-8xa100-40g": (240.0, 240.0, 1, 8, 264.0), "vastai-hgx-h200-8gpu": (370.8, 370.8, 1, 8, 418.8),
    "oci-bm-gpu-h100-8gpu": (370.8, 370.8, 1, 8, 376.8), "vastai-hgx-b200-8gpu": (721.8, 721.8, 1, 8, 769.8),
    "lab-hgx-h800-8gpu-8x400g": (164.8, 164.8, 1, 8, 212.8), "lab-2xa100pcie-nvbridge": (240.0, 240.0, 1, 2, 264.0),
    "oneflow-8xrtx3090-pcie-1ib": (10.0, 17.5, 1, 8, 17.5), "lab-8xrtx4000ada-pcie": (16.0, 24.0, 1, 8, 24.0),
    "amd-mi100-2hive-8gpu": (56.0, 96.0, 4, 25, 96.0), "amd-rome-8gpu-4x200g": (48.0, 84.0, 1, 8, 84.0),
    "amd-mi250-8gcd-4x200g": (144.0, 210.0, 5, 20, 228.0), "amd-mi250-16gcd-8x200g": (216.0, 231.4, 3, 32, 257.1),
    "amd-mi300x-8gpu-8x400g": (336.0, 336.0, 1, 8, 384.0)}


class Topo(unittest.TestCase):
    def test_this_host_is_described_and_saved(self):
        tree = output()
        self.assertRegex(tree, r"^\d+ GPUs?, \d+ NICs?, \d+ NUMA nodes?; GB/s each way\nnuma")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "host.xml")
            output("--save", path)
            saved = output("--load", path)
        self.assertEqual(*(re.sub(r"(?m)^note: .*\n", "", text) for text in (tree, saved)))

    def test_gpus_of_this_host_are_those_that_nvml_lists_and_cuda_shows(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "host.xml")
            output("--machine", "hgx-h100", "--save", path)
            nvml = {"LD_LIBRARY_PATH": os.path.dirname(NVML), "RONDO_STANDIN_TOPOLOGY": path}
            all_gpus = output(**nvml, CUDA_VISIBLE_DEVICES="0,1,2,3,4,5,6,7")
            two_gpus = output(**nvml, CUDA_VISIBLE_DEVICES="3,1")
            limit = output("--limit", **nvml, CUDA_VISIBLE_DEVICES="3,1")
        self.assertEqual(len(re.findall(r"─ gpu\d \S+ +PCIe .*, NVLink x18 370\.8 to nvswitch", all_gpus)), 8)
        bus_ids = dict(re.findall(r"─ (gpu\d) (\S+)", all_gpus))
        self.assertEqual(dict(re.findall(r"─ (gpu\d) (\S+)", two_gpus)),
                         {"gpu0": bus_ids["gpu3"], "gpu1": bus_ids["gpu1"]})
        self.assertRegex(limit, r"(?m)^all_gather +370\.8 ")

    def test_a_template_of_this_host_is_completed(self):
        with tempfile.TemporaryDirectory() as folder:
            path, template = (os.path.join(folder, name) for name in ("host.xml", "template.xml"))
            output("--machine", "pcie-8gpu", "--save", path)
            with open(path, encoding="utf-8") as file:
                text = re.sub(r"(?s)<nic>.*?</nic>|<gpu [^>]*/>", "", file.read())
            with open(template, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertIn("a template, which has 8 PCI devices of class", output("--load", template))
            completed = output("--load", template, LD_LIBRARY_PATH=os.path.dirname(NVML),
                               RONDO_STANDIN_TOPOLOGY=path, CUDA_VISIBLE_DEVICES="0,1,2,3,4,5,6,7")
        gpus, expected = (re.findall(r"─ (gpu\d.*)", tree) for tree in (completed, output("--machine", "pcie-8gpu")))
        self.assertEqual(gpus, expected)
        self.assertIn("a template; 8 GPUs of this host", completed)

    def test_a_file_can_describe_this_host(self):
        with tempfile.TemporaryDirectory() as folder:
            path, other, dump = (os.path.join(folder, name) for name in ("a.xml", "b.xml", "dump.xml"))
            output("--machine", "dgx-1v", "--save", path)
            output("--machine", "mi300x", "--save", other)
            expected = output("--machine", "dgx-1v")
            self.assertEqual(output(NCCL_TOPO_FILE=path), expected)
            self.assertEqual(output(RONDO_TOPO_FILE=path, NCCL_TOPO_FILE=other, NCCL_TOPO_DUMP_FILE=dump), expected)
            self.assertEqual(output("--load", dump), expected)
            self.assertEqual(output("--load", path, RONDO_TOPO_FILE=other), expected)
            missing = topo(RONDO_TOPO_FILE=os.path.join(folder, "none.xml"))
            self.assertEqual(missing.returncode, 1)
            self.assertIn(f"RONDO_TOPO_FILE: {folder}/none.xml: No such file or directory", missing.stderr)
            unwritable = topo(RONDO_TOPO_FILE=path, NCCL_TOPO_DUMP_FILE=folder)
            self.assertEqual(unwritable.returncode, 1)
            self.assertIn(f"{folder}: Is a directory", unwritable.stderr)

    def test_known_machines_have_trees(self):
        self.assertIn("hgx-h100", known())
        for name in known():
            tree = output("--machine", name)
            self.assertRegex(tree, r"^(8|16) GPUs, \d+ NICs, 2 NUMA nodes; GB/s each way\n")
            self.assertEqual(len(re.findall(r"(?m)─ gpu\d+ ", tree)), int(tree.split()[0]))

    def test_a_tree_says_what_joins_a_gpu(self):
        self.assertRegex(output("--machine", "hgx-h100"), r"gpu0 0000:11:00.0 +PCIe x16 48.0, NVLink x18 370.8 to nvsw")
        self.assertRegex(output("--machine", "dgx-1v"),
                         r"gpu0 \S+ +PCIe x16 12.0, NVLink x1 20.0 to gpu1 gpu2, NVLink x2 40.0 to gpu3 gpu4\n")

    def test_paths_have_classes_and_bandwidths(self):
        rows = [re.split(r"  +", line) for line in output("--machine", "dgx-1v", "--paths").splitlines()]
        self.assertEqual(rows[0][1:9], [f"gpu{gpu}" for gpu in range(8)])
        self.assertEqual(rows[1][:6], ["gpu0", "LOC", "NVL 20.0", "NVL 20.0", "NVL 40.0", "NVL 40.0"])
        self.assertEqual(rows[1][9:], ["PIX 12.0", "PXN 12.0", "PXN 12.0", "SYS 6.0"])

    def test_paths_of_the_largest_clusters_take_little_memory(self):
        command = [TOPO, "--machine", "dgx-2", "--hosts", "64", "--paths"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            rows = sum(1 for _ in process.stdout)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual((process.returncode, rows), (0, 1 + 1024))
        with open(TOPO, "rb") as file:
            program = file.read()
        if b"__asan_init" not in program and b"__tsan_init" not in program:
            self.assertLess(usage.ru_maxrss, 64 << 10)  # KiB

    def test_output_that_is_lost_is_an_error(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            lost = subprocess.run([TOPO, "--machine", "dgx-1v", "--limit"], stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=60, check=False)
        self.assertEqual(lost.returncode, 1)
        self.assertIn("standard output: No space left on device", lost.stderr)

    def test_a_machine_without_limits_has_a_row(self):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write('<system version="1"><cpu numaid="0">'
                       '<pci busid="0000:01:00.0" class="0x030200"><gpu dev="0" sm="80"/></pci></cpu></system>')
            file.flush()
            rows = rows_of(output("--limits", file.name, "dgx-1v", "--hosts", "2"))
        self.assertIn("not all GPUs reach one another", rows[0][7])
        self.assertEqual(rows[1][0], "dgx-1v")

    def test_odd_names_are_legal_in_pictures_and_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'a "b" \\ <c>&|\n\x01.xml')
            output("--machine", "dgx-1v", "--save", path)
            xml.etree.ElementTree.fromstring(output("--load", path, "--svg"))
            self.assertEqual(len(rows_of(output("--limits", path))), 1)
            with open(path, encoding="utf-8") as file:
                text = file.read().replace('"mlx5_0"', '"m&quot;\\"')
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertIn(r'[label="nic m\"\\"];', output("--load", path, "--dot"))

    def test_a_wrong_root_is_refused_before_anything_is_printed(self):
        refused = topo("--machine", "dgx-2", "--limit", "--svg", "--plan", "--root", "99")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))

    def test_limits_name_what_they_are_due_to(self):
        table = output("--machine", "pcie-8gpu", "--limit")
        self.assertRegex(table, r"(?m)^all_reduce +17\.5 +17\.5  1 socket link from numa1 to numa0, 10\.0 GB/s$")
        self.assertRegex(output("--machine", "dgx-1v", "--limit"),
                         r"(?m)^all_gather +120\.0 +132\.0  6 NVLinks into gpu0, 120\.0 GB/s, as for each of 8 GPUs$")
        hopper = output("--machine", "hgx-h100", "--limit")
        self.assertIn("plan for all_gather: 370.8 GB/s by 8 trees, 1 part of each block, depth 1\n", hopper)
        self.assertIn("\nall_reduce combined by the NVSwitches: 576.8 GB/s by 8 heads, of at most 648.9 GB/s", hopper)
        self.assertNotIn("NVSwitches", output("--machine", "hgx-a100", "--limit"))
        self.assertRegex(table, r"(?m)^all_to_all .*\(plans may not reach it\)$")

    def test_what_is_saved_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "saved.xml")
            for name in known():
                output("--machine", name, "--save", path)
                self.assertEqual(output("--load", path), output("--machine", name), name)
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(file.read(), output("--load", path, "--save", "-"))

    def test_hosts_are_joined_by_the_network(self):
        tree = output("--machine", "pcie-8gpu", "--hosts", "2")
        self.assertTrue(tree.startswith("16 GPUs, 4 NICs, 4 NUMA nodes"))
        self.assertIn("host1/gpu7", tree)
        self.assertIn("NET 12.5", output("--machine", "pcie-8gpu", "--hosts", "2", "--paths"))

    def test_without_p2p_paths_go_through_the_cpu(self):
        self.assertIn("PIX 24.0", output("--machine", "pcie-8gpu", "--paths"))
        without = output("--machine", "pcie-8gpu", "--no-p2p", "--paths")
        self.assertNotIn("PIX", without)
        self.assertIn("PHB 20.0", without)

    def test_a_plan_may_share_uplinks_better_than_evenly(self):
        # Of three GPUs with 12, 12 and 3 GB/s below 12 GB/s up to the CPU, even shares leave the last one
        # 12 * 3 / 27 GB/s. A plan gives it both blocks at 3 GB/s, which takes 6 * 1.5 GB/s of the link up.
        link = 'link_speed="8.0 GT/s PCIe" link_width'
        gpus = "".join(f'<pci busid="0000:0{dev + 3}:00.0" class="0x030200" {link}="{lanes}"><gpu dev="{dev}" sm="80"/>'
                       "</pci>" for dev, lanes in enumerate((16, 16, 4)))
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write('<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD">'
                       f'<pci busid="0000:02:00.0" class="0x060400" {link}="16">{gpus}</pci></cpu></system>')
            file.flush()
            table = output("--load", file.name, "--no-p2p", "--limit")
            row = rows_of(output("--limits", file.name, "--no-p2p"))[0]
        self.assertRegex(table, r"(?m)^all_gather +3\.0 +3\.0  1 PCIe link into gpu2, 1\.3 GB/s: .* "
                                r"\(if switches share evenly, 1\.3; no plan exceeds 3\.0\)$")
        self.assertEqual([row[3], row[4], row[8]], ["3.0"] * 3)

    def test_what_was_guessed_is_said(self):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write('<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="'
                       '85">\n<pci busid="0000:3b:00.0" class="0x030200" link_speed="" link_width="0">'
                       '<gpu dev="0" sm="80" rank="0"/></pci></cpu></system>\n')
            file.flush()
            self.assertIn(f"note: {file.name}:2: the speed of the PCIe link of 0000:3b:00.0 is not known",
                          output("--load", file.name))

    def test_the_documented_table_is_what_the_command_prints(self):
        printed = rows_of(output("--limits"))
        self.assertEqual([row[0] for row in printed], known())
        self.assertEqual(rows_of(documented("rondo-topo --limits")), printed)

    def test_plans_of_recorded_machines_reach_their_limits_with_few_trees(self):
        paths = {name: recorded(name, "the limits of recorded machines") for name in RECORDED}
        rows = rows_of(output("--limits", *paths.values()))
        self.assertEqual([row[0] for row in rows], [f"{name}.xml" for name in RECORDED])
        for name, row in zip(RECORDED, rows):
            rings, limit, parts, trees, all_links = RECORDED[name]
            self.assertEqual([*row[2:5], row[6], row[8]],
                             [str(rings), str(limit), str(limit), str(parts), str(all_links)], name)
            self.assertLessEqual(int(row[5]), trees, row)
        without_p2p = output("--limits", paths["oneflow-8xrtx3090-pcie-1ib"], "--no-p2p")
        self.assertEqual(rows_of(without_p2p)[0][2:5], ["5.0", "5.0", "5.0"])

    def test_every_recorded_machine_has_a_row_and_a_plan_at_its_limit(self):
        folder = os.path.dirname(recorded("all", "a table of all recorded machines"))
        paths = sorted(path for path in glob.glob(f"{folder}/*.xml") if "graph" not in path)
        rows = rows_of(output("--limits", *paths))
        self.assertEqual([row[0] for row in rows], [os.path.basename(path) for path in paths])
        self.assertEqual(rows_of(documented("rondo-topo --limits $(ls topologies/*.xml | grep -v graph)")), rows)
        self.assertGreater(len([row for row in rows if row[3] == row[4] != "-"]), 27)
        for row in rows:
            self.assertEqual(row[3], row[4], row)
            self.assertEqual(row[2] == "-", int(row[1]) < 2, row)

    def check_broken(self, path, text, before, difference, after):
        """A description with a broken link: --diff says what is lost, and the new plan reaches its own bound."""
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as broken:
            broken.write(text)
            broken.flush()
            lines = output("--diff", path, broken.name).splitlines()
            self.assertRegex(lines[1], rf"^ +{before} +{before}  {os.path.basename(path)}: ")
            self.assertRegex(lines[2], rf"^ +-{before - after:.1f} +-{before - after:.1f}  {difference}$")
            self.assertRegex(lines[3], rf"^ +{after} +{after}  {os.path.basename(broken.name)}: \d+ NVLinks into gpu")
            self.assertEqual(len(lines), 4)
            self.assertIn(f"plan for all_gather: {after} GB/s", output("--load", broken.name, "--limit"))

    def test_a_link_that_is_down_costs_what_it_carried(self):
        path = recorded("nvidia-dgx1v-8xv100", "a DGX-1V without one of its NVLinks")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        text = fewer(fewer(text, 0, 2, "0000:0b:00.0"), 3, 2, "0000:06:00.0")
        self.check_broken(path, text, 120.0, "1 NVLink instead of 2 between gpu0 and gpu3", 100.0)

    def test_a_link_to_a_switch_that_is_down_costs_what_it_carried(self):
        path = recorded("vastai-hgx-h200-8gpu", "H200s without one of 18 NVLinks")
        with open(path, encoding="utf-8") as file:
            text = fewer(file.read(), 3, 5, "[^\"]*")
        self.check_broken(path, text, 370.8, "17 NVLinks instead of 18 between gpu3 and the NVSwitches", 350.2)

    def test_equal_machines_do_not_differ(self):
        self.assertIn("no difference\n", output("--diff", "hgx-h100", "hgx-h200"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "saved.xml")
            for name in known():
                output("--machine", name, "--save", path)
                self.assertIn("  no difference\n", output("--diff", name, path))

    def test_a_nic_at_half_width_costs_between_hosts(self):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            text = output("--machine", "dgx-1v", "--save", "-")
            at = text.rindex("<pci ", 0, text.index('name="mlx5_1"'))
            file.write(text[:at] + text[at:].replace('link_width="16"', 'link_width="8"', 1))
            file.flush()
            said = "nic mlx5_1: PCIe x8 at 8.0 GT/s instead of x16 at 8.0 GT/s"
            self.assertRegex(output("--diff", "dgx-1v", file.name), rf"(?m)^ +0\.0 +0\.0  {said}$")
            self.assertRegex(output("--diff", "dgx-1v", file.name, "--hosts", "2"), rf"(?m)^ +-11\.2 +-11\.2  {said}$")

    def test_well_known_machines_have_no_faults(self):
        for name in known():
            self.assertRegex(output("--machine", name, "--doctor"), r"(?m)^ +no fault found$")

    def test_the_doctor_says_what_a_fault_costs_and_what_to_do(self):
        lines = output("--machine", "pcie-8gpu", "--no-p2p", "--doctor").splitlines()
        self.assertRegex(lines[1], r"^ +5\.0 +5\.0  pcie-8gpu: 1 PCIe link into gpu0")
        self.assertRegex(lines[2], r"^ +\+12\.5 +\+12\.5  no P2P: .*0000:10:00\.0 and 0000:20:00\.0")
        self.assertRegex(lines[3], r"^ +-> .*ACS")
        self.assertEqual(len(lines), 4)

    def test_the_doctor_finds_the_faults_of_recorded_machines(self):
        vm = output("--load", recorded("vm-4xh100-flat", "the faults of recorded machines"), "--doctor")
        self.assertRegex(vm, r"(?m)^ +\? +\?  the PCI tree is hidden, .* 4 GPUs hang .* their NUMA nodes are unknown$")
        self.assertNotIn("the NUMA node of", vm)
        azure = output("--load", recorded("azure-ncv4-4xa100pcie", ""), "--doctor").splitlines()
        self.assertRegex(azure[1], r"^ +12\.0 +12\.0  azure-ncv4")
        self.assertRegex(azure[2], r"^ +\+24\.0 +\+24\.0  gpu0, .* to themselves, .* bridges of gpu0-gpu1, gpu2-gpu3$")
        self.assertTrue(any(re.match(r"note: .*has links to itself", line) for line in azure))
        slow = output("--load", recorded("issue2397-2xa100pcie-node-a", ""), "--doctor")
        self.assertRegex(slow, r"(?m)^ +0\.0 +0\.0  nic mlx5_0: PCIe x8 at 16\.0 GT/s, 12\.0 GB/s, below ports of 25")

    def test_the_doctor_finds_what_was_broken(self):
        path = recorded("nvidia-dgx1v-8xv100", "faults of a DGX-1V")
        with open(path, encoding="utf-8") as file:
            text = fewer(fewer(file.read(), 0, 2, "0000:0b:00.0"), 3, 2, "0000:06:00.0")
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as broken:
            broken.write(text)
            broken.flush()
            lines = output("--load", broken.name, "--doctor").splitlines()
        self.assertRegex(lines[2], r"^ +\+20\.0 +\+20\.0  gpu0 and gpu3: 5 NVLinks; most GPUs have 6$")
        self.assertRegex(lines[4], r"no NIC on the NUMA node of gpu4, gpu5, gpu6 and gpu7; on others: nic enp1s0f0$")

    def test_the_doctor_looks_at_the_settings_of_a_host(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "proc", "self"))
            self.assertEqual(output("--doctor", "--host-root", root), "no fault found in the host's settings\n")
            os.makedirs(os.path.join(root, "sys", "class", "infiniband", "mlx5_0"))
            with open(os.path.join(root, "proc", "self", "limits"), "w", encoding="utf-8") as file:
                file.write("Max locked memory  8388608  8388608  bytes\n")
            self.assertRegex(output("--doctor", "--host-root", root), r"^this process may lock 8192 KiB.*\n-> ulimit ")
        self.assertTrue(output("--doctor"))  # this host, whatever it is

    def test_costs_are_listed_with_their_sources(self):
        text = output("--costs", RONDO_CALIBRATION="0")
        self.assertRegex(text, r"(?m)^shared memory +0\.05 +0\.2 +0\.65 +0\.029  measured: .*, \d{4}-\d\d-\d\d$")
        self.assertRegex(text, r"(?m)^LL vector +65536  prediction: .*, \d{4}-\d\d-\d\d$")
        self.assertRegex(text, r"(?m)^channels on GPUs +8  prediction: .*, \d{4}-\d\d-\d\d$")
        rows = [line for line in text.splitlines() if re.search(r"\d", line) and "Gbit/s):" not in line]
        self.assertEqual(len(rows), 10 + 11 + 2)
        for row in rows:
            self.assertRegex(row, "measured|prediction|estimate")

    def test_what_makes_no_sense_is_refused(self):
        for arguments, code, text in (
                (["--machine", "hgx-h10"], 2, "did you mean hgx-h100?"),
                (["--load", "/nowhere/at/all.xml"], 1, "/nowhere/at/all.xml: No such file or directory"),
                (["--load", "/dev/null"], 1, "/dev/null"),
                (["--machine", "dgx-2", "--hosts", "0"], 2, "--hosts"),
                (["--machine", "dgx-2", "--load", "x"], 2, "--machine"),
                (["--machine", "dgx-2", "--save", "/nowhere/all.xml"], 1, "cannot write /nowhere/all.xml: No"),
                (["--diff", "dgx-2"], 2, "--diff"),
                (["--diff", "dgx-2", "dgx-3"], 2, "no machine is called 'dgx-3'"),
                (["--limits", "dgx-2", "dgx-3"], 2, "no machine is called 'dgx-3'"),
                (["--diff", "dgx-2", "/nowhere/at/all.xml"], 1, "/nowhere/at/all.xml: No such file"),
                (["--diff", "dgx-2", "dgx-2", "--machine", "dgx-2"], 2, "--machine"),
                (["--limits", "dgx-2", "/nowhere/at/all.xml"], 1, "/nowhere/at/all.xml: No such file"),
                (["--limits", "--machine", "dgx-2"], 2, "--machine"),
                (["--diff", "dgx-2", "dgx-2", "--svg"], 2, "--svg"),
                (["--limits", "dgx-2", "--doctor"], 2, "--doctor"),
                (["--list", "--save", "x.xml"], 2, "--save"),
                (["--costs", "--machine", "dgx-2"], 2, "--machine"),
                (["--doctor", "--host-root", "/", "--paths"], 2, "--paths"),
                (["--doctor", "--host-root", "/nowhere"], 2, "/nowhere"),
                (["--host-root", "/"], 2, "--doctor"),
                (["--doctor", "--host-root", "/dev"], 2, "root is '/dev': it has neither sys nor proc"),
                (["--load", ""], 2, "it names no file"),
                (["--machine", ""], 2, "it names no machine"),
                (["--doctor", "--host-root", "/", "--machine", "dgx-2"], 2, "--machine"),
                (["--machine", "dgx-2", "--graph-load", "/dev/null"], 1, "/dev/null:1: not well-formed XML"),
                (["--machine", "dgx-2", "--graph-save", "/nowhere/all.xml"], 1, "/nowhere/all.xml: No such file"),
                (["--nonsense"], 2, "--nonsense")):
            result = topo(*arguments)
            self.assertEqual(result.returncode, code, arguments)
            self.assertIn(text, result.stdout + result.stderr, arguments)


if __name__ == "__main__":
    unittest.main()
