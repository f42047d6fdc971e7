# SPDX-License-Identifier: Apache-2.0
"""Words for a call, as a file has it."""
from strangers import printable


def numbered(call):
    return f"{printable(call['call'])} {call['number']:,}"


def arguments_text(call):
    parts = [f"count={call['count']}"] + [printable(call[key]) for key in ("type", "op") if call[key] is not None]
    if call["root"] is not None:
        parts.append(f"root={call['root']}")
    return ("(" + ", ".join(parts) + ")" if call["type"] is not None else "()") + (" on GPUs" if call["on_gpu"] else "")
