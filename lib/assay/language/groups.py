"""Symmetric groups as tables of integers: a task whose every step has one exact answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations

import torch
from torch import Tensor

__all__ = ["Group", "symmetric_group"]


@dataclass(frozen=True, eq=False)
class Group:
    """A finite group.

    Attributes:
        names: of the C elements; element 0 is the identity.
        table: (C, C) with `table[a, b]` = a ∘ b, b first and then a.
        inverse: (C,).
    """

    names: tuple[str, ...]
    table: Tensor
    inverse: Tensor

    @property
    def order(self) -> int:
        """C, the number of elements."""
        return len(self.names)

    def compose(self, a: Tensor, b: Tensor) -> Tensor:
        """a ∘ b, element by element, for integer tensors of one shape."""
        return self.table[a, b]

    def partial_products(self, words: Tensor) -> Tensor:
        """(n, K) p_1..p_K with p_k = g_1 ∘ … ∘ g_k, for (n, K) words g_1..g_K."""
        products = [words[:, 0]]
        for k in range(1, words.shape[1]):
            products.append(self.compose(products[-1], words[:, k]))
        return torch.stack(products, dim=1)


@cache
def symmetric_group(degree: int) -> Group:
    """S_n, its elements in one-line notation and lexicographic order.

    Raises:
        ValueError: a degree outside 2 to 5.
    """
    if isinstance(degree, bool) or int(degree) != degree or not 2 <= degree <= 5:
        raise ValueError(f"degree: got {degree}; expected a whole number from 2 to 5.")
    elements = list(permutations(range(degree)))
    number = {element: i for i, element in enumerate(elements)}
    table = [[number[tuple(a[i] for i in b)] for b in elements] for a in elements]
    inverse = [number[tuple(sorted(range(degree), key=element.__getitem__))] for element in elements]
    names = tuple("".join(str(i + 1) for i in element) for element in elements)
    return Group(names, torch.tensor(table), torch.tensor(inverse))
