"""Stability of selective state-space layers: certificates from weights, checked, and adversaries that try to break one.

Arrays and tensors in float64. A bound says what it rests on; `a-priori` ones hold for every input that a layer's norm
lets through, `conditional` ones for inputs that stay inside calibrated maxima.
"""

from assay.dynamics.state_space.adversary import (
    Admissible,
    adversarial_changes,
    adversarial_inputs,
    hand_made_inputs,
    random_inputs,
)
from assay.dynamics.state_space.calibration import (
    Monitor,
    Seen,
    Violations,
    calibrate,
    check_violations,
    merge,
    observe,
    watch,
)
from assay.dynamics.state_space.certificates import METHODS, Bound, Method, bibo_bound
from assay.dynamics.state_space.constants import GRADES, Constants, Grade, interval_constants, vocabulary_inputs
from assay.dynamics.state_space.copying_training import CopyingRun, Logged, answer_accuracy, train_copying
from assay.dynamics.state_space.joint_radius import JointRadius, joint_spectral_radius
from assay.dynamics.state_space.layer import Driven, SSMLayer
from assay.dynamics.state_space.lpv_file import LPVSystem, read_lpv
from assay.dynamics.state_space.lyapunov import Certificate, common_lyapunov, l2_gain
from assay.dynamics.state_space.lyapunov_check import product_exceeds_one, verify_certificate
from assay.dynamics.state_space.mamba import Mamba, MambaShape, write_mamba
from assay.dynamics.state_space.ranges import silu_range, softplus_bounds, zoh_ratio
from assay.dynamics.state_space.reading import SSMPlace, SSMStack, find_ssm, load_ssm, read_ssm_layer
from assay.dynamics.state_space.recurrence import Scanned, channel_states, last_state, scan_layer
from assay.dynamics.state_space.robustness import (
    CHANGES,
    Change,
    Terms,
    change_of,
    crossover,
    robustness_bound,
    state_terms,
)
from assay.dynamics.state_space.selective_copying import CopyingTask
from assay.dynamics.state_space.switching import (
    Judged,
    gated_delta_vertices,
    held,
    judge_switching,
    legs_matrix,
    lyapunov_exponents,
    lyapunov_matrix,
    pair_has_lyapunov,
    quarter_turn_pair,
    transpose_pair,
)

__all__ = [
    "CHANGES", "GRADES", "METHODS", "Admissible", "Bound", "Certificate", "Change", "Constants", "CopyingRun",
    "CopyingTask", "Driven", "Grade", "JointRadius", "Judged", "LPVSystem", "Logged", "Mamba", "MambaShape", "Method",
    "Monitor", "SSMLayer", "SSMPlace", "SSMStack", "Scanned", "Seen", "Terms", "Violations", "adversarial_changes",
    "adversarial_inputs", "answer_accuracy", "bibo_bound", "calibrate", "change_of", "channel_states",
    "check_violations", "common_lyapunov", "crossover", "find_ssm", "gated_delta_vertices", "hand_made_inputs", "held",
    "interval_constants", "joint_spectral_radius", "judge_switching", "l2_gain", "last_state", "legs_matrix",
    "load_ssm", "lyapunov_exponents", "lyapunov_matrix", "merge", "observe", "pair_has_lyapunov", "product_exceeds_one",
    "quarter_turn_pair", "random_inputs", "read_lpv", "read_ssm_layer", "robustness_bound", "scan_layer",
    "silu_range", "softplus_bounds", "state_terms", "train_copying", "transpose_pair", "verify_certificate",
    "vocabulary_inputs", "watch", "write_mamba", "zoh_ratio",
]  # fmt: skip
