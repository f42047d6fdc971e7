# SPDX-License-Identifier: Apache-2.0
"""Runs the parts of gpu-check: each part's commands in sequence, each with a time limit. The result of a part is plain
data, as stored in the JSON; whatever goes wrong in a part is only a failure of that part."""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

import commands
import summarize

SKIPPED = 77
SHOWN_LINES = 40


class Machine:
    """Where and how programs run: the root of the manifest's relative paths, their environment, the number of GPUs."""

    def __init__(self, root, manifest, gpus):
        self.root = root
        self.manifest = manifest
        self.gpus = gpus
        self.environment = dict(os.environ)
        if manifest["libraries"]:
            theirs = os.environ.get("LD_LIBRARY_PATH")
            own = os.path.join(root, manifest["libraries"])
            self.environment["LD_LIBRARY_PATH"] = f"{own}:{theirs}" if theirs else own

    def at(self, path):
        return os.path.join(self.root, path)

    def argument(self, argument):
        """An argument of the manifest: text, or {"file": path}."""
        return self.at(argument["file"]) if isinstance(argument, dict) else argument

    def shown(self, command):
        """A command as one would repeat it by hand from the root."""
        return shlex.join(os.path.relpath(word, self.root) if word.startswith(self.root + os.sep) else word
                          for word in command)


class Part:
    """A running part: its time, its commands and their counts."""

    def __init__(self, machine, seconds):
        self.machine = machine
        self.end = time.monotonic() + seconds
        self.seconds = seconds
        self.rows = []

    def run(self, command, seconds, environment=None):
        """Runs a command; returns its row, its result as meson names it, and its output."""
        left = self.end - time.monotonic()
        row = {"command": self.machine.shown(command)}
        self.rows.append(row)
        if left < 1:
            row["why"] = f"not run: the part's {self.seconds} s are used up"
            return row, "TIMEOUT", ""
        start = time.monotonic()
        code, output = run(command, min(seconds, left), {**self.machine.environment, **(environment or {})})
        row["seconds"] = round(time.monotonic() - start, 2)
        row["exit"] = code
        if code is None:
            row["why"] = f"still running after {row['seconds']:.0f} s, and was ended"
            return row, "TIMEOUT", output
        if code not in (0, SKIPPED):
            row["why"] = f"exit status {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"
        return row, {0: "OK", SKIPPED: "SKIP"}.get(code, "FAIL"), output

    def count(self, row, passed, failed, skipped, output):
        """Records and prints how many of a command's cases passed, failed and were skipped."""
        row.update(passed=passed, failed=failed, skipped=skipped)
        words = [f"{number} {word}" for number, word in
                 ((passed, "passed"), (failed, "failed"), (skipped, "skipped")) if number]
        print(f"  {row['command']}\n      {', '.join(words)}, {row.get('seconds', 0):.1f} s"
              + (f"; {row['said']}" if "said" in row else ""), flush=True)
        if failed:
            lines = output.rstrip().splitlines()[-SHOWN_LINES:]
            print("\n".join([f"      FAILED: {row.get('why', 'see below')}", *(f"      | {line}" for line in lines)]),
                  flush=True)
            row["output"] = lines
        elif skipped and not passed:
            row.setdefault("why", last_line(output))
            print(f"      skipped: {row['why']}", flush=True)

    def skip(self, why):
        print(f"  skipped: {why}", flush=True)
        self.rows.append({"why": why, "passed": 0, "failed": 0, "skipped": 1})


def run(command, seconds, environment):
    """Runs a command and returns (exit status, or None after the time limit; output of it and its children)."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       env=environment, cwd=folder, start_new_session=True)
        except OSError as error:
            return 127, str(error)
        try:
            code = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # including processes that it left behind
            except ProcessLookupError:
                pass
            process.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace")


def last_line(output):
    lines = output.strip().splitlines()
    return lines[-1].strip() if lines else "it did not say why"


def tests(part):
    if not part.machine.manifest["tests"]:
        part.skip("this build has no tests of suite 'gpu'")
    for test in part.machine.manifest["tests"]:
        command = [part.machine.argument(argument) for argument in test["command"]]
        environment = {name: part.machine.argument(value) for name, value in test["environment"].items()}
        limit = min(test["timeout"] or commands.TEST_SECONDS, commands.TEST_SECONDS)
        row, result, output = part.run(command, limit, environment)
        row["name"] = test["name"]
        notes = [" ".join(note.split()) for note in summarize.SKIP_NOTE.findall(output)]
        if notes:
            row["notes"] = notes
            row["said"] = "; ".join(dict.fromkeys(notes))
        passed, failed, skipped = summarize.count(result, output)
        # The test framework counts a case that found nothing to test as passed; here that would be a claim about a GPU.
        empty = min(len(notes), passed) if not skipped else 0
        part.count(row, passed - empty, failed, skipped + empty, output)


def run_for_figures(part, command, seconds, options, environment=None):
    """Runs a command that writes JSON to a file; returns its row, result and output, and the JSON or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "figures.json")
        row, result, output = part.run([*command, *(option.replace("FILE", path) for option in options)], seconds,
                                       environment)
        row["command"] = " ".join([*(f"{name}={value}" for name, value in (environment or {}).items()),
                                   part.machine.shown(command)])
        try:
            with open(path, encoding="utf-8") as file:
                return row, result, output, json.load(file)
        except (OSError, ValueError):
            return row, result, output, None


def kernels(part):
    if not part.machine.manifest["benchmarks"]:
        part.skip("this build has no benchmark of device kernels")
    for path in part.machine.manifest["benchmarks"]:
        command = [part.machine.at(path), *commands.BENCHMARK_ARGUMENTS.split()]
        row, result, output, written = run_for_figures(
            part, command, part.seconds, ["--benchmark_out=FILE", "--benchmark_out_format=json"])
        found = written["benchmarks"] if written else []
        row["figures"] = [{key: figure[key] for key in commands.BENCHMARK_FIGURES if key in figure}
                          for figure in found]
        wrong = [figure for figure in found if figure.get("error_occurred")]
        if wrong:
            row["why"] = wrong[0].get("error_message", "an error")
        count_figures(part, row, result, output, len(found), len(wrong))


def variables_and_arguments(text):
    """Splits 'NAME=1 all_reduce -t 2' into {'NAME': '1'} and the remaining words."""
    words = text.split()
    variables = {}
    while re.match(r"[A-Z_]+=", words[0]):
        name, _, variables[name] = words.pop(0).partition("=")
    return variables, words


def measure(part, commands_of_perf):
    """Runs rondo-perf with each of these arguments."""
    perf = part.machine.manifest["perf"]
    if perf is None:
        part.skip("this build has no rondo-perf")
        return
    for text in commands_of_perf:
        variables, arguments = variables_and_arguments(text.format(gpus=part.machine.gpus))
        row, result, output, written = run_for_figures(part, [part.machine.at(perf), *arguments],
                                                       commands.COLLECTIVE_SECONDS, ["--json", "FILE"], variables)
        row["figures"] = rows = written["results"] if written else []
        wrong = [line for line in rows if line["wrong"]]
        if wrong:
            row["why"] = f"{len(wrong)} of {len(rows)} rows have wrong values"
        busbw = [line["busbw"] for line in rows if line["busbw"] is not None]
        times = [line["out_of_place_us"] for line in rows if line["out_of_place_us"] is not None]
        if busbw and times:
            row["said"] = f"best bus bandwidth {max(busbw):.2f} GB/s, shortest call {min(times):.2f} us"
        count_figures(part, row, result, output, len(rows), len(wrong))


def collectives(part):
    measure(part, commands.COLLECTIVES)


def gpus(part):
    if part.machine.gpus < 2:
        part.skip("there is one GPU, and this is for several")
        return
    measure(part, commands.EVERY_GPU)


def count_figures(part, row, result, output, found, wrong):
    """Counts each figure as a case; a program that failed otherwise, or measured nothing, counts as one failure."""
    if result == "SKIP":
        part.count(row, 0, 0, 1, output)
        return
    failed = wrong or int(result != "OK" or not found)
    if not found and result == "OK":
        row["why"] = "it measured nothing"
    part.count(row, found - wrong, failed, 0, output)


def find_sanitizer():
    places = [os.path.join(home, "bin") for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if home]
    return shutil.which("compute-sanitizer", path=os.pathsep.join([os.environ.get("PATH", ""), *places]))


def sanitizer(part):
    program = find_sanitizer()
    if program is None:
        part.skip("there is no compute-sanitizer in PATH, CUDA_HOME or /usr/local/cuda")
        return
    by_name = {test["name"]: test for test in part.machine.manifest["tests"]}
    for tool, name, arguments in commands.SANITIZER:
        if name not in by_name:
            part.skip(f"this build has no test {name}")
            continue
        test = [part.machine.argument(argument) for argument in by_name[name]["command"]]
        command = [program, "--tool", tool, "--error-exitcode", "9", *test, *shlex.split(arguments)]
        row, result, output = part.run(command, part.seconds)
        counts = {"OK": (1, 0, 0), "SKIP": (0, 0, 1)}
        part.count(row, *counts.get(result, (0, 1, 0)), output)


RUN = {"tests": tests, "kernels": kernels, "collectives": collectives, "gpus": gpus, "sanitizer": sanitizer}


def run_part(machine, name, seconds):
    """Runs one part and returns its entry in the JSON."""
    part = Part(machine, seconds)
    start = time.monotonic()
    try:
        RUN[name](part)
    except Exception as error:  # pylint: disable=broad-except  # the other parts continue regardless
        part.rows.append({"passed": 0, "failed": 1, "skipped": 0, "why": f"{type(error).__name__}: {error}"})
        print(f"  FAILED: {part.rows[-1]['why']}", flush=True)
    totals = {word: sum(row.get(word, 0) for row in part.rows) for word in ("passed", "failed", "skipped")}
    return {**totals, "seconds": round(time.monotonic() - start, 1), "commands": part.rows}
