"""Evidence fixtures of the Identity Bridge: claim -> verdict -> what the claim's function is given."""

import functools

from given_results import given_result

from workbench.registry import registry

result = functools.partial(given_result, registry().get("identity-bridge"))
FORMS = ("fwd", "idn", "idn_a", "ocr", "ocr_no_b")


def forms(pairs=50, seeds=5, gap=0.0, noise=(0.0,), only=FORMS, **columns):
    """Cells of the one-layer model; a column is given as {form: percent}, and noise goes over seeds to the bridge."""
    rows = [
        {"form": form, "factorised": factorised, "seed": seed, "pairs": pairs, "diagonal": gap,
         **{name: by.get(form, 0.0) + (noise[seed % len(noise)] if form == "ocr" else 0.0)
            for name, by in columns.items()}}
        for form in only for factorised in (True, False) for seed in range(seeds)
    ]  # fmt: skip
    return {"forms": result("forms", cells=rows)}


def decoders(pairs=50, seeds=5, noise=(0.0,), **columns):
    """Cells of decoders; a column is given as {(form, length): percent}."""
    rows = [
        {"form": form, "length": length, "seed": seed, "pairs": pairs,
         **{name: by.get((form, length), 0.0) + (noise[seed % len(noise)] if (form, length) == ("ocr", 1) else 0.0)
            for name, by in columns.items()}}
        for form in ("fwd", "idn", "ocr") for length in (1, 2, 3) for seed in range(seeds)
    ]  # fmt: skip
    return {"decoders": result("decoders", cells=rows)}


WILD = (-40.0, 40.0, 0.0)
FIRST = ("ocr", 1)
CLAIMS = {
    "1": {
        "holds": forms(reverse={"fwd": 0}), "fails": forms(reverse={"fwd": 50}),
        "inconclusive": forms(reverse={"fwd": 10}),
    },
    "1b": {
        "holds": forms(in_a={"fwd": 2}), "fails": forms(in_a={"fwd": 60}), "inconclusive": forms(in_a={"fwd": 12}),
    },
    "2": {
        "holds": forms(reverse={"ocr": 95}), "fails": forms(reverse={"ocr": 5}),
        "inconclusive": forms(reverse={"ocr": 50}, noise=WILD),
    },
    "2a": {
        "holds": forms(reverse={"ocr": 95}), "fails": forms(reverse={"ocr": 95, "ocr_no_b": 95}),
        "inconclusive": forms(reverse={"ocr": 50}, noise=WILD),
    },
    "2b": {"holds": forms(gap=0.0), "fails": forms(gap=0.1), "inconclusive": forms(only=("ocr",))},
    "2c": {
        "holds": decoders(reverse={FIRST: 80}), "fails": decoders(reverse={FIRST: 1}),
        "inconclusive": decoders(reverse={FIRST: 40}, noise=WILD),
    },
    "4": {"holds": forms(echo={"idn": 99}), "fails": forms(echo={"idn": 40}), "inconclusive": forms(echo={"idn": 90})},
    "4b": {
        "holds": decoders(reverse={FIRST: 80}), "fails": decoders(reverse={("idn", 1): 50}),
        "inconclusive": decoders(reverse={FIRST: 40}, noise=WILD),
    },
    "5": {
        "holds": decoders(reverse={FIRST: 80}), "fails": decoders(reverse={("ocr", 3): 50}),
        "inconclusive": decoders(reverse={FIRST: 40}, noise=WILD),
    },
    "6": {"holds": forms(echo={"ocr": 0}), "fails": forms(echo={"ocr": 50}), "inconclusive": forms(echo={"ocr": 5})},
    "6b": {
        "holds": decoders(echo={FIRST: 0}), "fails": decoders(echo={FIRST: 50}),
        "inconclusive": decoders(echo={FIRST: 5}),
    },
}  # fmt: skip
