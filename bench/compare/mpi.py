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


class Mpi:
    """An MPI library: Debian's, or the one in an environment that install_mpi.py made."""
    sign = ""  # appears in the version text of its launcher and library
    compilers = launchers = ()
    packages = ""  # of Debian

    def __init__(self, environment=None):
        self.environment = environment

    def variables_of(self, folder):
        """The environment in which its programs run; `folder` has the environments."""
        if self.environment is None:
            return {}
        prefix = os.path.join(folder, self.environment)
        return {"PATH": os.path.join(prefix, "bin") + os.pathsep + os.environ.get("PATH", os.defpath),
                "LD_LIBRARY_PATH": os.path.join(prefix, "lib")}

    def program(self, names, folder):
        """The first of these programs that is there."""
        path = None if self.environment is None else os.path.join(folder, self.environment, "bin")
        return next(filter(None, (shutil.which(name, path=path) for name in names)), None)

    def missing(self, names, folder):
        if self.environment is None:
            return Missing(f"there is no {names[0]} of {self.sign}; Debian has it in {self.packages}")
        return Missing(f"there is no {names[-1]} in {os.path.join(folder, self.environment)}; "
                       "bench/compare/install_mpi.py installs it")

    def check(self):
        """Raises Missing if the library lacks a component that this peer needs."""


class OpenMpi(Mpi):
    sign = "Open MPI"
    compilers, launchers = ("mpicc.openmpi", "mpicc"), ("mpirun.openmpi", "mpirun")
    packages = "openmpi-bin and libopenmpi-dev"
    rank_variable = "OMPI_COMM_WORLD_RANK"

    def __init__(self, pml, environment=None):
        super().__init__(environment)
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


class Ucc(OpenMpi):
    """UCC behind Open MPI's calls."""

    def __init__(self):
        super().__init__("ucx")

    def options(self, job, version):
        return [*super().options(job, version), "--mca", "coll_ucc_enable", "1", "--mca", "coll_ucc_priority", "100"]

    def check(self):
        info = next(filter(None, map(shutil.which, ("ompi_info.openmpi", "ompi_info"))), None)
        components = processes.run([info, "--parsable"], timeout=VERSION_SECONDS).printed if info else ""
        if "mca:coll:ucc:" not in components:
            raise Missing("the installed Open MPI was built without UCC: it has no component coll/ucc")


class Mpich(Mpi):
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


class IntelMpi(Mpi):
    sign = "Intel(R) MPI Library"
    compilers, launchers = ("mpicc",), ("mpiexec.hydra",)
    rank_variable = "PMI_RANK"

    def variables_of(self, folder):
        return {**super().variables_of(folder), "I_MPI_ROOT": os.path.join(folder, self.environment)}

    @staticmethod
    def options(job, version):
        return []

    @staticmethod
    def variables(transport):
        # binding.py binds ranks.
        fabric = {"I_MPI_FABRICS": "shm"} if transport == "shm" else {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp",
                                                                      "FI_TCP_IFACE": "lo"}
        return {"I_MPI_PIN": "0", **fabric}


UCX_VARIABLES = {"shm": {"UCX_TLS": "shm,self"}, "tcp": {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}}


def find(name, mpi, workshop):
    folder, variables = workshop.arguments.mpi_folder, mpi.variables_of(workshop.arguments.mpi_folder)
    launcher, launcher_version = find_launcher(mpi, folder, variables)
    mpi.check()
    driver = build(mpi, workshop, variables)

    def command_and_variables(job):
        rank = [driver, *job.driver_arguments()]
        if job.bind == "cpu":
            rank = [sys.executable, os.path.join(HERE, "binding.py"), mpi.rank_variable, *rank]
        options = [*mpi.options(job, launcher_version), "-np", str(job.sweep.ranks)]
        return [launcher, *options, *rank], {**variables, **mpi.variables(job.sweep.transport)}

    def run(job):
        return Turn.of_driver(processes.run(*command_and_variables(job), job.timeout))

    return Contestant(name, probe(mpi, command_and_variables, workshop.arguments), run)


def find_launcher(mpi, folder, variables):
    path = mpi.program(mpi.launchers, folder)
    version = processes.run([path, "--version"], variables, VERSION_SECONDS).printed if path else ""
    # MPICH's launcher reports its own name.
    if mpi.sign in version or (mpi.sign == "MPICH" and "HYDRA" in version):
        return path, version
    raise mpi.missing(mpi.launchers, folder)


def build(mpi, workshop, variables):
    """Compiles the driver and returns its path."""
    compiler = mpi.program(mpi.compilers, workshop.arguments.mpi_folder)
    if compiler is None:
        raise mpi.missing(mpi.compilers, workshop.arguments.mpi_folder)
    driver = os.path.join(workshop.folder, f"driver of {mpi.environment or mpi.sign}")
    if not os.path.exists(driver):
        sources = [os.path.join(HERE, name) for name in SOURCES]
        outcome = processes.run([compiler, "-O2", "-o", driver, *sources], variables, COMPILE_SECONDS)
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
