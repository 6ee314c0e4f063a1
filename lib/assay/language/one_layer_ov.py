"""One layer of uniform attention on one-hot tokens, which is one matrix W_OV, trained by full-batch gradient descent.

Source: Ma et al. (2026), arXiv 2602.02470, section 3. Vocabulary: A (n), B (n), r+ (2n), r− (2n + 1), r_id (2n + 2).
Logits of a prompt are W_OV x, x the sum of its tokens' one-hot vectors. Factorised, W_OV = W_O W_Vᵀ, whose gradient
descent from small weights tends to the least nuclear norm; W_OV itself, to the least Frobenius norm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.language.reversal_facts import roles_of

__all__ = [
    "OneLayerOV", "OneLayerTrace", "block_contrast", "entity_blocks", "read_backwards", "reversal_scores",
    "reverse_prompts", "steady_rate", "symbolic_facts", "train_facts", "train_ov", "weighted_ce",
]  # fmt: skip

DIVERGED = 1e6


def symbolic_facts(n: int, form: str, forward_weight: float = 6.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Facts over tokens: x (N, 2n + 3) sums of one-hot vectors, y (N,) answers, w (N,) weights.

    Raises:
        ValueError: fewer than 2 pairs, an unknown form, or a weight that is not above 0.
    """
    if n < 2:
        raise ValueError(f"n: got {n}; expected at least 2 pairs.")
    roles = roles_of(form)
    if not 0 < forward_weight < float("inf"):
        raise ValueError(f"forward_weight: got {forward_weight}; expected a number above 0.")
    forth, back, same = 2 * n, 2 * n + 1, 2 * n + 2
    layout = {
        "forward": (0, (forth,), n), "bridge": (0, (forth, back), 0), "self_a": (0, (same,), 0),
        "self_b": (n, (same,), n),
    }  # fmt: skip
    i = np.arange(n)
    xs, ys, ws = [], [], []
    for role in roles:
        subject, relations, answer = layout[role]
        x = np.zeros((n, 2 * n + 3))
        x[i, subject + i] = 1.0
        x[:, relations] = 1.0
        xs.append(x)
        ys.append(answer + i)
        ws.append(np.full(n, forward_weight if role == "forward" else 1.0))
    return np.concatenate(xs), np.concatenate(ys), np.concatenate(ws)


def reverse_prompts(n: int) -> np.ndarray:
    """The prompts [b, r−] that are never trained, (n, 2n + 3); the right answers are 0 to n − 1."""
    x = np.zeros((n, 2 * n + 3))
    x[np.arange(n), n + np.arange(n)] = 1.0
    x[:, 2 * n + 1] = 1.0
    return x


def softmax(logits: np.ndarray) -> np.ndarray:
    e = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def weighted_ce(logits: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """Cross-entropy in nats, Σ w_i ℓ_i / Σ w_i, over logits (N, V), answers (N,) and weights (N,).

    Raises:
        ValueError: shapes that do not fit, or a weight that is negative, not finite, or all of them 0.
    """
    if logits.ndim != 2 or y.shape != logits.shape[:1] or w.shape != y.shape:
        raise ValueError(f"logits, y, w: got {logits.shape}, {y.shape}, {w.shape}; expected (N, V), (N,), (N,).")
    bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0)))
    if len(bad) or not w.sum() > 0:
        which = f"{w[bad[0]]} in row {bad[0]}" if len(bad) else "only zeros"
        raise ValueError(f"w: got {which}; expected finite weights of at least 0, some above.")
    top = logits.max(axis=1)
    total = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
    return float(w @ (total - logits[np.arange(len(y)), y]) / w.sum())


class OneLayerOV:
    """The model: W_OV (V, V), or W_O (V, m) and W_V (V, m), float64.

    Attributes:
        output: W_O, or W_OV where the model is not factorised.
        value: W_V, or None.
    """

    def __init__(self, V: int, m: int, factorised: bool, init: float, rng: np.random.Generator) -> None:
        """Factors from N(0, init²); a single matrix starts at 0.

        Raises:
            ValueError: a width outside 1 to V, or an init that is not above 0.
        """
        if not 1 <= m <= V:
            raise ValueError(f"m: got {m}; expected 1 to {V}.")
        if not 0 < init < float("inf"):
            raise ValueError(f"init: got {init}; expected a number above 0.")
        self.output = rng.normal(0, init, (V, m)) if factorised else np.zeros((V, V))
        self.value = rng.normal(0, init, (V, m)) if factorised else None

    @property
    def matrix(self) -> np.ndarray:
        """W_OV (V, V), rows the output token, columns the input token."""
        return self.output.copy() if self.value is None else self.output @ self.value.T


def steady_rate(rate: float, init: float, V: int) -> float:
    """The rate, or 4 / (V init²) where factors so large would run away: curvature grows with their squared norm."""
    return min(rate, 4.0 / (V * init**2))


@dataclass(frozen=True, eq=False)
class OneLayerTrace:
    """What training left behind, at K moments.

    Attributes:
        step: (K,) steps done.
        loss: (K,) nats.
        matrix: (K, V, V) W_OV.
        imbalance: (K,) Frobenius norm of W_OᵀW_O − W_VᵀW_V less what it was at the start; 0 where not factorised.
    """

    step: np.ndarray
    loss: np.ndarray
    matrix: np.ndarray
    imbalance: np.ndarray


def train_ov(
    model: OneLayerOV,
    x: np.ndarray,
    y: np.ndarray,
    w: np.ndarray,
    *,
    rate: float = 0.5,
    steps: int = 6000,
    wd: float = 0.0,
    moments: Sequence[int] = (),
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> OneLayerTrace:
    """Full-batch gradient descent in place, on Σ w ℓ / Σ w + ½ wd ‖weights‖².

    Args:
        model: with its first weights.
        x: (N, V) sums of one-hot vectors. y: (N,) answers. w: (N,) weights.
        rate: of gradient descent. steps: how many. wd: weight decay.
        moments: steps at which the matrix is kept, beside the last.
        progress: wraps the steps; raising in it stops the work.

    Raises:
        ValueError: a rate not above 0, a decay below 0, shapes that do not fit, or weights that run away.
    """
    if not rate > 0 or not wd >= 0 or steps < 1:
        raise ValueError(f"rate, wd, steps: got {rate}, {wd}, {steps}; expected above 0, at least 0, at least 1.")
    weighted_ce(x @ model.matrix.T, y, w)  # which refuses what does not fit
    share = (w / w.sum())[:, None]
    rows = np.arange(len(y))
    wanted = {*moments, steps}
    start = balance(model)
    kept: list[tuple[int, float, np.ndarray, float]] = []

    def keep(step: int) -> None:
        matrix = model.matrix
        if not np.isfinite(matrix).all() or np.abs(matrix).max() > DIVERGED:
            raise ValueError(f"rate: got {rate}, with which weights run away by step {step}; expected a smaller rate.")
        kept.append((step, weighted_ce(x @ matrix.T, y, w), matrix, float(np.linalg.norm(balance(model) - start))))

    if 0 in wanted:
        keep(0)
    shrink = 1 - rate * wd
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(1, steps + 1) if progress is None else progress(range(1, steps + 1)):
            if model.value is None:
                p = softmax(x @ model.output.T)
                p[rows, y] -= 1.0
                model.output = shrink * model.output - rate * ((p * share).T @ x)
            else:
                read = x @ model.value
                p = softmax(read @ model.output.T)
                p[rows, y] -= 1.0
                p *= share
                down = p @ model.output
                model.output = shrink * model.output - rate * (p.T @ read)
                model.value = shrink * model.value - rate * (x.T @ down)
            if step in wanted:
                keep(step)
    step, loss, matrix, drift = zip(*kept, strict=True)
    return OneLayerTrace(np.array(step), np.array(loss), np.array(matrix), np.array(drift))


def train_facts(
    n: int,
    form: str,
    rng: np.random.Generator,
    *,
    forward_weight: float = 6.0,
    factorised: bool = True,
    init: float = 0.01,
    width: int,
    rate: float = 4.0,
    steps: int = 750,
    wd: float = 0.0,
    moments: Sequence[int] = (),
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> OneLayerTrace:
    """Train a model of its own on a form's facts over n pairs, factors at a steady rate.

    Args:
        n: pairs. form: of facts. rng: draws the first weights.
        forward_weight: of a forward fact's loss. factorised, init: of `OneLayerOV`.
        width: columns of the factors, V where it is more.
        rate: of gradient descent, at most a steady one. steps, wd, moments, progress: of `train_ov`.

    Raises:
        ValueError: as `symbolic_facts`, `OneLayerOV` and `train_ov`.
    """
    x, y, w = symbolic_facts(n, form, forward_weight)
    V = x.shape[1]
    model = OneLayerOV(V, min(width, V), factorised, init, rng)
    rate = steady_rate(rate, init, V) if factorised else rate
    return train_ov(model, x, y, w, rate=rate, steps=steps, wd=wd, moments=moments, progress=progress)


def balance(model: OneLayerOV) -> np.ndarray:
    return np.zeros((1, 1)) if model.value is None else model.output.T @ model.output - model.value.T @ model.value


def entity_blocks(matrix: np.ndarray, a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """The four blocks (n, n) of W_OV (V, V): `self_a` (A from A), `reverse` (A from B), `forward` (B from A), `self_b`.

    Raises:
        ValueError: a matrix that is not square, sides of different length, or tokens outside it.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"W_OV: got shape {matrix.shape}; expected (V, V).")
    if a.shape != b.shape or a.ndim != 1 or min(a.min(), b.min()) < 0 or max(a.max(), b.max()) >= len(matrix):
        raise ValueError(f"a, b: got shapes {a.shape}, {b.shape}; expected (n,) tokens below {len(matrix)} each.")
    return {
        "self_a": matrix[np.ix_(a, a)], "reverse": matrix[np.ix_(a, b)], "forward": matrix[np.ix_(b, a)],
        "self_b": matrix[np.ix_(b, b)],
    }  # fmt: skip


def block_contrast(block: np.ndarray) -> tuple[float, float]:
    """Mean of the diagonal, and of the rest, of (n, n) with n at least 2."""
    n = len(block)
    diagonal = float(np.trace(block))
    return diagonal / n, (float(block.sum()) - diagonal) / (n * (n - 1))


def reversal_scores(
    logits: np.ndarray, a: np.ndarray, b: np.ndarray, candidates: np.ndarray, tie: float = 1e-9
) -> dict[str, float]:
    """What is answered to the reverse prompts of n pairs.

    Ties count as their share: k equal best answers give 1/k each.

    Args:
        logits: (n, V). a: (n,) right tokens. b: (n,) tokens of the names that were asked about.
        candidates: tokens that count as answers of the right side.
        tie: logits as close as this are equal.

    Returns:
        `acc` over all tokens and `acc_in_a` over candidates, `echo` of the name asked about, all shares 0 to 1;
        `margin`, mean logit of a less that of b.

    Raises:
        ValueError: shapes that do not fit.
    """
    if logits.ndim != 2 or a.shape != logits.shape[:1] or b.shape != a.shape:
        raise ValueError(f"logits, a, b: got {logits.shape}, {a.shape}, {b.shape}; expected (n, V), (n,), (n,).")
    rows = np.arange(len(a))

    def share(of: np.ndarray, over: np.ndarray) -> float:
        best = over.max(axis=1, keepdims=True)
        tied = (over >= best - tie).sum(axis=1)
        return float(np.mean((logits[rows, of] >= best[:, 0] - tie) / tied))

    return {
        "acc": share(a, logits), "acc_in_a": share(a, logits[:, candidates]), "echo": share(b, logits),
        "margin": float(np.mean(logits[rows, a] - logits[rows, b])),
    }  # fmt: skip


def read_backwards(matrix: np.ndarray) -> dict[str, float]:
    """What W_OV (V, V) of n pairs, V = 2n + 3, answers to their reverse prompts, and its corner that no fact trains.

    Returns:
        `reversal_scores` with all A as candidates, and the corner's `diagonal` and `rest`, its means, in nats.

    Raises:
        ValueError: a matrix that is not square.
    """
    n = (len(matrix) - 3) // 2
    a, b = np.arange(n), n + np.arange(n)
    diagonal, rest = block_contrast(entity_blocks(matrix, a, b)["reverse"])
    return reversal_scores(reverse_prompts(n) @ matrix.T, a, b, a) | {"diagonal": diagonal, "rest": rest}
