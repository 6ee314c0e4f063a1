"""What can be moved: a model with its inputs, the grade, a change, a synthetic layer, a switching system."""

from __future__ import annotations

from assay.dynamics.state_space import quarter_turn_pair
from workbench.study import Paper, Study

GRADE_WORDS = {"a-priori": "From weights alone", "conditional": "Given the data", "empirical": "Seen"}
METHOD_WORDS = {"euler": "Euler, as the code", "zoh": "Exact hold"}
CHANGE_WORDS = {
    "input": "input of the layer, after its norm", "pre": "step, before the softplus", "B": "B", "C": "C",
    "weights": "weights of step, B and C, relative",
}  # fmt: skip
RATES = {
    "real": "1 to N, as S4D-real starts",
    "spread": "spread evenly in log, 10⁻⁴ to 10²",
    "integrator": "10⁻⁶: hardly any decay",
}
SYSTEMS = {
    "own": "The two matrices below",
    "shear": "A shear and its transpose",
    "spirals": "Two spirals, switched",
    "legs": "HiPPO-LegS at two speeds",
    "delta": "Gated delta rule",
}
VACUOUS = 0.01  # of a bound, below which nothing that inputs reach comes near it

study = Study(
    "ssm-stability",
    paper=Paper(
        title="A Control-Theoretic View of Mamba on Stability and Robustness",
        authors="Cao, Liu, Chen, Qin",
        venue="ICML 2026, PMLR 306, pp. 11350–11364",
    ),
    question="Can a trained Mamba’s state ever blow up, and what do its weights alone promise?",
    summary="Stability certificates for selective state-space models",
)

study.group("Model", equation=r"h_t = e^{-\Delta_t a} h_{t-1} + \Delta_t B_t x_t")
study.checkpoint(
    "model", "sample:small-mamba", samples=("small-mamba",), label="Checkpoint", group="Model",
    suffixes=(".safetensors", ".pt", ".bin", ".npz", ""),
    needs="weights of Mamba, Mamba-2, Falcon Mamba or Jamba",
    doc="Whose selective layers are certified; attention is listed and left out.",
)  # fmt: skip
study.data(
    "inputs", optional=True, label="Calibration", group="Model", rare=True, suffixes=(".npy",),
    needs="token ids (B, L) or activations (B, L, d) before the first selective layer, as npy",
    doc="Inputs whose maxima the second grade rests on; by default the task’s own sequences, or random tokens.",
)  # fmt: skip
study.number(
    "radius", 0.0, bounds=(0.0, 1e6), label="Input radius", group="Model", rare=True,
    doc="Largest length of a layer’s input, a token, where no norm stands in front; 0 takes the calibration’s.",
)  # fmt: skip
study.choice("layer", choices="layer_names", group="Model", doc="Which selective layer is looked at.")
study.integer("channel", 0, bounds="channel_bounds", group="Model", doc="Channel d of the layer.")
study.integer("state", 0, bounds="state_bounds", symbol="n", group="Model", doc="State n of the channel.")

study.group("Certificate", equation=r"|h_t| \le \frac{\rho(\Delta_{\max} a)}{a}\,\sup|B x|")
study.choice(
    "grade", "a-priori", choices=GRADE_WORDS, label="Rests on", group="Certificate",
    doc="Weights alone; or maxima over the calibration, valid for inputs inside them; or what was seen, no bound.",
)  # fmt: skip
study.choice(
    "method", "euler", choices=METHOD_WORDS, label="Discretisation", symbol="ρ", group="Certificate",
    doc="How B enters a step: Δ B, as in the public code, or an exact hold, for which ρ is 1.",
)  # fmt: skip
study.flag(
    "vocabulary", False, label="Finite vocabulary", group="Certificate", rare=True,
    doc="The first layer only ever sees the normalised embeddings of the vocabulary.",
)  # fmt: skip

study.group("Change", equation=r"|\tilde h_t - h_t| \le \text{injection} + \text{selectivity}")
study.choice("change", "pre", choices=CHANGE_WORDS, label="What is changed", group="Change", doc="At every step.")
study.number(
    "size", 0.01, bounds=(1e-4, 1.0), log=True, symbol="ε", group="Change", doc="Size of the change, at every step."
)
study.integer(
    "length", 4096, bounds=(16, 100_000), log=True, symbol="L", label="Length", unit="tokens", group="Change",
    doc="Tokens of the longest sequence.",
)  # fmt: skip

study.group("Synthetic layer", equation=r"\Delta_t = \mathrm{softplus}(\mu + \sigma\,\xi_t)")
study.choice("rates", "spread", choices=RATES, symbol="a", label="Decay rates", group="Synthetic layer",
             doc="Of the 16 states of a channel.")  # fmt: skip
study.number(
    "spread", 1.0, bounds=(0.0, 4.0), step=0.1, symbol="σ", label="Selectivity", group="Synthetic layer",
    doc="Spread of the step before its softplus; the middle step is 0.01.",
)  # fmt: skip
study.number(
    "rate_scale", 1.0, bounds=(0.01, 100.0), log=True, label="Rates times", group="Synthetic layer",
    doc="All decay rates are multiplied by this, here and in the time warp.",
)  # fmt: skip
study.number(
    "step_scale", 1.0, bounds=(0.01, 100.0), log=True, label="Steps times", symbol="Δ", group="Synthetic layer",
    doc="All steps are multiplied by this, here and in the time warp.",
)  # fmt: skip
study.choice(
    "norm", "inf", choices={"inf": "largest state", "2": "Euclidean"}, label="Norm over states",
    group="Synthetic layer", rare=True, doc="How the 16 states become one number.",
)  # fmt: skip

study.group("Switching", equation=r"A_i^{\top} P A_i \prec r^2 P \quad\text{or}\quad A_i^{\top}P + P A_i \prec -2rP")
study.choice("system", "own", choices=SYSTEMS, group="Switching", doc="What switches freely among its matrices.")
study.data(
    "vertices", optional=True, label="Your system", group="Switching", rare=True, suffixes=(".npz",),
    needs="A (m, n, n) and kind, discrete or continuous, as npz",
    doc="A system of yours takes the place of the one chosen; h (T, n) beside A is tested against its certificate.",
)  # fmt: skip
study.choice(
    "time", "continuous", choices={"discrete": "h⁺ = A h", "continuous": "dh/dt = A h"}, group="Switching",
    doc="Steps, or a flow whose matrices are held for any time.",
)  # fmt: skip
_pair = tuple(tuple(tuple(float(x) for x in row) for row in A) for A in quarter_turn_pair())
study.matrix("first", _pair[0], bounds=(-100, 100), rows=(2, 2), columns=(2, 2), symbol="A₁", label="First matrix",
             group="Switching", doc="2 × 2.")  # fmt: skip
study.matrix("second", _pair[1], bounds=(-100, 100), rows=(2, 2), columns=(2, 2), symbol="A₂", label="Second matrix",
             group="Switching", doc="2 × 2.")  # fmt: skip
study.integer(
    "products", 8, bounds=(1, 14), label="Longest product", group="Switching", rare=True,
    doc="Products of so many factors are searched for one that grows.",
)  # fmt: skip
study.number(
    "target", 0.0, bounds=(0.0, 100.0), label="Target rate", symbol="r", group="Switching", rare=True,
    doc="A rate to be content with; 0 asks for the best.",
)  # fmt: skip
study.choice("solver", "CLARABEL", choices={"CLARABEL": "Clarabel", "SCS": "SCS"}, group="Switching", rare=True,
             doc="Of the semidefinite programs; what it says is checked apart from it.")  # fmt: skip

study.group("Effort")
study.integer("targets", 24, bounds=(2, 2048), effort=True, group="Effort", label="States attacked",
              doc="States of each layer that the ascent is aimed at.")  # fmt: skip
study.integer("steps", 50, bounds=(1, 1000), effort=True, group="Effort", rare=True, label="Steps of ascent",
              doc="Of the projected gradient.")  # fmt: skip
study.integer("window", 64, bounds=(8, 4096), effort=True, group="Effort", rare=True, label="Attack length",
              unit="tokens", doc="Tokens of an attacking sequence.")  # fmt: skip
study.integer("pairs", 60, bounds=(4, 5000), effort=True, group="Effort", rare=True, label="Random systems",
              doc="Pairs of matrices on which certificates are tried.")  # fmt: skip
study.integer("largest", 12, bounds=(2, 32), effort=True, group="Effort", rare=True, label="Largest system",
              doc="States of the largest switching system that is certified.")  # fmt: skip
study.integer("longest", 16_384, bounds=(256, 100_000), effort=True, group="Effort", rare=True, unit="tokens",
              label="Longest sequence", doc="In which errors of synthetic layers are followed.")  # fmt: skip
study.integer("training", 200, bounds=(2, 20_000), effort=True, group="Effort", rare=True, label="Training steps",
              doc="Of a small Mamba that is trained here; the one that comes along took 1,800.")  # fmt: skip
study.presets(
    quick={"targets": 6, "steps": 8, "window": 64, "pairs": 40, "largest": 4, "longest": 2048, "training": 2,
           "seeds": 3},
    standard={"targets": 24, "steps": 50, "window": 64, "pairs": 60, "largest": 12, "longest": 16_384, "training": 200,
              "seeds": 3},
    full={"targets": 512, "steps": 200, "window": 256, "pairs": 1000, "largest": 16, "longest": 100_000,
          "training": 2000, "seeds": 10},
)  # fmt: skip
