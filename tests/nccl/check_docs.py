# SPDX-License-Identifier: Apache-2.0
"""check_docs.py ROOT: docs/nccl.md lists the functions and variables in the code, and how each is treated."""
import os
import re
import sys

ROOT = sys.argv[1]


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def variables():
    rows = re.findall(r'\{"(NCCL_\w+)", (true|false),\s*((?:"[^"]*"\s*)+)\}',
                      text_of("runtime/bindings/nccl/variables.cc"))
    return {(name, "yes" if read == "true" else "no", "".join(re.findall(r'"([^"]*)"', meaning)))
            for name, read, meaning in rows}


def functions():
    return set(re.findall(r"X\([\w \t*]+, (\w+),", text_of("runtime/bindings/nccl/nccl_functions.h")))


docs = text_of("docs/nccl.md").partition("## Functions")[2]
listed_variables = set(re.findall(r"^\| `(NCCL_\w+)` \| (yes|no) \| (.*) \|$", docs, re.M))
listed_functions = {name for row in re.findall(r"^\| (`nccl\w+(?:`, `nccl\w+)*`) \|", docs, re.M)
                    for name in re.findall(r"`nccl(\w+)`", row)}
wrong = [f"not in docs/nccl.md: {row}" for row in sorted(variables() - listed_variables)]
wrong += [f"only in docs/nccl.md: {row}" for row in sorted(listed_variables - variables())]
wrong += [f"not in docs/nccl.md: nccl{name}" for name in sorted(functions() - listed_functions)]
wrong += [f"only in docs/nccl.md: nccl{name}" for name in sorted(listed_functions - functions())]
print("\n".join(wrong))
sys.exit(1 if wrong or not variables() or not functions() else 0)
