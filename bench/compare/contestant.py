# SPDX-License-Identifier: Apache-2.0
"""The interface through which Rondo and each of its peers are measured."""
import re
from dataclasses import dataclass, field
from typing import Callable, Optional

TIMED = re.compile(r"^(\d+) (\d+\.\d+)$", re.M)


class Missing(Exception):
    """Why a peer cannot take part."""


@dataclass
class Turn:
    """The result of a job."""
    times_us: dict = field(default_factory=dict)  # by size
    fault: Optional[str] = None  # why sizes are missing

    @classmethod
    def of_driver(cls, outcome):
        """Parses a driver's output."""
        return cls({int(size): float(us) for size, us in TIMED.findall(outcome.printed)}, outcome.fault)


@dataclass
class Contestant:
    name: str
    version: str
    run: Callable  # takes a Job, returns a Turn
