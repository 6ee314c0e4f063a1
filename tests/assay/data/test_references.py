"""References: samples, hashes and paths; what may be read, and how content is found again."""

import hashlib

import pytest

from assay.data import InputError, content_sha256, find_content, references, resolve, sample_version


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(references, "_known", None)
    monkeypatch.delenv("ASSAY_DATA", raising=False)


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "data"
    (root / "inner").mkdir(parents=True)
    (root / "one.bin").write_bytes(b"one")
    (root / "inner" / "two.bin").write_bytes(b"two")
    return root


def sentence_of(reference, **options):
    with pytest.raises(InputError) as caught:
        resolve(str(reference), **options)
    return str(caught.value)


def test_a_file_is_known_by_its_bytes_and_a_folder_by_its_files(folder, tmp_path):
    assert content_sha256(folder / "one.bin") == hashlib.sha256(b"one").hexdigest()
    before = content_sha256(folder)
    folder.rename(tmp_path / "moved")
    assert content_sha256(tmp_path / "moved") == before
    (tmp_path / "moved" / "inner" / "two.bin").write_bytes(b"TWO!")
    assert content_sha256(tmp_path / "moved") != before


def test_renaming_a_file_within_a_folder_changes_it(folder):
    before = content_sha256(folder)
    (folder / "one.bin").rename(folder / "uno.bin")
    assert content_sha256(folder) != before


def test_hashes_are_remembered_by_the_next_process_and_a_damaged_memory_is_no_harm(folder, monkeypatch):
    first = content_sha256(folder)
    for damage in (None, "not json", '{"a": 1}', "[]"):
        if damage is not None:
            references.cache_file().write_text(damage)
        monkeypatch.setattr(references, "_known", None)
        assert content_sha256(folder) == first
    assert len(references.remembered()) == 2


def test_a_search_writes_the_memory_once(folder, monkeypatch):
    written = []
    monkeypatch.setattr(references.json, "dumps", lambda known: written.append(len(known)) or "{}")
    assert find_content("0" * 64, [folder]) is None
    assert written == [2]


def test_content_is_found_wherever_it_lies(folder, monkeypatch):
    sha256 = hashlib.sha256(b"two").hexdigest()
    found = resolve(f"sha256:{sha256}", folders=[folder])
    assert (found.name, found.sha256, found.path) == ("two.bin", sha256, folder / "inner" / "two.bin")
    inner = resolve(f"sha256:{content_sha256(folder / 'inner')}", folders=[folder])
    assert inner.path == folder / "inner"
    monkeypatch.setenv("ASSAY_DATA", str(folder))
    assert resolve(f"sha256:{sha256}").path == folder / "inner" / "two.bin"


def test_a_path_and_a_sample_are_resolved_to_name_and_hash(folder):
    found = resolve(str(folder / "one.bin"))
    assert (found.name, found.sha256) == ("one.bin", hashlib.sha256(b"one").hexdigest())
    named = resolve("sample:radhar")
    assert (named.name, named.sha256, named.path) == ("radhar", sample_version("radhar"), None)


def test_only_listed_roots_may_be_read_links_followed(folder, tmp_path):
    assert resolve(str(folder / "one.bin"), roots=[folder]).name == "one.bin"
    (tmp_path / "secret.bin").write_bytes(b"secret")
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    for outside in (tmp_path / "secret.bin", folder / ".." / "secret.bin", folder / "link.bin"):
        assert sentence_of(outside, roots=[folder]) == (
            f"reference: {outside.name} lies in no folder that may be read; expected one under a listed root."
        )
    assert sentence_of(folder / "one.bin", roots=[]).startswith("reference: one.bin lies in no folder")
    absent = sentence_of(tmp_path / "absent.bin", roots=[folder])
    assert "no folder that may be read" in absent  # whether it is there is nobody's business


def test_bad_references_are_named_in_one_sentence(folder, tmp_path):
    (folder / "empty.bin").touch()
    assert sentence_of(folder / "empty.bin") == "reference: empty.bin is empty; expected data."
    assert sentence_of(tmp_path / "no.bin") == "reference: no.bin is not there; expected a file or folder."
    assert sentence_of("sha256:abc") == "reference: got 'sha256:abc'; expected sha256: and 64 hexadecimal digits."
    assert sentence_of(f"sha256:{'0' * 64}") == (
        "reference: sha256:000000000000… is not on this machine; expected content under ASSAY_DATA."
    )
    for nothing in ("", "  ", "a\0b"):
        assert sentence_of(nothing) == f"reference: got {nothing!r}; expected sample:NAME, sha256:HEX or a path."
    assert sentence_of("sample:other").startswith("sample: got 'other'; expected one of radhar, synthetic-low")


def test_a_folder_of_too_many_files_is_refused(folder, monkeypatch):
    monkeypatch.setattr(references, "MAX_FILES", 1)
    assert sentence_of(folder) == "data: holds more than 1 files; expected one set of data."
