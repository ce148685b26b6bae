"""Gauss-Jordan elimination over fractions: exact."""

from __future__ import annotations

from fractions import Fraction

Table = list[list[Fraction]]


def eliminate(table: Table, unknowns: int) -> list[int]:
    """Reduces `table` in place: rows of coefficients of the unknowns and, last, what they add up to. The unknowns that
    are solved, the n-th of them by the n-th row; the rows leave the others open."""
    solved: list[int] = []
    for column in range(unknowns):
        at = len(solved)
        pivot = next((row for row in range(at, len(table)) if table[row][column]), None)
        if pivot is None:
            continue
        table[at], table[pivot] = table[pivot], table[at]
        table[at] = [value / table[at][column] for value in table[at]]
        for row in range(len(table)):
            if row != at and table[row][column]:
                factor = table[row][column]
                table[row] = [a - factor * b for a, b in zip(table[row], table[at], strict=True)]
        solved.append(column)
    return solved
