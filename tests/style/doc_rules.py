# SPDX-License-Identifier: Apache-2.0
"""Facts on which the docs and the code must agree."""
import posixpath
import re

import licence_rules

SETTINGS = "runtime/base/include/base/settings.h"
ENVIRONMENT = "docs/environment.md"
OPTIONS = "meson.options"
OPTION = re.compile(r"^option\('(\w+)'", re.M)
SETTING_ROW = re.compile(r'^\s*X\(\w+, "(\w+)",', re.M)
GETENV = re.compile(r'\bgetenv\("(\w+)"\)')
KNOWN = "runtime/base/settings.cc"
QUOTED = re.compile(r'"(RONDO_\w+)"')
SCRIPTS = ("tools/", "bench/", ".ci/")
SCRIPT_READ = re.compile(r'(?:\$\{?|\benviron(?:\.get\(|\[)")(RONDO_\w+)')
DOC_ROW = re.compile(r"^\| `(\w+)` \|", re.M)
READERS = ("runtime/", "transports/", "kernels/", "topology/", "bench/", "tools/")


def read_variables(files):
    """Every environment variable that the code reads."""
    found = set(SETTING_ROW.findall(files[SETTINGS]))
    for path, text in files.items():
        if path.startswith(READERS) and path.endswith((".h", ".c", ".cc")):
            found |= set(GETENV.findall(text))
    return found


def environment_violations(files):
    read = read_variables(files)
    listed = DOC_ROW.findall(files.get(ENVIRONMENT, ""))
    found = [f"{ENVIRONMENT}: {name} is listed {listed.count(name)} times"
             for name in sorted(set(listed)) if listed.count(name) > 1]
    found += [f"{ENVIRONMENT}: {name} is read by the code and not listed" for name in sorted(read - set(listed))]
    found += [f"{ENVIRONMENT}: {name} is listed and nothing reads it" for name in sorted(set(listed) - read)]
    known = set(QUOTED.findall(files.get(KNOWN, ""))) | read
    found += [f"{path}: reads {name}, which the library takes for a slip: {KNOWN} does not know it"
              for path, text in sorted(files.items()) if path.startswith(SCRIPTS)
              for name in sorted(set(SCRIPT_READ.findall(text)) - known)]
    return found


def option_violations(files):
    """Every option of the build is read by the build."""
    builds = "".join(text for path, text in files.items() if path.endswith("meson.build"))
    return [f"{OPTIONS}: nothing reads the option {name}"
            for name in OPTION.findall(files.get(OPTIONS, "")) if f"get_option('{name}')" not in builds]


def readme_violations(files):
    """The README shows examples/all_reduce.c without its licence line, and its links lead to existing files."""
    readme = files.get("README.md", "")
    found = []
    blocks = re.findall(r"^```c\n(.*?)^```$", readme, re.M | re.S)
    if licence_rules.without_licence(files["examples/all_reduce.c"]) not in blocks:
        found.append("README.md: its C program is not examples/all_reduce.c without its licence, letter for letter")
    for path, text in sorted(files.items()):
        if not path.endswith(".md"):
            continue
        folder = path.rpartition("/")[0]
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            if not exists(files, posixpath.normpath(posixpath.join(folder, target))):
                found.append(f"{path}: links to {target}, which is not there")
    return found


def exists(files, path):
    path = path.rstrip("/")
    return path in files or any(name.startswith(path + "/") for name in files)
