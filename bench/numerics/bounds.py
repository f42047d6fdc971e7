# SPDX-License-Identifier: Apache-2.0
"""The bounds that docs/numerics.md promises: the error of an all_reduce sum by each of Rondo's algorithms, in units of
the type's rounding error times the sum of the operands' magnitudes."""


TWO_LEVELS = ("hierarchical", "leaders")


def halvings(ranks, small):
    """Roundings of recursive halving: a round folds two operands or, in the shorter of two unequal halves, up to
    three."""
    if ranks == 1:
        return 0
    additions = 1 if small or ranks % 2 == 0 else 2
    return max(1 + halvings((ranks + 1) // 2, small), additions + halvings(ranks // 2, small))


def group_of(ranks):
    """The group size for two-level algorithms; 1 if this number of ranks forms no groups."""
    return next((length for length in range(2, ranks) if ranks % length == 0), 1)


def is_possible(algorithm, ranks):
    return algorithm not in TWO_LEVELS or group_of(ranks) > 1


def roundings(algorithm, ranks, small):
    """The maximum number of roundings to the type that an operand goes through on its way into the sum."""
    whole, up = ranks.bit_length() - 1, (ranks - 1).bit_length()  # log2, rounded down and up
    if algorithm == "ring":
        return ranks - 1
    if algorithm == "recursive_doubling":
        return up
    if algorithm == "halving_doubling":
        return halvings(ranks, small)
    if algorithm in TWO_LEVELS:
        group = group_of(ranks)
        return 2 if small else group - 1 + ranks // group - 1
    if algorithm == "double_binary_tree":
        return whole if small else 2 * whole
    return 1 if small else ranks - 1


def bound(algorithm, ranks, number):
    small = number.bits < 32
    most = roundings(algorithm, ranks, small)
    in_float32 = (ranks - 1) * 2.0 ** -24 / number.unit if small else 0
    return (most + in_float32) * (1 + ranks * number.unit)
