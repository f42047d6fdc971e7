# SPDX-License-Identifier: Apache-2.0
"""The page that shows how every algorithm moves its data, with a moving picture of each, which rondo-plan makes."""
import os
import re
import subprocess

RANKS = ("--ranks", "8", "--group", "4")  # in two groups, for algorithms over levels
ABOUT = """# How each algorithm moves

Eight ranks on a circle, in two groups of four, call each collective once. A dot is a message on its way, in the colour
of the part of the data that it carries; the cells of a rank fill as parts arrive. Time is simulated: every rank sends
one message at a time and receives one at a time. [Algorithms](algorithms.md) explains each of them and what it costs,
and [Plans](plans.md#pictures) how to draw others.
"""


def names_offered(plan, wanted):
    """rondo-plan refuses what does not exist and names what does."""
    run = subprocess.run([plan, "show", wanted, *RANKS], text=True, capture_output=True, timeout=60, check=False)
    return re.search(r"(?:expected one of|it has:) (\w+(?:, \w+)*)", run.stderr)[1].split(", ")


def pages(programs):
    plan = os.path.join(programs, "rondo-plan")
    found, lines = {}, [ABOUT]
    for collective in names_offered(plan, "?=?"):
        lines += [f"## {collective}", ""]
        for algorithm in names_offered(plan, f"{collective}=?"):
            name = f"{collective}={algorithm}"
            run = subprocess.run([plan, "show", name, *RANKS, "--animate"], text=True, capture_output=True, timeout=60,
                                 check=False)
            if run.returncode != 0:
                continue  # it moves nothing, or not with these ranks
            picture = f"movements/{collective}_{algorithm}.svg"
            found[picture] = run.stdout
            lines += [f"### {name}", "", f"![messages of {name} between eight ranks]({picture}){{ loading=lazy }}", ""]
    found["movements.md"] = "\n".join(lines)
    return found
