# SPDX-License-Identifier: Apache-2.0
"""run_fuzzer.py NAME SOURCE_ROOT BUILD SEEDS: compiles tests/fuzz/NAME_fuzz.cc and what it needs in the folder BUILD by
clang, under its address and undefined behaviour sanitizers, and runs it for RONDO_FUZZ_SECONDS (60). It begins with
tests/fuzz/NAME.seed and the files of RONDO_TEST_DATA that match SEEDS, and keeps what it finds for the next time in
BUILD/corpus. Exit code 77: skipped."""
import contextlib
import fcntl
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

COMPILERS = ("clang++-14", "clang++", *(f"clang++-{version}" for version in range(22, 14, -1)))
OPTIONS = ("-Dfuzzers=true", "-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dbuildtype=debug",
           "-Dcuda=disabled", "-Dtests=disabled", "-Dbench=disabled")
LIMITS = ("-max_len=20000", "-timeout=10", "-rss_limit_mb=1024", "-malloc_limit_mb=64")
PROGRAM = 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n'
SHOWN_LINES = 50  # of what a failed fuzzer says


def compiler():
    """The first clang that has libFuzzer and the sanitizers, or None."""
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(shutil.which, COMPILERS):
            command = [name, "-fsanitize=fuzzer,address,undefined", "-x", "c++", "-", "-o", os.path.join(folder, "it")]
            if subprocess.run(command, input=PROGRAM, text=True, capture_output=True).returncode == 0:
                return name
    return None


@contextlib.contextmanager
def alone(folder):
    """Fuzzers that run at the same time compile one after the other."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(what, command, **keywords):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **keywords)
    if done.returncode != 0:
        print("\n".join(done.stdout.splitlines()[-SHOWN_LINES:]))
        sys.exit(f"{what} failed")


def build(name, root, folder, clang):
    """The path of the fuzzer."""
    environment = {key: value for key, value in os.environ.items() if not key.endswith("FLAGS")}
    environment.update(CXX=clang, CC=clang.replace("++", ""))
    with alone(folder):
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            level = 0 if "RONDO_TEST_BRIEF" in os.environ else 1  # 0: half as long to compile, and slower
            run("meson setup", ["meson", "setup", folder, root, *OPTIONS, f"-Doptimization={level}"], env=environment)
        jobs = os.environ.get("RONDO_JOBS")
        jobs = ["-j", jobs] if jobs else []
        run("ninja", ["ninja", "-C", folder, *jobs, f"tests/fuzz/fuzz_{name}"], env=environment)
    return os.path.join(folder, "tests/fuzz", f"fuzz_{name}")


def gather(name, root, folder, pattern):
    """A folder with the inputs to begin with."""
    seeds = os.path.join(folder, "seeds", name)
    shutil.rmtree(seeds, ignore_errors=True)
    os.makedirs(seeds)
    shutil.copyfile(os.path.join(root, "tests/fuzz", name + ".seed"), os.path.join(seeds, "seed"))
    data = os.environ.get("RONDO_TEST_DATA")
    if data is None:
        print("skipped: recorded files as seeds, since RONDO_TEST_DATA is not set")
    for path in glob.glob(os.path.join(data, pattern)) if data else ():
        shutil.copyfile(path, os.path.join(seeds, os.path.basename(path)))
    return seeds


def seconds_to_run():
    text = os.environ.get("RONDO_FUZZ_SECONDS", "60")
    if not re.fullmatch(r"[1-9]\d{0,5}", text):
        sys.exit(f"RONDO_FUZZ_SECONDS is '{text}': it must be a whole number of seconds from 1 to 999999")
    return int(text)


def main():
    name, root, folder, pattern = sys.argv[1:]
    seconds = seconds_to_run()
    clang = compiler()
    if clang is None:
        print("skipped: no clang with libFuzzer here (Debian's packages: clang-14, libclang-rt-14-dev)")
        sys.exit(77)
    fuzzer = build(name, root, folder, clang)
    corpus = os.path.join(folder, "corpus", name)
    os.makedirs(corpus, exist_ok=True)
    command = [fuzzer, corpus, gather(name, root, folder, pattern), *LIMITS, f"-max_total_time={seconds}",
               f"-dict={root}/tests/fuzz/{name}.dict", f"-artifact_prefix={folder}/{name}-", "-print_final_stats=1"]
    if "RONDO_TEST_SEED" in os.environ:
        command.append(f"-seed={os.environ['RONDO_TEST_SEED']}")
    done = subprocess.run(command, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=2 * seconds + 300)
    if done.returncode != 0:
        print("\n".join(done.stdout.splitlines()[-SHOWN_LINES:]))
        sys.exit(f"{name}: failed. To run it again: {fuzzer} FILE, the file being the one named above")
    tried = re.search(r"number_of_executed_units: *(\d+)", done.stdout)
    covered = re.findall(r"cov: (\d+)", done.stdout)
    print(f"{name}: {tried[1]} inputs in {seconds} s, {covered[-1]} edges covered")


if __name__ == "__main__":
    main()
