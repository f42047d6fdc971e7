# SPDX-License-Identifier: Apache-2.0
"""Boots the machines of tools/verbs-vm, passes on what they print, and returns their status.

Usage: vm.py [--hosts N] [--seconds N] [--memory MIB] [--share FOLDER] -- COMMAND...
       vm.py --ready      only makes sure that the kernel is there
"""
import argparse
import glob
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from switch import Switch

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "rondo" / "verbs-vm"
# In the order in which the machines load them, each after those that it needs.
MODULES = ("virtio_pci", "virtio_net", "9pnet_virtio", "9p", "overlay", "crc32_generic", "crc32c_generic", "ib_uverbs",
           "rdma_ucm", "rdma_rxe", "sch_netem", "dummy")
PORTS = 2
PASSED_ON = ("RONDO_", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "PYTHONPATH")
TIMED_OUT, NOT_STARTED = 124, 125


class Failed(Exception):
    pass


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def kernel_package():
    """The name of Debian's present kernel, as in linux-image-6.1.0-56-amd64."""
    for line in run("apt-cache", "depends", "linux-image-amd64").splitlines():
        kind, _, name = line.strip().partition(": ")
        if kind == "Depends" and name.startswith("linux-image-"):
            return name.replace("-unsigned", "")
    raise Failed("apt knows no package linux-image-amd64, which names Debian's kernel")


def kernel():
    """The folder of the unpacked kernel, and its version; fetched at most once. Any that is there will do."""
    found = sorted(CACHE.glob("linux-image-*/boot/vmlinuz-*"))
    if not found:
        name = kernel_package()
        CACHE.mkdir(parents=True, exist_ok=True)
        print(f"Fetching {name} (70 MB) into {CACHE} ...", flush=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            run("apt-get", "download", name, cwd=folder)
            run("dpkg-deb", "-x", glob.glob(f"{folder}/*.deb")[0], f"{folder}/{name}")
            version = next(pathlib.Path(folder, name, "boot").glob("vmlinuz-*")).name.removeprefix("vmlinuz-")
            run("depmod", "-b", f"{folder}/{name}", version)
            os.replace(f"{folder}/{name}", CACHE / name)
        found = sorted(CACHE.glob("linux-image-*/boot/vmlinuz-*"))
    return found[-1].parents[1], found[-1].name.removeprefix("vmlinuz-")


def needed_modules(folder, version):
    """Paths of the modules, those that others need first. Modules that are built into the kernel have none."""
    found = {}
    for name in MODULES:
        listed = run("modprobe", "-d", folder, "-S", version, "--show-depends", name)
        for line in listed.splitlines():
            if line.startswith("insmod "):
                found[line.split()[1]] = None
    return list(found)


def first_files(folder, version):
    """The file system that a machine starts with: busybox, the modules and init.sh."""
    image = folder / "initramfs"
    with tempfile.TemporaryDirectory(dir=CACHE) as work:
        root = pathlib.Path(work)
        (root / "bin").mkdir()
        (root / "modules").mkdir()
        shutil.copy(shutil.which("busybox"), root / "bin" / "busybox")
        shutil.copy(HERE / "init.sh", root / "init")
        (root / "init").chmod(0o755)
        names = []
        for path in needed_modules(folder, version):
            name = os.path.basename(path)
            if name.endswith(".xz"):
                name = name.removesuffix(".xz")
                (root / "modules" / name).write_bytes(subprocess.run(["xz", "-dc", path], check=True,
                                                                     stdout=subprocess.PIPE).stdout)
            else:
                shutil.copy(path, root / "modules" / name)
            names.append(name)
        (root / "modules" / "order").write_text("".join(f"{name}\n" for name in names), encoding="ascii")
        paths = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
        packed = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, check=True, input=paths.encode(),
                                stdout=subprocess.PIPE)
        part = image.with_suffix(f".{os.getpid()}")
        part.write_bytes(packed.stdout)
        os.replace(part, image)
    return image


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def write_share(share, host, options, secret):
    """What guest.sh reads."""
    folder = share / str(host)
    folder.mkdir()
    shutil.copy(HERE / "guest.sh", folder / "guest.sh")
    # printf %b of the shell turns each word back into its bytes.
    escaped = ("".join(f"\\x{byte:02x}" for byte in os.fsencode(word)) for word in options.command)
    (folder / "command").write_text("".join(f"{word}\n" for word in escaped), encoding="ascii")
    variables = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
    variables.update(RANK=str(host), WORLD_SIZE=str(options.hosts), LOCAL_RANK="0", LOCAL_WORLD_SIZE="1",
                     MASTER_ADDR="10.9.0.1", MASTER_PORT="29500", RONDO_SECRET=secret, VERBS_VM_SHARE="/run/user-share",
                     PATH=os.environ["PATH"], HOME="/")
    lines = [f"HOST={host}", f"HOSTS={options.hosts}", f"FOLDER={quoted(os.getcwd())}"]
    lines += [f"export {name}={quoted(value)}" for name, value in variables.items()]
    (folder / "settings").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def start(host, options, share, image, networks, folder, version):
    # One CPU without AVX is emulated in less than half of the time that two with everything take.
    command = ["nice", "-n", "10", "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "Nehalem", "-smp", "1",
               "-m", str(options.memory), "-nographic", "-no-reboot", "-nic", "none", "-monitor", "none",
               "-kernel", str(folder / "boot" / f"vmlinuz-{version}"), "-initrd", str(image),
               # With the TSC as clock, which a busy host calibrates wrongly, all time-outs would be wrong too.
               "-append", "console=ttyS0 quiet loglevel=3 panic=-1 mitigations=off nokaslr no_timer_check "
               "clocksource=hpet tsc=unstable net.ifnames=0" + (" verbs_vm.user" if options.share else ""),
               "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
               "-virtfs", f"local,path={share},mount_tag=share,security_model=none"]
    if options.share:
        command += ["-virtfs", f"local,path={os.path.realpath(options.share)},mount_tag=user,security_model=none"]
    for port in range(PORTS):
        command += ["-netdev", f"socket,id=n{port},connect=127.0.0.1:{networks[port].port}",
                    "-device", f"virtio-net-pci,netdev=n{port},mac=52:54:00:00:{port:02x}:{host + 1:02x},"
                    "host_mtu=4200,romfile="]
    console = open(share / "console", "wb")  # pylint: disable=consider-using-with  # lives as long as the machine
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT)


class Host:
    """A machine: what it has printed, and its status."""

    def __init__(self, number, share, process, prefix):
        self.share, self.process, self.prefix = share, process, prefix
        self.output = share / f"output.{number}"
        self.status_file = share / f"status.{number}"
        self.seen = 0
        self.left = b""

    def pass_on(self, last=False):
        if not self.output.exists():
            return
        with open(self.output, "rb") as file:
            file.seek(self.seen)
            more = file.read()
        self.seen += len(more)
        *lines, self.left = (self.left + more).split(b"\n")
        if last and self.left:
            lines.append(self.left)
        for line in lines:
            sys.stdout.buffer.write(self.prefix + line + b"\n")
        sys.stdout.flush()

    def status(self):
        """The command's; None while it runs, and forever if the machine has ended without one."""
        try:
            return int(self.status_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None


def watch(hosts, seconds):
    """Returns the exit status."""
    end = time.monotonic() + seconds
    while any(host.process.poll() is None for host in hosts) and time.monotonic() < end:
        for host in hosts:
            host.pass_on()
        time.sleep(0.1)
    for host in hosts:
        host.pass_on(last=True)
    statuses = [host.status() for host in hosts]
    for number, (host, status) in enumerate(zip(hosts, statuses)):
        if status is None and host.process.poll() is not None:
            console = (host.share / "console").read_text(errors="replace").strip().splitlines()[-20:]
            print("\n".join([f"verbs-vm: host {number} ended without a status; its console:", *console]),
                  file=sys.stderr)
        elif status is None:
            print(f"verbs-vm: host {number} is not over after {seconds} s", file=sys.stderr)
    if None not in statuses:
        return max(statuses)
    return TIMED_OUT if any(host.process.poll() is None for host in hosts) else NOT_STARTED


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--memory", type=int, default=1024)
    parser.add_argument("--share")
    parser.add_argument("--ready", action="store_true")
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(NOT_STARTED))  # the machines end, too
    hosts = []
    try:
        folder_of_kernel, version = kernel()
        if options.ready:
            return 0
        image = first_files(folder_of_kernel, version)
        networks = [Switch() for _ in range(PORTS)]
        secret = secrets.token_hex(16)
        with tempfile.TemporaryDirectory(prefix="rondo-verbs-vm-") as folder:
            for number in range(options.hosts):
                share = write_share(pathlib.Path(folder), number, options, secret)
                prefix = b"" if options.hosts == 1 else f"{number}: ".encode()
                machine = start(number, options, share, image, networks, folder_of_kernel, version)
                hosts.append(Host(number, share, machine, prefix))
            try:
                return watch(hosts, options.seconds)
            finally:
                for host in hosts:
                    host.process.kill()
                    host.process.wait()
    except (Failed, OSError, subprocess.CalledProcessError) as failure:
        print(f"verbs-vm: {failure}", file=sys.stderr)
        return NOT_STARTED


if __name__ == "__main__":
    sys.exit(main())
