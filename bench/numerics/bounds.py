# SPDX-License-Identifier: Apache-2.0
"""The bound that docs/numerics.md promises: the error of an all_reduce sum, in units of the type's rounding error times
the sum of the operands' magnitudes."""


def bound(roundings, ranks, number):
    """For an operand that is rounded to the type at most `roundings` times on its way into the sum."""
    in_float32 = (ranks - 1) * 2.0 ** -24 / number.unit if number.bits < 32 else 0
    return (roundings + in_float32) * (1 + ranks * number.unit)
