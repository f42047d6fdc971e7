"""Which folder may include which: arrows point down, and siblings never include each other."""
import posixpath
import re

# Folder, what its headers are included as, and the folders whose headers it may include.
LAYERS = [
    # folder                  include name  may include
    ("runtime/base", "base", ()),
    ("runtime/gpu", "gpu", ("base",)),
    ("runtime/schedule", "schedule", ("base",)),
    ("topology", "topology", ("base",)),
    ("kernels", "kernels", ("base", "gpu", "schedule")),
    ("transports", "transports", ("base", "gpu", "schedule")),
    ("runtime/algorithms", "algorithms", ("base", "schedule")),
    ("runtime/exec", "exec", ("base", "gpu", "schedule", "kernels", "transports")),
    ("runtime/comm", "comm",
     ("base", "gpu", "schedule", "topology", "kernels", "transports", "algorithms", "exec")),
    ("runtime/api", "api",
     ("base", "gpu", "schedule", "topology", "kernels", "transports", "algorithms", "exec", "comm", "rondo")),
    ("runtime/include/rondo", "rondo", ()),
    ("runtime/bindings", None, ("rondo",)),
    ("bench/kernels", None, ("base", "gpu", "kernels")),  # micro-benchmarks, below the C API
    ("bench", None, ("base", "gpu", "kernels", "rondo")),  # memory, streams and checks on GPUs, of its own
    ("tools", None, ("base", "rondo")),  # what options say
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
    """Highway, for one, wants its own headers in quotes."""
    first = target.split("/")[0]
    return first not in ("..", ".", target) and not any(f"/{first}/" in "/" + name for name in files)


def include_violation(path, quote, target, files):
    """What is wrong with one #include of a file, or None."""
    folder, own_name, allowed = layer_of(path)
    local = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    names = {row[1]: row for row in LAYERS if row[1]}
    first = target.split("/")[0]
    if "/" in target and first in names:
        row = names[first]
        header = f"{row[0]}/include/{target}" if first != "rondo" else f"runtime/include/{target}"
        if header not in files and local not in files:
            return f"no such header ({header})"
        if header in files and first != own_name and first not in allowed:
            return f"{folder} may include {', '.join(allowed) or 'nothing'} only"
        if header in files:
            return None
    if quote == "<" or of_another_project(target, files):
        return None
    if local in files and inside(local, folder):
        return None
    # Headers below a folder of its own, as seen from the folder or its parents.
    if any(inside(name, folder) and name.endswith("/" + target) for name in files):
        return None
    return f"not a header of {folder}, nor of a folder below it"


def include_violations(files):
    """files: path -> text. Every #include of a layered folder that points up, sideways or nowhere."""
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
    """files: path -> text. Every folder that LAYERS lets another include, though none of its includes leads there."""
    reached = {}  # include name -> what its headers lead to; LAYERS lists lower folders first
    found = []
    for row in LAYERS:
        direct = {match[2].split("/")[0] for path, text in files.items()
                  if path.endswith(SOURCES) and layer_of(path) == row for match in INCLUDE.finditer(text)}
        own = direct.union(*(reached.get(name, set()) for name in direct))
        reached[row[1]] = own
        found += [f"{row[0]} may include {name}, and does not" for name in row[2] if name not in own]
    return found
