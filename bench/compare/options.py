# SPDX-License-Identifier: Apache-2.0
"""The options of compare.py and their validation."""
import argparse
import os
import re
import shutil
from dataclasses import dataclass

from install_mpi import FOLDER as MPI_FOLDER
from install_ops import FOLDER as OPS_FOLDER
from jobs import COLLECTIVES, ELEMENT_BYTES, MIB, NOT_IN_PLACE, TRANSPORTS
from peers import OTHER_RONDO, PEERS


@dataclass(frozen=True)
class Rounds:
    """How many rounds a sweep gets, and how many at most if it is noisy."""
    fewest: int
    most: int

    def __str__(self):
        return str(self.fewest) if self.fewest == self.most else f"{self.fewest}-{self.most}"


MAX_BYTES = 1 << 31  # MPI counts elements in an int
UNITS = {"": 0, "K": 10, "M": 20, "G": 30}
USUAL = {"collectives": list(COLLECTIVES), "ranks": [2, 4, 8], "first": 8, "last": 128 * MIB, "factor": 4,
         "rounds": Rounds(6, 30), "minutes": float("inf")}
QUICK = {"collectives": ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"], "ranks": [2],
         "first": 512, "last": 2 * MIB, "factor": 64, "rounds": Rounds(2, 2), "minutes": 1}


def names_of(kind, known):
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"is '{text}': there is no {kind} '{name}'; there are "
                                                 f"{', '.join(known)}")
        return list(dict.fromkeys(names))
    return parse


def ranks_list(text):
    if not all(part.isdigit() and int(part) > 1 for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"is '{text}': it must be numbers of ranks above 1, as in 2,4")
    return list(dict.fromkeys(map(int, text.split(","))))


def size(text):
    found = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not found or not 0 < int(found[1]) << UNITS[found[2]] <= MAX_BYTES:
        raise argparse.ArgumentTypeError(f"is '{text}': it must be bytes, as in 8, 64K or 128M, at most 2G")
    return int(found[1]) << UNITS[found[2]]


def whole_from(least):
    def parse(text):
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"is '{text}': it must be a whole number, at least {least}")
        return int(text)
    return parse


def rounds_range(text):
    ends = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    found = Rounds(int(ends[1]), int(ends[2] or ends[1])) if ends else None
    if not found or not 1 <= found.fewest <= found.most:
        raise argparse.ArgumentTypeError(f"is '{text}': it must be a number of rounds, as in 5, or the fewest and the "
                                         "most, as in 6-30")
    return found


def number_above(least, kind="number"):
    def parse(text):
        try:
            value = float(text)
        except ValueError:
            value = least
        if not least < value < float("inf"):
            raise argparse.ArgumentTypeError(f"is '{text}': it must be a {kind} above {least}")
        return value
    return parse


def seconds_or_none(text):
    return 0.0 if text == "0" else number_above(0, "number of seconds")(text)


def program(text):
    if shutil.which(text) is None:
        raise argparse.ArgumentTypeError(f"is '{text}': there is no such program")
    return text


def writable(text):
    """Checks before minutes of measuring instead of after."""
    try:
        with open(text, "a", encoding="utf-8"):
            return text
    except OSError as error:
        raise argparse.ArgumentTypeError(f"is '{text}': {error.strerror}") from error


def make_parser(description):
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_contestants(parser)
    add_cells(parser)
    add_results(parser)
    return parser


def add_contestants(parser):
    parser.add_argument("--perf", default="rondo-perf", help="the rondo-perf to run (rondo-perf)")
    parser.add_argument("--peers", type=names_of("peer", PEERS),
                        help=f"comma separated, of {', '.join(PEERS)}; those that are there take part (all)")
    parser.add_argument("--other-perf", type=program,
                        help="the rondo-perf of another build, such as of the commit before, which is then the peer "
                             "other-rondo (none)")
    parser.add_argument("--mpi-folder", default=MPI_FOLDER,
                        help="where install_mpi.py has put MPI libraries (~/.cache/rondo/mpi)")
    parser.add_argument("--ops-folder", default=OPS_FOLDER,
                        help="where install_ops.py has put DeepSpeed and vLLM (~/.cache/rondo/ops)")
    parser.add_argument("--torch-python", type=program,
                        help="an interpreter with PyTorch, for gloo, deepspeed and vllm ($RONDO_TORCH_PYTHON)")
    parser.add_argument("--bind", choices=["cpu", "none"], default="cpu",
                        help="cpu: bind rank r to the r-th allowed CPU, modulo their number; none: leave "
                             "binding to each contestant (cpu)")
    parser.add_argument("--timeout", type=number_above(0, "number of seconds"), default=120.0,
                        help="time limit of a contestant's turn in seconds (120)")
    parser.add_argument("--state-seconds", type=seconds_or_none, default=60.0,
                        help="how long turns are repeated to get all contestants "
                             "into one state of the machine; 0: compare turns in any state (60)")
    parser.add_argument("--state", choices=["any", "near", "far"], default="any",
                        help="the state in which turns count; any: in the one that was most frequent (any)")
    parser.add_argument("--minutes", type=number_above(0, "number of minutes"),
                        help="time limit of the whole run: fewer rounds if needed; what does not fit "
                             "the first round is skipped (no limit)")


def add_cells(parser):
    parser.add_argument("--transport", type=names_of("transport", TRANSPORTS), default=["shm"],
                        help="shm, tcp over loopback, or both, comma separated (shm)")
    parser.add_argument("--collectives", type=names_of("collective", COLLECTIVES),
                        help="comma separated (all)")
    parser.add_argument("--ranks", type=ranks_list, help="numbers of ranks, comma separated (2,4,8)")
    parser.add_argument("--first", type=size, help="smallest size in bytes (8)")
    parser.add_argument("--last", type=size, help="largest size (128M)")
    parser.add_argument("--factor", type=whole_from(2), help="factor from one size to the next (4)")
    parser.add_argument("--type", choices=list(ELEMENT_BYTES), default="float",
                        help="type of the elements (float)")
    parser.add_argument("--in-place", action="store_true",
                        help="in-place calls, for collectives that have them")
    parser.add_argument("--fresh", action="store_true",
                        help="write the inputs anew before each call, untimed, as programs do")
    parser.add_argument("--rounds", type=rounds_range,
                        help="turns of each contestant: a number, or the fewest and the most; between them, a "
                             "collective and number of ranks with noisy sizes gets more (6-30)")
    parser.add_argument("--width", type=number_above(0, "number of percent"), default=10.0,
                        help="a size is noisy if the 95 %% interval of its speed is wider than this, in percent (10)")
    parser.add_argument("--quick", action="store_true",
                        help="a minute: by default four collectives, three sizes, 2 ranks, 2 rounds")


def add_results(parser):
    parser.add_argument("--json", type=writable, help="write the results to this file")
    parser.add_argument("--plot", type=writable, help="plot them to this SVG file")
    parser.add_argument("--least", type=number_above(0), default=0.0,
                        help="exit with 1 if a ratio is below this (none)")


def parse(description, words=None):
    parser = make_parser(description)
    arguments = parser.parse_args(words)
    if shutil.which(arguments.perf) is None:
        parser.error(f"there is no program {arguments.perf}; --perf says where rondo-perf was built")
    if arguments.peers is None:
        arguments.peers = [name for name in PEERS if name != OTHER_RONDO or arguments.other_perf]
    if arguments.torch_python is None:
        arguments.torch_python = os.environ.get("RONDO_TORCH_PYTHON", "").split(":")[0]
    add_defaults(arguments)
    check_together(parser, arguments)
    return arguments


def add_defaults(arguments):
    for name, value in (QUICK if arguments.quick else USUAL).items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
            if name == "collectives" and arguments.in_place:
                arguments.collectives = [one for one in value if one not in NOT_IN_PLACE]


def check_together(parser, arguments):
    if arguments.state != "any" and arguments.state_seconds == 0:
        parser.error(f"--state is {arguments.state}: with --state-seconds 0 no state is probed")
    if arguments.first > arguments.last:
        parser.error(f"--first is {arguments.first}: it must be at most --last, which is {arguments.last}")
    if arguments.first % ELEMENT_BYTES[arguments.type]:
        parser.error(f"--first is {arguments.first}: it must be a multiple of "
                     f"{ELEMENT_BYTES[arguments.type]}, the bytes of an element of {arguments.type}")
    apart = [name for name in arguments.collectives if name in NOT_IN_PLACE]
    if arguments.in_place and apart:
        parser.error(f"--in-place: {apart[0]} has no such form")
