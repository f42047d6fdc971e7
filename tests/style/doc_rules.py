# SPDX-License-Identifier: Apache-2.0
"""Facts on which the docs and the code must agree."""
import errno
import os
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
PACKAGE = "runtime/bindings/python/rondo/"
SCRIPTS = ("tools/", "bench/", ".ci/", PACKAGE)
MESSAGE_TABLE = re.compile(r"^\| id \| part of the message \|.*\n\|[-| ]+\n((?:\|.*\n?)+)", re.M)
SYSTEM_WORDS = {os.strerror(number) for number in errno.errorcode}
JOINED = re.compile(r'"\s*\n\s*"')  # string literals that the compiler joins
HEADERS = "runtime/include/rondo/"
CALL = re.compile(r"\b(rondo_\w+)\(")
NAMED = re.compile(r"\b(rondo_\w+)\(\)")
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
    compiled = read_variables(files)
    read = compiled | {name for path, text in files.items() if path.startswith(PACKAGE)
                       for name in SCRIPT_READ.findall(text)}
    listed = DOC_ROW.findall(files.get(ENVIRONMENT, ""))
    found = [f"{ENVIRONMENT}: {name} is listed {listed.count(name)} times"
             for name in sorted(set(listed)) if listed.count(name) > 1]
    found += [f"{ENVIRONMENT}: {name} is read by the code and not listed" for name in sorted(read - set(listed))]
    found += [f"{ENVIRONMENT}: {name} is listed and nothing reads it" for name in sorted(set(listed) - read)]
    known = set(QUOTED.findall(files.get(KNOWN, ""))) | compiled
    beginnings = tuple(name for name in known if name.endswith("_"))
    found += [f"{path}: reads {name}, which the library takes for a slip: {KNOWN} does not know it"
              for path, text in sorted(files.items()) if path.startswith(SCRIPTS)
              for name in sorted(set(SCRIPT_READ.findall(text)) - known) if not name.startswith(beginnings)]
    return found


def option_violations(files):
    """Every option of the build is read by the build."""
    builds = "".join(text for path, text in files.items() if path.endswith("meson.build"))
    return [f"{OPTIONS}: nothing reads the option {name}"
            for name in OPTION.findall(files.get(OPTIONS, "")) if f"get_option('{name}')" not in builds]


def readme_violations(files, others=()):
    """The README shows examples/all_reduce.c without its licence line; links lead to existing files, and calls that
    texts name are in public headers. `others`: paths of files that are no text."""
    readme = files.get("README.md", "")
    found = []
    blocks = re.findall(r"^```c\n(.*?)^```$", readme, re.M | re.S)
    if licence_rules.without_licence(files["examples/all_reduce.c"]) not in blocks:
        found.append("README.md: its C program is not examples/all_reduce.c without its licence, letter for letter")
    declared = {name for path, text in files.items() if path.startswith(HEADERS) for name in CALL.findall(text)}
    paths = {*files, *others}
    for path, text in sorted(files.items()):
        if not path.endswith(".md"):
            continue
        found += [f"{path}: names {name}(), which no header declares"
                  for name in sorted(set(NAMED.findall(text)) - declared)]
        folder = path.rpartition("/")[0]
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            if not exists(paths, posixpath.normpath(posixpath.join(folder, target))):
                found.append(f"{path}: links to {target}, which is not there")
    return found


def message_violations(files):
    """Parts of messages, the second column of such tables, are in what the code prints, or are words of the system."""
    code = "".join(JOINED.sub("", text) for path, text in files.items()
                   if path.startswith(READERS) and path.endswith((".h", ".cc")))
    found = []
    for path, text in sorted(files.items()):
        for table in MESSAGE_TABLE.findall(text) if path.endswith(".md") else ():
            found += [f"{path}: no code has the message '{message}'"
                      for row in table.splitlines() for message in re.findall("`([^`]+)`", row.split("|")[2])
                      if message not in code and message not in SYSTEM_WORDS]
    return found


def exists(paths, path):
    path = path.rstrip("/")
    return path in paths or any(name.startswith(path + "/") for name in paths)
