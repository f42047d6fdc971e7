# SPDX-License-Identifier: Apache-2.0
"""MPI libraries as peers: how they differ, and how each is found, compiled against and run."""
import os
import re
import shutil
import sys

import processes
from contestant import Contestant, Missing, Turn
from jobs import Sweep, job_of

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = ("mpi_driver.c", "mpi_calls.c")
COMPILE_SECONDS, VERSION_SECONDS = 60, 20
PROBE_BYTES = 64


class OpenMpi:
    sign = "Open MPI"  # appears in the version text of its launcher and library
    compilers, launchers = ("mpicc.openmpi", "mpicc"), ("mpirun.openmpi", "mpirun")
    packages = "openmpi-bin and libopenmpi-dev"
    rank_variable = "OMPI_COMM_WORLD_RANK"

    def __init__(self, pml):
        self.pml = pml

    def options(self, job, version):
        options = ["--oversubscribe"]
        if os.geteuid() == 0:
            options.append("--allow-run-as-root")
        if job.bind == "cpu":
            options += ["--bind-to", "none"]  # binding.py does it
        return options + (self.ob1(job, version) if self.pml == "ob1" else self.ucx())

    @staticmethod
    def ob1(job, version):
        shared_memory = "vader" if int(re.search(r"\d+", version)[0]) < 5 else "sm"
        btl = ["--mca", "btl", "self," + (shared_memory if job.sweep.transport == "shm" else "tcp")]
        network = ["--mca", "btl_tcp_if_include", "lo"] if job.sweep.transport == "tcp" else []
        return ["--mca", "pml", "ob1", *btl, *network]

    @staticmethod
    def ucx():
        # By default it disables itself if there is no InfiniBand.
        return ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]

    @staticmethod
    def variables(transport):
        return UCX_VARIABLES[transport]

    @staticmethod
    def check():
        """Raises Missing if the library lacks a component that this peer needs."""


class Ucc(OpenMpi):
    """UCC behind Open MPI's calls."""

    def __init__(self):
        super().__init__("ucx")

    def options(self, job, version):
        return [*super().options(job, version), "--mca", "coll_ucc_enable", "1", "--mca", "coll_ucc_priority", "100"]

    @staticmethod
    def check():
        info = next(filter(None, map(shutil.which, ("ompi_info.openmpi", "ompi_info"))), None)
        components = processes.run([info, "--parsable"], timeout=VERSION_SECONDS).printed if info else ""
        if "mca:coll:ucc:" not in components:
            raise Missing("the installed Open MPI was built without UCC: it has no component coll/ucc")


class Mpich:
    sign = "MPICH"
    compilers, launchers = ("mpicc.mpich", "mpicc"), ("mpiexec.mpich", "mpiexec")
    packages = "mpich and libmpich-dev"
    rank_variable = "PMI_RANK"

    @staticmethod
    def options(job, version):
        return []

    @staticmethod
    def variables(transport):
        if transport == "shm":
            return {}
        return {"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo", **UCX_VARIABLES["tcp"]}

    @staticmethod
    def check():
        pass


UCX_VARIABLES = {"shm": {"UCX_TLS": "shm,self"}, "tcp": {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}}


def find(name, mpi, workshop):
    launcher, launcher_version = find_launcher(mpi)
    mpi.check()
    driver = build(mpi, workshop.folder)

    def command_and_variables(job):
        rank = [driver, *job.driver_arguments()]
        if job.bind == "cpu":
            rank = [sys.executable, os.path.join(HERE, "binding.py"), mpi.rank_variable, *rank]
        options = [*mpi.options(job, launcher_version), "-np", str(job.sweep.ranks)]
        return [launcher, *options, *rank], mpi.variables(job.sweep.transport)

    def run(job):
        return Turn.of_driver(processes.run(*command_and_variables(job), job.timeout))

    return Contestant(name, probe(mpi, command_and_variables, workshop.arguments), run)


def find_launcher(mpi):
    for name in mpi.launchers:
        path = shutil.which(name)
        version = processes.run([path, "--version"], timeout=VERSION_SECONDS).printed if path else ""
        # MPICH's launcher reports its own name.
        if mpi.sign in version or (mpi.sign == "MPICH" and "HYDRA" in version):
            return path, version
    raise Missing(f"there is no {mpi.launchers[0]} of {mpi.sign}; Debian has it in {mpi.packages}")


def build(mpi, folder):
    """Compiles the driver and returns its path."""
    compiler = next(filter(None, map(shutil.which, mpi.compilers)), None)
    if compiler is None:
        raise Missing(f"there is no {mpi.compilers[0]}; Debian has it in {mpi.packages}")
    driver = os.path.join(folder, "driver of " + mpi.sign)
    if not os.path.exists(driver):
        sources = [os.path.join(HERE, name) for name in SOURCES]
        outcome = processes.run([compiler, "-O2", "-o", driver, *sources], timeout=COMPILE_SECONDS)
        if outcome.fault:
            raise Missing(outcome.fault)
    return driver


def probe(mpi, command_and_variables, arguments):
    """Returns the library's version from a small run, which also shows that it works here with this type."""
    job = job_of(Sweep(arguments.transport[0], "all_reduce", 2), [PROBE_BYTES], arguments, arguments.timeout)
    outcome = processes.run(*command_and_variables(job), arguments.timeout)
    if outcome.fault:
        raise Missing(outcome.fault)
    version = re.search(r"^# (.*)", outcome.printed)[1]
    if mpi.sign not in version:
        raise Missing(f"{mpi.compilers[-1]} belongs to another MPI: {version}")
    return " ".join(version.split(",")[0].replace("Version:", "").split())
