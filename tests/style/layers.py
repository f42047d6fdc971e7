# SPDX-License-Identifier: Apache-2.0
"""Which folders may include which: arrows point down, and siblings never include each other."""
import posixpath
import re

# Folder, what its headers are included as, and the folders whose headers it may include.
LAYERS = [
    # folder                  include name  may include
    ("runtime/base", "base", ()),
    ("runtime/heap", "heap", ("base",)),
    ("runtime/gpu", "gpu", ("base",)),
    ("runtime/schedule", "schedule", ("base",)),
    ("topology/graph", "graph", ("base",)),
    ("topology/detect", "detect", ("base", "graph")),
    ("topology/limit", "limit", ("base", "graph")),
    ("topology/review", "review", ("base", "graph", "detect", "limit", "topology")),
    ("topology/search", "search", ("base", "graph", "limit")),
    ("topology/formats", "formats", ("base", "graph", "limit", "search")),
    ("topology/this_host", "this_host", ("base", "graph", "detect", "formats")),
    ("topology", "topology", ("base",)),
    ("kernels", "kernels", ("base", "gpu", "schedule")),
    ("transports", "transports", ("base", "gpu", "schedule", "topology")),
    ("runtime/algorithms", "algorithms", ("base", "schedule")),
    ("runtime/synthesis", "synthesis", ("base", "schedule", "graph", "limit", "search", "formats", "algorithms")),
    ("runtime/net", "net", ("base",)),
    ("runtime/stacks", "stacks", ("base",)),
    ("runtime/health", "health", ("base", "stacks")),
    ("runtime/ras", "ras", ("base", "net", "stacks", "health")),
    ("runtime/bootstrap", "bootstrap",
     ("base", "gpu", "topology", "kernels", "transports", "net", "stacks", "health", "ras")),
    ("runtime/diagnosis", "diagnosis", ("base", "bootstrap")),
    ("runtime/call", "call", ("base", "gpu", "schedule")),
    ("runtime/plan", "plan",
     ("base", "schedule", "topology", "kernels", "transports", "algorithms", "synthesis", "bootstrap",
      "call")),
    ("runtime/exec", "exec",
     ("base", "schedule", "kernels", "transports", "algorithms", "bootstrap", "call", "plan")),
    ("runtime/shm_pull", "shm_pull",
     ("base", "schedule", "kernels", "algorithms", "bootstrap", "plan", "exec")),
    ("runtime/p2p", "p2p", ("base", "gpu", "kernels", "transports", "health", "exec")),
    ("runtime/gpu_group", "gpu_group", ("base", "gpu", "call", "exec")),
    ("runtime/gpu_direct", "gpu_direct", ("base", "gpu", "kernels", "call", "gpu_group")),
    ("runtime/gpu_staged", "gpu_staged",
     ("base", "gpu", "kernels", "health", "bootstrap", "diagnosis", "call", "exec", "gpu_group")),
    ("runtime/gpu_connections", "gpu_connections",
     ("base", "gpu", "schedule", "kernels", "transports", "health", "algorithms", "call", "plan", "exec",
      "gpu_group")),
    ("runtime/comm", "comm",
     ("base", "gpu", "topology", "this_host", "synthesis", "net", "stacks", "health", "bootstrap", "diagnosis",
      "call", "plan", "exec", "shm_pull", "p2p", "gpu_group", "gpu_direct", "gpu_staged", "gpu_connections")),
    ("runtime/api", "api",
     ("base", "heap", "schedule", "graph", "detect", "formats", "this_host", "limit", "review", "search",
      "algorithms", "synthesis", "health", "bootstrap", "call",
      "plan", "comm", "rondo")),
    ("runtime/include/rondo", "rondo", ()),
    ("runtime/bindings", None, ("rondo", "ras")),
    ("bench/kernels", None, ("base", "gpu", "kernels")),  # micro-benchmarks, below the C API
    ("tools/calibrate", "calibrate",
     ("base", "schedule", "topology", "transports", "algorithms", "call", "plan", "rondo")),
    ("bench/selector", None, ("base", "calibrate")),
    ("bench/scale", None, ("schedule", "algorithms", "plan")),  # plans for more ranks than can be run
    ("bench", None, ("base", "gpu", "kernels", "rondo")),  # its own memory, streams and checks on GPUs
    ("tools", None, ("base", "rondo", "calibrate")),  # parsing of options, and costs
    ("examples", None, ("rondo",)),
]
SOURCES = (".h", ".c", ".cc", ".cu", ".cuh", ".hpp", ".cpp")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)


def layer_of(path):
    """The row of LAYERS that a file belongs to, or None (tests may include anything)."""
    for row in LAYERS:
        if path.startswith(row[0] + "/"):
            return row
    return None


def inside(path, folder):
    return path.startswith(folder + "/")


def of_another_project(target, files):
    """Whether a header belongs to another project; Highway, for one, requires its headers in quotes."""
    first = target.split("/")[0]
    return first not in ("..", ".", target) and not any(f"/{first}/" in "/" + name for name in files)


def include_violation(path, quote, target, files):
    """The violation of one #include in a file, or None."""
    folder, own_name, allowed = layer_of(path)
    local = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    names = {row[1]: row for row in LAYERS if row[1]}
    first = target.split("/")[0]
    if "/" in target and first in names:
        row = names[first]
        header = f"{row[0]}/include/{target}" if first != "rondo" else f"runtime/include/{target}"
        if header not in files and local not in files:
            system = quote == "<" and first != "rondo"  # as <net/if.h> is
            return None if system else f"no such header ({header})"
        if header in files and first != own_name and first not in allowed:
            return f"{folder} may include {', '.join(allowed) or 'nothing'} only"
        if header in files:
            return None
    if quote == "<" or of_another_project(target, files):
        return None
    if local in files and inside(local, folder):
        return None
    builders = (f"{place}/meson.build" for place in (folder, posixpath.dirname(path)))
    if any(f"output: '{target}'" in files.get(builder, "") for builder in builders):  # made while building
        return None
    # Headers in subfolders, relative to the folder or its parents.
    if any(inside(name, folder) and name.endswith("/" + target) for name in files):
        return None
    return f"not a header of {folder}, nor of a folder below it"


def include_violations(files):
    """files: path -> text. Every #include in a layered folder that points up, sideways or to a missing file."""
    found = []
    for path, text in sorted(files.items()):
        if not path.endswith(SOURCES) or layer_of(path) is None:
            continue
        for match in INCLUDE.finditer(text):
            wrong = include_violation(path, match[1], match[2], files)
            if wrong:
                line = text.count("\n", 0, match.start(2)) + 1
                found.append(f"{path}:{line}: #include {match[2]}: {wrong}")
    return found


def unused_arrows(files):
    """files: path -> text. Every permission in LAYERS that no #include uses."""
    reached = {}  # include name -> folders that its headers reach; LAYERS lists lower folders first
    found = []
    for row in LAYERS:
        direct = {match[2].split("/")[0] for path, text in files.items()
                  if path.endswith(SOURCES) and layer_of(path) == row for match in INCLUDE.finditer(text)}
        own = direct.union(*(reached.get(name, set()) for name in direct))
        reached[row[1]] = own
        found += [f"{row[0]} may include {name}, and does not" for name in row[2] if name not in own]
    return found


def public_headers(files):
    """files: path -> text. For every header in include/ its room, and the folders of LAYERS outside that room which
    include it directly; None: no such folder, as tests."""
    users = {}  # what an #include says -> the folders that say it
    for path, text in files.items():
        if path.endswith(SOURCES):
            row = layer_of(path)
            for match in INCLUDE.finditer(text):
                users.setdefault(match[2], set()).add(row and row[0])
    found = {}
    for folder, name, _ in LAYERS:
        start = f"{folder}/include/"
        found |= {path: (folder, users.get(path[len(start):], set()) - {folder})
                  for path in sorted(files) if path.startswith(f"{start}{name}/")}
    return found


def needlessly_public(files):
    """files: path -> text. Every header in include/ that nothing outside its folder includes directly."""
    return [f"{path}: only {folder} includes it: move it out of include/"
            for path, (folder, users) in public_headers(files).items() if not users]


def miscounted_headers(files):
    """files: path -> text. What CONTRIBUTING.md says of the number of public headers, where that is wrong."""
    public = [users - {None} for path, (_, users) in public_headers(files).items() if path.startswith("runtime/")]
    for_tests = public.count(set())
    for_bench = sum(bool(users) and all(user.startswith("bench") for user in users) for users in public)
    said = (f"includes directly, of {len(public)} | {len(public) - for_bench - for_tests} |",
            f"Of the other {for_bench + for_tests} headers, {for_bench} serves `bench/` and {for_tests} serve tests.")
    return [f"CONTRIBUTING.md: it must say '{words}'" for words in said
            if words not in files.get("CONTRIBUTING.md", "")]
