#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed_texts.py OUT FILE...: writes a header with a constant for each file's text: kPageCss for page.css."""
import os
import sys

END = "end_of_text"  # of C++'s raw strings


def constant(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if f"){END}\"" in text:
        sys.exit(f"{path}: it contains the end of a raw string, ){END}\"")
    name = "".join(part.capitalize() for part in os.path.basename(path).split("."))
    return f'inline constexpr std::string_view k{name} = R"{END}({text}){END}";\n'


def main():
    out, *paths = sys.argv[1:]
    with open(out, "w", encoding="utf-8") as file:
        file.write("#pragma once\n#include <string_view>\nnamespace rondo::perf {\n"
                   + "".join(map(constant, paths)) + "}  // namespace rondo::perf\n")


main()
