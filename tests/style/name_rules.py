# SPDX-License-Identifier: Apache-2.0
"""Type names: one name for one thing."""
import re
from collections import defaultdict

PRODUCT = ("runtime/", "transports/", "kernels/", "topology/", "bench/", "tools/")
# Implementations of the same interface for nvcc, g++ and the simulated machine; a program includes one of them.
TWINS = ("kernels/cuda/gpu/", "kernels/cuda/twin/", "kernels/cuda/weak/", "kernels/cuda/host_values.h")
# A type's definition, as opposed to a forward declaration, a specialization or Outer::Nested (declared before).
DEFINITION = re.compile(r"^[ \t]*(?:template\s*<[^\n]*>\s*)?(?:class|struct|union|enum(?:\s+class)?)\s+"
                        r"(?:alignas\([^)]*\)\s+)?(\w+)(?:\s+final)?\s*(?::(?!:)[^;{]*)?\{", re.M)
SOURCES = (".h", ".cc", ".cu", ".cuh")


def name_violations(files):
    """files: path -> text. Every type name of the product that two types share."""
    places = defaultdict(list)
    for path, text in sorted(files.items()):
        if not path.startswith(PRODUCT) or not path.endswith(SOURCES) or path.startswith(TWINS):
            continue
        for match in DEFINITION.finditer(text):
            places[match[1]].append(f"{path}:{text.count(chr(10), 0, match.start(1)) + 1}")
    return [f"{at[1]}: {name} is another type in {at[0]}" for name, at in sorted(places.items()) if len(at) > 1]
