"""What can be moved: a model that thinks in latents, an intervention, what is read of it, how commitment is scored."""

from __future__ import annotations

from assay.language.operations import OPERATIONS
from workbench.study import Paper, Study

__all__ = ["LIVE", "MODELS", "live_operations", "study"]

MODELS = (
    "chain", "skip", "late", "early", "redundant", "chain-long", "chain-1", "chain-2", "explicit", "supervised",
    "pause", "none", "codi-three", "pause-three", "codi-short",
)  # fmt: skip
LIVE = 40  # prompts behind what is drawn at once
live_operations = {name: words for name, words in OPERATIONS.items() if name != "optimal"}
EFFECTS = {"total": "Total: all later steps computed anew", "direct": "Direct: steps in between held"}
READS = {"lens": "The step itself, unembedded", "decode": "The answer, thinking ended there", "next": "What comes next"}
DONORS = {"random": "Any prompt", "same": "Same answer", "different": "Other answer", "pick": "The one I pick"}
METRICS = {"kl": "KL", "flip": "Share that flips"}

study = Study(
    "latent-cot",
    paper=Paper(
        title="Dynamics Within Latent Chain-of-Thought: An Empirical Study of Causal Structure",
        arxiv="2602.08783",
        authors="Li, Bai, Chen, Li, Yang, Lin, Zhang",
    ),
    question="Do latent reasoning steps do different work, jump ahead and keep answers open, or is it how one looks?",
    summary="Interventions on latent chains of thought, on models whose causal graph is known",
)

study.group("Model", equation=r"h_t = f_t(h_{<t}, x),\qquad y = g(h_{1:T})")
study.checkpoint(
    "model", "sample:latent-chain", samples=tuple(f"latent-{name}" for name in MODELS), label="Model", group="Model",
    suffixes=(".npz", ""),
    needs="a folder with a Coconut or CODI checkpoint of GPT-2, or an .npz of recorded trajectories",
    doc="Whose latents are reached into.",
)  # fmt: skip
study.data(
    "questions", optional=True, label="Questions", group="Model", rare=True, suffixes=(".jsonl",),
    needs="JSON lines with question and answer",
    doc="What a checkpoint of yours is asked; models that come along ask words of permutations.",
)  # fmt: skip
study.choice(
    "slots", "own", choices={"own": "As trained", "random": "Random vectors", "coconut": "States fed back"},
    label="What is fed", group="Model", rare=True,
    doc="In the latent slots. Other than as trained is a control: vectors without content, or states never trained.",
)  # fmt: skip
study.text(
    "word", "", pattern=r"[0-9A-Bj=| ]{0,60}", means="permutations such as 2134 1243, at most 60 characters",
    label="Your prompt", group="Model",
    doc="Permutations in one-line notation, as many as the model takes; then A or B, or j=3, where it chooses.",
)  # fmt: skip
study.integer("prompt", 0, bounds="prompt_bounds", label="Prompt", group="Model", doc="Which prompt is looked at.")

study.group("Intervention", equation=r"\mathrm{do}(h_t \leftarrow h')")
study.choice("operation", "zero", choices=live_operations, label="h′", group="Intervention",
             doc="What the latent is replaced by.")  # fmt: skip
study.integer("step", 1, bounds="step_bounds", symbol="t", label="Step", group="Intervention",
              doc="The latent that is reached into; click a step.")  # fmt: skip
study.text(
    "also", "", pattern=r"(\d+(-\d+)?(,\d+(-\d+)?)*)?", means="steps such as 3,4 or 2-4", label="And steps",
    group="Intervention", rare=True, doc="More steps that are changed at once, as a list or a range.",
)  # fmt: skip
study.number("scale", 0.5, bounds=(0.0, 2.0), step=0.05, symbol="σ", label="Noise", group="Intervention", rare=True,
             doc="Of noise, in typical lengths of a latent.")  # fmt: skip
study.number("strength", 1.0, bounds=(0.0, 2.0), step=0.05, symbol="λ", label="Removal", group="Intervention",
             rare=True, doc="How much of the probe’s direction is taken out.")  # fmt: skip
study.integer("rank", 8, bounds=(1, 23), symbol="k", label="Subspace", group="Intervention", rare=True,
              doc="Directions between values that a patch carries over.")  # fmt: skip
study.choice("donor_rule", "random", choices=DONORS, label="Donor", group="Intervention",
             doc="Whose latent a swap takes.")  # fmt: skip
study.integer("donor", 1, bounds="prompt_bounds", label="Donor prompt", group="Intervention",
              doc="The donor of the prompt that is looked at, where you pick.")  # fmt: skip

study.group("Effect", equation=r"W_{t,s} = \mathrm{KL}\big(p^{(s)} \,\|\, p^{(s)}_{\mathrm{do}(t)}\big)")
study.choice("effect", "total", choices=EFFECTS, label="Effect", group="Effect",
             doc="A total effect of a chain reaches every later step; a direct one only the next.")  # fmt: skip
study.choice("read", "lens", choices=READS, label="Read", group="Effect", doc="How a step is read.")
study.integer("target", 3, bounds="target_bounds", symbol="s", label="Read at", group="Effect",
              doc="The step whose reading is replayed; one past the last is the answer. Click a cell.")  # fmt: skip
study.choice("metric", "kl", choices=METRICS, label="Measure", group="Effect", rare=True,
             doc="Of the difference that an intervention makes.")  # fmt: skip
study.number("alpha", 0.1, bounds=(0.0, 1.0), step=0.01, symbol="α", label="Threshold", group="Effect", rare=True,
             doc="Edges above this share of the largest are kept.")  # fmt: skip
study.integer("top", 0, bounds=(0, 8), label="Edges out of a step", group="Effect", rare=True,
              doc="Only so many strongest ones; 0 keeps all above the threshold.")  # fmt: skip
study.choice("subset", "all", choices={"all": "All prompts", "correct": "Answered right"}, label="Prompts",
             group="Effect", rare=True, doc="Which prompts count.")  # fmt: skip

study.group("Commitment", equation=r"SS(t) = \min(p_Y, p_N)")
study.number("tau", 1.0, bounds=(0.1, 5.0), step=0.1, symbol="τ", label="Temperature", group="Commitment", rare=True,
             doc="Of the softmax over two candidates.")  # fmt: skip
study.number("delta", 0.5, bounds=(0.1, 0.9), step=0.05, symbol="δ", label="Decided from", group="Commitment",
             rare=True, doc="Difference of two probabilities that counts as a decision.")  # fmt: skip

study.group("Effort")
study.integer("prompts", 1000, bounds=(20, 20_000), effort=True, group="Effort", label="Prompts measured",
              doc="Words of the held-out tenth, drawn from the seed.")  # fmt: skip
study.integer("fit_steps", 40, bounds=(1, 1000), effort=True, group="Effort", rare=True, label="Steps of fit",
              doc="Of the constant that does the least harm.")  # fmt: skip
study.integer("training", 200, bounds=(2, 6000), effort=True, group="Effort", rare=True, label="Training iterations",
              doc="Most in a stage of the curriculum, when a model is trained here.")  # fmt: skip
study.presets(
    quick={"prompts": 150, "fit_steps": 4, "training": 2, "seeds": 3},
    standard={"prompts": 1000, "fit_steps": 40, "training": 50, "seeds": 3},
    full={"prompts": 4000, "fit_steps": 100, "training": 4000, "seeds": 3},
)  # fmt: skip


@study.prepared
def step_bounds(latents: int) -> tuple[int, int]:
    return 1, max(2, latents)


@study.prepared
def target_bounds(latents: int) -> tuple[int, int]:
    return 2, max(3, latents + 1)
