# SPDX-License-Identifier: Apache-2.0
"""Man pages as troff's man macros have them."""
import re


def escaped(text):
    """As text that troff prints as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def italic(text):
    return f"\\fI{escaped(text)}\\fR"


def sentence_case(text, upper):
    """With a first letter of this case, unless the first word is a name such as NCCL or Rondo."""
    if text[1:2].isupper() or text.startswith("Rondo"):
        return text
    return (text[:1].upper() if upper else text[:1].lower()) + text[1:]


def page(name, section, version, summary, parts):
    """parts: lists of lines, each after the heading that it is paired with."""
    lines = ['.\\" Made by tools/manual; do not edit.',
             f'.TH {name.upper()} {section} "" "Rondo {version}" "Rondo"', ".SH NAME",
             f"{escaped(name)} \\- {escaped(sentence_case(summary.rstrip('.'), False))}"]
    for heading, body in parts:
        if body:
            lines += [f".SH {heading}", *body]
    return "\n".join(lines) + "\n"


def verbatim(text):
    return [".PP", ".nf", escaped(text), ".fi"]
