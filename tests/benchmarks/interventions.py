"""One side of the benchmark of interventions: reads a case's name a line, runs it once, answers with its seconds.

Each case is every zeroing, mean and swap of each step read at the answer, and total and direct influence of swaps: what
a study of a model asks for. `forked` is ours: prompts are read once, all interventions are forks of one cache. `hooked`
is a loop of full forward passes of the same decoder with a hook on its embedding, T + 1 passes an intervention, all
prompts in a batch. `short` prompts are words of permutations on a model that comes along, `long` ones 96 tokens on one
of its shape, untrained. Outputs are compared first, in float64, where only an error tells them apart, and in float32.
"""

import sys

import torch
from answering import Case, answer

THREADS = 1
AGREE = 1e-5  # largest difference of probabilities in float64; float32 alone makes some 1e-5


def plans_of(latents: int, operations: dict[str, object], swaps: object) -> list[object]:
    from assay.language import Plan, edges_of

    plans = [Plan({t: op}, latents) for op in operations.values() for t in range(1, latents + 1)]
    for t, s in edges_of(latents):
        read = latents if s > latents else s - 1
        plans.append(Plan({t: swaps}, read, end=False))
        plans.append(Plan({t: swaps}, read, hold=frozenset(range(t + 1, s)) - {read + 1}, end=False))
    return plans


def hooked(decoder: torch.nn.Module, prompt: torch.Tensor, base: object, plans: list[object]) -> torch.Tensor:
    """Logits (P, n, V) by full passes: latents are written into the embedding's output by a hook."""
    start, latents = prompt.shape[1], base.latents
    out = []
    written: list[torch.Tensor] = []

    def write(module: object, given: object, embedded: torch.Tensor) -> torch.Tensor:
        for i, h in enumerate(written):
            embedded[:, start + i] = h
        return embedded

    handle = decoder.embedding.register_forward_hook(write)
    for plan in plans:
        written.clear()
        state = decoder.states(prompt)[:, -1]
        for t in range(1, plan.read + 1):
            h = latents[:, t - 1] if t in plan.hold else state
            if t in plan.do:
                h = plan.do[t](h, t, slice(0, len(prompt)))
            written.append(h)
            tokens = torch.cat([prompt, prompt.new_zeros(len(prompt), t)], dim=1)
            state = decoder.states(tokens)[:, -1]
        out.append(decoder.unembedding(state))
    handle.remove()
    return torch.stack(out)


def cases() -> tuple[dict[str, Case], str]:
    sys.path.insert(0, "lib")
    from assay.language import constant, intervene, kept_latents, mean_of_step, read_latent, rollout, swap, zero
    from assay.language.latent_decoder import LatentDecoder
    from assay.language.word_model import WordModel
    from assay.language.word_task import Laid
    from assay.models.decoder import DecoderShape

    kept = read_latent("chain-long" if "chain-long" in kept_latents() else "chain")
    words = kept.task.draw(500, torch.Generator().manual_seed(0), held_out=True)
    short = kept.task.lay(words)
    shape = DecoderShape(kept.task.tokens, 96, 2, context=128, tied=True, spread=0.1)
    long_decoder = LatentDecoder(shape, "coconut", kept.task.end, torch.Generator().manual_seed(0)).eval()
    tokens = torch.randint(24, (100, 96), generator=torch.Generator().manual_seed(1))
    none = torch.empty(100, 0, dtype=torch.long)
    ready: dict[str, Case] = {}
    counts: list[str] = []
    for name, model, laid in (
        ("short", kept.model, short),
        ("long", WordModel(long_decoder, 6), Laid(tokens, none, none, tokens[:, 0])),
    ):
        targets = laid.answer[:, None]

        def ours(model=model, laid=laid, targets=targets, check=False):
            base = rollout(model, laid, targets)
            swaps = swap(base, torch.roll(torch.arange(len(laid)), 1))
            operations = {"zero": zero(), "mean": constant(mean_of_step(base)), "swap": swaps}
            plans = plans_of(model.latents, operations, swaps)
            return base, plans, intervene(base, plans, keep_logits=check)

        with torch.no_grad():
            apart = []
            for kind in (torch.float64, torch.float32):
                model.decoder.to(kind)
                base, plans, outcome = ours(check=True)
                theirs = hooked(model.decoder.decoder, laid.prompt, base, plans)
                apart.append(float((outcome.logits[:, :, 0].softmax(-1) - theirs.softmax(-1)).abs().max()))
            assert apart[0] < AGREE and apart[1] < 100 * AGREE, f"{name}: probabilities differ by {apart}"
        ready[f"forked {name}"] = ours
        ready[f"hooked {name}"] = lambda m=model, x=laid.prompt, b=base, p=plans: hooked(m.decoder.decoder, x, b, p)
        counts.append(
            f"{name}: {len(plans)} interventions on {len(laid)} prompts, {model.latents} latents, probabilities apart "
            f"by {apart[0]:.0e} in float64 and {apart[1]:.0e} in float32"
        )
    return ready, "; ".join(counts)


def serve() -> None:
    torch.set_num_threads(THREADS)
    ready, counts = cases()
    with torch.no_grad():
        answer(ready, f"{counts}; torch {torch.__version__.split('+')[0]}")


if __name__ == "__main__":
    serve()
