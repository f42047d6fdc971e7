#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py OUT NAME LINKED PART...: writes an assembly file that embeds device code in the library.

NAME is the symbol. LINKED is the code for the requested architectures; PARTs are the files it was linked from, whose
code the driver can compile for later architectures. embedded_code.h reads the result.
"""
import sys


def main():
    out, symbol, *paths = sys.argv[1:]
    with open(out, "w", encoding="utf-8") as file:
        file.write(".section .rodata\n")
        for index, path in enumerate(paths):
            file.write(f'.balign 64\n.Lbegin{index}: .incbin "{path}"\n.Lend{index}: .byte 0\n')
        file.write(".section .data.rel.ro, \"aw\"\n.balign 8\n")
        file.write(f".globl {symbol}\n.hidden {symbol}\n{symbol}:\n")
        for index in range(len(paths)):
            file.write(f".quad .Lbegin{index}, .Lend{index}\n")
        file.write(".quad 0, 0\n.section .note.GNU-stack, \"\", %progbits\n")


main()
