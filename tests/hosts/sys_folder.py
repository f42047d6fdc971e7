# SPDX-License-Identifier: Apache-2.0
"""Folders like /sys, of hosts with network cards, GPUs and memory nodes."""
import os


def put_below_roots(sys_folder, gpus_of_nics):
    """For each network card, below a root of its own: rondo_0, rondo_1, ... and these GPUs of the stand-in for CUDA's
    driver."""
    os.makedirs(f"{sys_folder}/bus/pci/devices")
    for nic, gpus in enumerate(gpus_of_nics):
        root = f"{sys_folder}/devices/pci0000:{nic:02x}"
        card = f"0000:{0x20 + nic:02x}:00.0"
        for name in [card] + [f"0000:{0x10 + gpu:02x}:00.0" for gpu in gpus]:
            os.makedirs(f"{root}/{name}")
            os.symlink(f"{root}/{name}", f"{sys_folder}/bus/pci/devices/{name}")
        os.makedirs(f"{sys_folder}/class/infiniband/rondo_{nic}", exist_ok=True)
        os.symlink(f"{root}/{card}", f"{sys_folder}/class/infiniband/rondo_{nic}/device")


def put_on_nodes(sys_folder, cpus):
    """Memory nodes of a CPU each, and of the network card of the same number below put_below_roots()."""
    for node, cpu in enumerate(cpus):
        os.makedirs(f"{sys_folder}/devices/system/node/node{node}")
        for path, value in ((f"system/node/node{node}/cpulist", cpu),
                            (f"pci0000:{node:02x}/0000:{0x20 + node:02x}:00.0/numa_node", node)):
            with open(f"{sys_folder}/devices/{path}", "w", encoding="utf-8") as file:
                file.write(f"{value}\n")
