"""What takes part: Rondo and each of its peers looks like this to those who measure."""
import re
from dataclasses import dataclass, field
from typing import Callable, Optional

TIMED = re.compile(r"^(\d+) (\d+\.\d+)$", re.M)


class Missing(Exception):
    """Why a peer cannot take part."""


@dataclass
class Turn:
    """What came of a job."""
    times_us: dict = field(default_factory=dict)  # by size
    fault: Optional[str] = None  # why not all sizes are there

    @classmethod
    def of_driver(cls, outcome):
        """From what a driver printed."""
        return cls({int(size): float(us) for size, us in TIMED.findall(outcome.printed)}, outcome.fault)


@dataclass
class Contestant:
    name: str
    version: str
    run: Callable  # of a Job; returns a Turn
