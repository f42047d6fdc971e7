# SPDX-License-Identifier: Apache-2.0
"""How well rounds agree: the confidence interval of a median, and the spread of single times."""
import math
import statistics

CONFIDENCE = 0.95


def interval(values):
    """Of the median, at CONFIDENCE, by order statistics: whatever the distribution, each value lies below the median
    with probability 1/2. None if there are too few values, fewer than 6."""
    ordered = sorted(values)
    outside = outside_below(len(ordered))
    return None if outside is None else (ordered[outside], ordered[-1 - outside])


def outside_below(count):
    """How many of `count` values the interval may leave out at each end; None if even the extremes are too near."""
    left_out, tail = None, 0
    for number in range(count // 2 + 1):
        tail += math.comb(count, number) / 2 ** count
        if 2 * tail > 1 - CONFIDENCE:
            break
        left_out = number
    return left_out


def width_percent(middle, ends):
    """Of an interval, relative to the value; None if there is no interval."""
    return None if ends is None else 100 * (ends[1] - ends[0]) / middle


def noise_percent(values):
    """The distance of the quartiles, relative to the median; None for a single value."""
    if len(values) < 2:
        return None
    first, middle, third = statistics.quantiles(values, n=4, method="inclusive")
    return 100 * (third - first) / middle
