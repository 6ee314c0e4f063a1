"""A function as an operator of PyTorch, known to autograd and `torch.compile`, called without importing the compiler.

`torch.library.custom_op` imports `torch._dynamo` at an operator's first call, which takes a process about two seconds.
"""

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["differentiable", "operator"]

LIBRARY = torch.library.Library("assay", "FRAGMENT")


def operator(name: str, *, fake: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function the operator `assay::<name>`, for tensors of every device.

    Args:
        name: of the operator.
        fake: takes the same and gives tensors of the shapes and dtypes that it would give, without computing any.

    Returns:
        a decorator for an annotated function that changes none of its arguments and returns none of them; in place of
        the function stands the operator.
    """

    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        LIBRARY.define(name + torch.library.infer_schema(function, mutates_args=()))
        LIBRARY.impl(name, function, "CompositeExplicitAutograd")
        torch.library.register_fake(f"assay::{name}", fake, lib=LIBRARY)
        return getattr(torch.ops.assay, name).default

    return made


def differentiable(name: str, backward: Callable[..., Any], *, keep: Callable[..., Any]) -> None:
    """Give the operator `assay::<name>` a way back.

    Args:
        name: of the operator.
        backward: takes what was kept and the gradients of its results; gives those of its arguments.
        keep: takes a context, the arguments and the results, and keeps what the way back needs.
    """
    torch.library.register_autograd(f"assay::{name}", backward, setup_context=keep, lib=LIBRARY)
