"""Models of the user's own: Coconut's and CODI's key layouts against a naive pass, LoRA, recordings, Python objects."""

import json

import numpy as np
import pytest
import torch
from torch.nn import functional

from assay.checkpoints.safetensors_writing import write_safetensors
from assay.language import (
    PlainModel,
    Plan,
    Questions,
    WordModel,
    WordTask,
    given,
    influence,
    intervene,
    open_language,
    read_questions,
    read_recorded,
    rollout,
    zero,
)
from assay.language.latent_decoder import LatentDecoder
from assay.language.latent_gpt2 import merged_lora
from assay.models.decoder import DecoderShape

BASE, D, HEADS, LAYERS = 258, 32, 4, 2


def gpt2_weights(seed=0, vocabulary=BASE + 3):
    g = torch.Generator().manual_seed(seed)

    def drawn(*shape, scale=0.2):
        return scale * torch.randn(*shape, generator=g)

    w = {"wte.weight": drawn(vocabulary, D, scale=0.5), "wpe.weight": drawn(64, D, scale=0.1)}
    w |= {"ln_f.weight": 1 + drawn(D), "ln_f.bias": drawn(D)}
    for i in range(LAYERS):
        for norm in ("ln_1", "ln_2"):
            w |= {f"h.{i}.{norm}.weight": 1 + drawn(D), f"h.{i}.{norm}.bias": drawn(D)}
        for part, shape in (("attn.c_attn", (D, 3 * D)), ("attn.c_proj", (D, D)), ("mlp.c_fc", (D, 4 * D)),
                            ("mlp.c_proj", (4 * D, D))):  # fmt: skip
            w |= {f"h.{i}.{part}.weight": drawn(*shape), f"h.{i}.{part}.bias": drawn(shape[1])}
    return w


def naive(w, x):
    """(n, d) inputs without positions -> (n, d) states: GPT-2 as it is written down, one sequence, no cache."""
    n = len(x)
    x = x + w["wpe.weight"][:n]
    for i in range(LAYERS):
        y = functional.layer_norm(x, (D,), w[f"h.{i}.ln_1.weight"], w[f"h.{i}.ln_1.bias"])
        q, k, v = (y @ w[f"h.{i}.attn.c_attn.weight"] + w[f"h.{i}.attn.c_attn.bias"]).split(D, dim=1)
        out = torch.zeros(n, D)
        for h in range(HEADS):
            part = slice(h * D // HEADS, (h + 1) * D // HEADS)
            score = q[:, part] @ k[:, part].T / (D // HEADS) ** 0.5
            score = score.masked_fill(~torch.ones(n, n).tril().bool(), float("-inf"))
            out[:, part] = score.softmax(1) @ v[:, part]
        x = x + out @ w[f"h.{i}.attn.c_proj.weight"] + w[f"h.{i}.attn.c_proj.bias"]
        y = functional.layer_norm(x, (D,), w[f"h.{i}.ln_2.weight"], w[f"h.{i}.ln_2.bias"])
        y = functional.gelu(y @ w[f"h.{i}.mlp.c_fc.weight"] + w[f"h.{i}.mlp.c_fc.bias"], approximate="tanh")
        x = x + y @ w[f"h.{i}.mlp.c_proj.weight"] + w[f"h.{i}.mlp.c_proj.bias"]
    return functional.layer_norm(x, (D,), w["ln_f.weight"], w["ln_f.bias"])


def tokenizer(folder):
    from assay.models.tokens import letters

    names = [letters()[b] for b in range(256)]
    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")


def coconut_folder(folder, weights, **config):
    folder.mkdir(exist_ok=True)
    named = {f"base_causallm.transformer.{k}": v for k, v in weights.items()}
    named |= {"base_causallm.lm_head.weight": weights["wte.weight"], "embedding.weight": weights["wte.weight"]}
    torch.save(named, folder / "checkpoint_3")
    config = {"n_head": HEADS, "base_vocab_size": BASE, "c_thought": 2, "max_latent_stage": 2, **config}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tokenizer(folder)
    return folder


PROMPTS = Questions(((5, 9, 11, BASE), (7, BASE), (1, 2, 3, 4, 5, 6, BASE)))
TARGETS = torch.tensor([[3, 4, 5], [10, 11, 12], [20, 21, 22]])


def by_hand(w, latent_map, marks, change):
    """Logits of targets, prompt by prompt, without cache, padding or batch."""
    out = []
    for row, (tokens, target) in enumerate(zip(PROMPTS.tokens, TARGETS, strict=True)):
        x = w["wte.weight"][list(tokens)]
        for t in range(1, 5):
            h = change[t][row] if t in change else latent_map(naive(w, x)[-1])
            x = torch.cat([x, h[None]])
        x = torch.cat([x, w["wte.weight"][[marks]], w["wte.weight"][target[:-1]]])
        out.append(naive(w, x)[-3:] @ w["wte.weight"].T)
    return torch.stack(out)


def test_coconut_as_the_public_code_keeps_it(tmp_path):
    """Prompts of unequal length in one batch, forks and caches: as one by one without any of them."""
    w = gpt2_weights()
    language = open_language(coconut_folder(tmp_path / "coconut", w))
    assert (language.kind, language.latents, language.begin) == ("Coconut", 4, BASE)
    base = rollout(language.model, PROMPTS, TARGETS)
    assert torch.allclose(base.answer_logits, by_hand(w, lambda h: h, BASE + 1, {}), atol=1e-4)
    new = torch.randn(3, 4, D, generator=torch.Generator().manual_seed(1))
    plans = [Plan({2: given(new)}, 4), Plan({1: given(new), 3: given(new)}, 4)]
    out = intervene(base, plans, keep_logits=True)
    for logits, slots in zip(out.logits, ((2,), (1, 3)), strict=True):
        wanted = by_hand(w, lambda h: h, BASE + 1, {t: new[:, t - 1] for t in slots})
        assert torch.allclose(logits, wanted, atol=1e-4)
    assert np.isfinite(np.nan_to_num(influence(base, zero(), effect="direct", read="decode").matrix)).all()


def test_codi_with_lora_merged_is_codi_with_lora_beside(tmp_path):
    w = gpt2_weights(1)
    g = torch.Generator().manual_seed(2)
    rank, alpha = 4, 8.0
    named, merged = {}, dict(w)
    for name, value in w.items():
        stem, _, kind = name.rpartition(".")
        if name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            a, b = 0.3 * torch.randn(rank, value.shape[0], generator=g), torch.randn(value.shape[1], rank, generator=g)
            merged[name] = value + alpha / rank * a.T @ b.T  # x W + α/r (x Aᵀ) Bᵀ
            path = f"codi.base_model.model.transformer.{stem}"
            named |= {f"{path}.base_layer.weight": value, f"{path}.lora_A.default.weight": a,
                      f"{path}.lora_B.default.weight": b}  # fmt: skip
        elif ".c_" in name:
            named[f"codi.base_model.model.transformer.{stem}.base_layer.{kind}"] = value
        else:
            named[f"codi.base_model.model.transformer.{name}"] = value
    prj = {"1.weight": torch.randn(D, D, generator=g) / 5, "1.bias": torch.randn(D, generator=g),
           "3.weight": torch.randn(D, D, generator=g) / 5, "3.bias": torch.randn(D, generator=g),
           "ln.weight": torch.ones(D), "ln.bias": torch.zeros(D)}  # fmt: skip
    named |= {f"prj.{k}": v for k, v in prj.items()}
    write_safetensors(tmp_path / "model.safetensors", named)
    config = {"n_head": HEADS, "base_vocab_size": BASE, "num_latent": 4, "lora_alpha": alpha}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    language = open_language(tmp_path)
    assert (language.kind, language.begin, language.model.end) == ("CODI", BASE + 1, BASE + 2)

    def latent_map(h):
        y = functional.gelu(h @ prj["1.weight"].T + prj["1.bias"])
        return functional.layer_norm(y @ prj["3.weight"].T + prj["3.bias"], (D,))

    base = rollout(language.model, PROMPTS, TARGETS)
    assert torch.allclose(base.answer_logits, by_hand(merged, latent_map, BASE + 2, {}), atol=1e-4)
    again = merged_lora({"a.base_layer.weight": w["h.0.attn.c_attn.weight"]}, 8.0)
    assert torch.equal(again["a.weight"], w["h.0.attn.c_attn.weight"])


def test_questions_become_tokens(tmp_path):
    language = open_language(coconut_folder(tmp_path / "m", gpt2_weights()))
    lines = [{"question": "1+1?", "answer": "so #### 2"}, {"question": "2+2?", "answer": "4"},
             {"question": "9+9?", "answer": "18"}]  # fmt: skip
    path = tmp_path / "q.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    asked = read_questions(language, path, 10)
    assert asked.texts == ("2", "4") and asked.left_out == 1
    assert asked.prompts.tokens[0] == (*b"1+1?\n", BASE) and tuple(asked.answers[0].tolist()) == tuple(b"### 2")


class Plain:
    """The small decoder as somebody's own object: no cache but the inputs themselves."""

    def __init__(self, decoder):
        self.decoder = decoder

    def embed(self, ids):
        return self.decoder.embed(ids)

    def step(self, inputs_embeds, cache):
        whole = inputs_embeds if cache is None else torch.cat([cache, inputs_embeds], dim=1)
        states = self.decoder.read(whole)[0][:, -inputs_embeds.shape[1] :]
        return states, self.decoder.unembed(states), whole

    def latent_map(self, hidden):
        return hidden


def test_a_python_object_with_three_functions():
    task = WordTask("chain", 5)
    shape = DecoderShape(task.tokens, 32, 2, context=32, tied=True, spread=0.2)
    decoder = LatentDecoder(shape, "coconut", task.end, torch.Generator().manual_seed(1)).eval()
    laid = task.lay(task.draw(12, torch.Generator().manual_seed(2), held_out=False))
    targets = laid.answer[:, None]
    own = rollout(PlainModel(Plain(decoder), 3), laid.prompt, targets)
    base = rollout(WordModel(decoder, 3), laid, targets)
    assert torch.allclose(own.latents, base.latents, atol=1e-5)
    plans = [Plan({1: zero()}, 3), Plan({2: zero()}, 3, hold=frozenset({3})), Plan({1: zero(), 3: zero()}, 3)]
    a, b = (intervene(one, plans, keep_logits=True) for one in (own, base))
    assert torch.allclose(a.logits, b.logits, atol=1e-4)
    two = rollout(PlainModel(Plain(decoder), 3, end=(task.end,)), laid.prompt, torch.cat([targets, targets], dim=1))
    assert two.answer_logits.shape == (12, 2, task.tokens)


def recorded(**changes):
    rng = np.random.default_rng(0)
    arrays = {"h": rng.normal(size=(6, 3, 8)), "logits_at": rng.normal(size=(6, 3, 2)), "y": np.array([0, 1] * 3)}
    arrays |= changes
    return {name: value for name, value in arrays.items() if value is not None}


def test_recorded_trajectories(tmp_path):
    np.savez(tmp_path / "r.npz", **recorded())
    read = read_recorded(tmp_path / "r.npz")
    assert read.latents == 3 and len(read) == 6
    assert torch.allclose(read.log_p.exp().sum(-1), torch.ones(6, 3))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"h": np.zeros((6, 768))}, r"h: expected \[n,T,d\], got \[6, 768\]"),
        ({"h": None}, r"h: expected \[n,T,d\], got none"),
        ({"logits_at": np.zeros((6, 2, 2))}, r"logits_at: expected \[6,3,K\]"),
        ({"y": np.full(6, 2)}, r"y: expected \[6\] whole numbers from 0 to 1"),
        ({"group": np.zeros(3)}, r"group: expected \[6\]"),
        ({"h": np.full((6, 3, 8), np.nan)}, "h: expected finite"),
        ({"h": np.array([object()])}, "model: r.npz cannot be read"),
    ],
)
def test_bad_recordings_get_a_sentence(tmp_path, changes, said):
    np.savez(tmp_path / "r.npz", allow_pickle=True, **recorded(**changes))
    with pytest.raises(ValueError, match="^" + said):
        read_recorded(tmp_path / "r.npz")


def test_bad_checkpoints_get_a_sentence(tmp_path):
    w = gpt2_weights()

    def refused(weights, said, **config):
        folder = coconut_folder(tmp_path / "m", weights, **config)
        with pytest.raises(ValueError, match="^" + said):
            open_language(folder)

    refused(w, "checkpoint vocab 261, expected base\\+3 = 50260: latent tokens missing.", base_vocab_size=50257)
    lacking = {k: v for k, v in w.items() if k != "h.1.ln_2.bias"}
    refused(lacking, r"h.1.ln_2.bias: is missing; the nearest are h\.[01]\.ln_[12]\.bias")
    refused(w, "n_head: got 5; expected a divisor of 32", n_head=5)
    folder = coconut_folder(tmp_path / "m", w)
    (folder / "config.json").write_text("{}")
    with pytest.raises(ValueError, match=r"^config.json: has no n_head"):
        open_language(folder)
    (folder / "checkpoint_3").unlink()
    (folder / "config.json").write_text('{"n_head": 4}')
    with pytest.raises(ValueError, match=r"^model: m has no weights"):
        open_language(folder)
    torch.save({"base_causallm.model.layers.0.x": torch.ones(2), "embedding.weight": torch.ones(2, 2)},
               folder / "checkpoint_1")  # fmt: skip
    with pytest.raises(ValueError, match=r"^model: the checkpoint is of a Llama"):
        open_language(folder)
