# SPDX-License-Identifier: Apache-2.0
"""Maps suites and rooms to the targets and tests of a build folder, from Meson's introspection data:

  build_graph.py BUILD suites NAME...   the targets that tests of these suites need, one per line, or 'all'
  build_graph.py BUILD without NAME...  the targets that all other tests need
  build_graph.py BUILD python           the targets of the Python package
  build_graph.py BUILD tests ROOM...    the tests of these rooms, one per line; without ROOM the names of all rooms
  build_graph.py BUILD targets ROOM...  the targets that those tests need

A room is a folder of the product that has a meson.build with a target in it. Exit code 2: unknown suite or room; the
message on standard error lists the known ones."""
import difflib
import json
import os
import re
import sys

# The tests of rooms that have no test which includes their headers, or too many for a quick check. Rooms below the C
# API are then tested through it, by quick programs that depend on the room.
CHOSEN = {
    "bench/kernels": ("standin-bench",),
    "bench/numerics": ("tools-numerics",),
    "bench/perf": ("tools-perf_parts",),
    "bench/scale": ("tools-scale",),
    "bench/selector": ("tools-selector",),
    "kernels": ("kernels-reduce", "kernels-reference"),
    "kernels/cuda": ("kernels-device_fold", "kernels-device_compare", "device-execute"),
    "runtime/algorithms": ("schedule-association", "schedule-cost", "schedule-ordered", "schedule-pull_plan"),
    "runtime/api": ("runtime-arguments", "runtime-names"),
    "runtime/base": ("schedule-association", "runtime-words", "runtime-handle_exchange",
                     "runtime-settings", "runtime-log", "runtime-status"),
    "runtime/bindings/nccl": ("nccl-parts", "nccl-life", "nccl-symbols", "nccl-words"),
    "runtime/bindings/python/rondo": tuple("python-" + subject for subject in (
        "arrays", "collectives", "header", "life", "main", "messages")),
    "runtime/bindings/torch": (),  # tools/test --suite torch
    "runtime/call": ("runtime-arguments", "runtime-groups"),
    "runtime/comm": ("runtime-groups", "runtime-split", "runtime-shrink"),
    "runtime/diagnosis": ("runtime-mismatch",),
    "runtime/exec": ("runtime-messages", "runtime-reductions"),
    "runtime/gpu": ("standin-driver", "standin-streams", "standin-graphs"),
    "runtime/gpu_connections": ("standin-wired",),
    "runtime/gpu_direct": ("standin-collectives",),
    "runtime/gpu_group": ("standin-streams",),
    "runtime/gpu_staged": ("standin-processes", "standin-windows"),
    "runtime/health": ("runtime-flight", "runtime-flight_recorder", "runtime-flight_text", "runtime-metrics",
                       "runtime-trace", "runtime-trace_ring", "start"),
    "runtime/heap": ("heap-run_map", "heap-programs", "heap-ranks"),
    "runtime/p2p": ("runtime-messages", "runtime-requests"),
    "runtime/ras": ("runtime-ras", "nccl-ras", "nccl-ras_protocol"),
    "runtime/schedule": tuple("schedule-" + subject for subject in (
        "association", "cost", "layout", "ordered", "pull_plan", "schedule", "verifier")),
    "runtime/stacks": ("runtime-stacks", "tools-places", "python-places"),
    "runtime/shm_pull": ("runtime-ahead", "runtime-groups"),
    "tools/calibrate": ("tools-calibration", "tools-selector"),
    "tools/common": ("tools-flight", "tools-plan", "tools-topo", "tools-trace"),
    "tools/doctor": ("tools-doctor", "tools-doctor_parts", "hosts-doctor"),
    "tools/explain": ("tools-rondo_explain", "style-errors"),
    "tools/flight": ("tools-flight", "tools-places"),
    "tools/manual": ("tools-manual",),
    "tools/nccl_path": ("nccl-words",),
    "tools/plan": ("tools-plan", "tools-plan_pictures"),
    "tools/ps": ("tools-ps", "hosts-ps"),
    "tools/run": ("tools-run_parts", "tools-run"),
    "tools/topo": ("tools-topo",),
    "tools/trace": ("tools-trace",),
    "topology/search": ("topology-forest",),
}
UNITED = re.compile(r"^#include\s*<(.+)>$", re.M)
NEEDS_MORE = {"gpu", "torch"}  # suites for machines with a GPU, or with PyTorch


class Refused(Exception):
    """Why the request cannot be met, in one sentence."""


class Build:
    def __init__(self, folder):
        self.folder = os.path.realpath(folder)
        self.targets = {target["id"]: target for target in self.introspection("targets")}
        self.tests = self.introspection("tests")
        self.root = self.introspection("buildsystem_files")[0].rpartition("/")[0]

    def introspection(self, what):
        with open(os.path.join(self.folder, "meson-info", f"intro-{what}.json"), encoding="utf-8") as file:
            return json.load(file)

    def files_of(self, target):
        """By the names that ninja uses."""
        return {os.path.relpath(path, self.folder) for path in target["filename"]}

    def needs(self, test):
        """The targets that one test needs; None: all."""
        found = set().union(*(self.files_of(self.targets[one]) for one in test["depends"]))
        if self.folder in test["cmd"]:  # the test installs, or looks for programs
            installed = set().union(*(self.files_of(one) for one in self.targets.values() if one["installed"]))
            return found if installed <= found else None
        return found

    def needs_of(self, tests):
        each = [self.needs(test) for test in tests]
        return ["all"] if None in each else sorted(set().union(*each))

    # Suites.

    @staticmethod
    def suites_of(test):
        return {name.split(":")[-1] for name in test["suite"]}

    def targets_of_suites(self, names):
        names = [name.split(":")[-1] for name in names]
        known = sorted(set().union(*map(self.suites_of, self.tests)))
        for name in names:
            if name not in known:
                raise Refused(f"there is no suite '{name}': the suites are {', '.join(known)}")
        return self.needs_of([test for test in self.tests if self.suites_of(test).intersection(names)])

    def targets_without_suites(self, names):
        return self.needs_of([test for test in self.tests if not self.suites_of(test).intersection(names)])

    def targets_of_python(self):
        plan = self.introspection("install_plan").get("targets", {})
        return sorted(os.path.relpath(path, self.folder) for path, row in plan.items() if row["tag"] == "python")

    # Rooms.

    def folder_of(self, target):
        return os.path.relpath(os.path.dirname(target["defined_in"]), self.root)

    def rooms(self):
        """Every folder of the product with a target."""
        folders = {self.folder_of(target) for target in self.targets.values()}
        return sorted(folder for folder in folders if not folder.startswith(("tests", "tools/cuda", ".")))

    def includes(self, target, header):
        """Whether one of the target's own files includes the header."""
        return any(header.search(text_of(path)) for group in target["target_sources"] for path in own_files(group)
                   if path.endswith((".cc", ".c")) and os.path.exists(path))

    def tests_of_room(self, room):
        """The room's row in CHOSEN, or else the suite of its name and the tests that include its headers."""
        name = os.path.basename(room)
        if room in CHOSEN:
            return [test for test in self.tests if test["name"] in CHOSEN[room]]
        header = re.compile(rf'^\s*#\s*include\s*"{name}/', re.M)
        has_headers = os.path.isdir(os.path.join(self.root, room, "include", name))
        programs = {one for one, target in self.targets.items() if has_headers and target["type"] == "executable" and
                    self.folder_of(target).startswith("tests/") and self.includes(target, header)}
        return [test for test in self.tests if not NEEDS_MORE & self.suites_of(test) and
                (name in self.suites_of(test) or programs.intersection(test["depends"]))]

    def tests_of_rooms(self, names):
        known = self.rooms()
        found = []
        for name in names:
            name = name.removeprefix("./").rstrip("/")
            inside = [name] if name in known else [room for room in known if room.startswith(name + "/")]
            if not inside:
                near = difflib.get_close_matches(name, known + [os.path.basename(room) for room in known], 1)
                raise Refused(f"there is no room '{name}'" + (f", did you mean {near[0]}?" if near else ".") +
                              f" The rooms are {', '.join(known)}")
            for room in inside:
                found += [test for test in self.tests_of_room(room) if test not in found]
        return found


def own_files(group):
    """The files of a target, also those that Meson compiles together in generated ones."""
    together = [path for path in group.get("generated_sources", ()) if "-unity" in os.path.basename(path)]
    return [*group.get("sources", ()), *(file for path in together for file in UNITED.findall(text_of(path)))]


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def lines(build, what, names):
    if what == "suites":
        return build.targets_of_suites(names)
    if what == "without":
        return build.targets_without_suites(names)
    if what == "python":
        return build.targets_of_python()
    if what == "targets":
        return build.needs_of(build.tests_of_rooms(names))
    if names:
        return [test["name"] for test in build.tests_of_rooms(names)]
    return build.rooms()


if __name__ == "__main__":
    try:
        for line in lines(Build(sys.argv[1]), sys.argv[2], sys.argv[3:]):
            print(line)
    except Refused as refused:
        print(refused, file=sys.stderr)
        sys.exit(2)
