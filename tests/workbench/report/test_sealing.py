"""Seals: whatever byte of a report is changed, it is found; what is no whole report is refused in one sentence."""

import json
import math
import re
import struct
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.report.manifest import (
    ReportError,
    read_manifest,
    seal_html,
    seal_ipynb,
    seal_markdown,
    seal_pdf,
)
from workbench.report.manifest_schema import SCHEMA, UNSEALED, Environment, Manifest, QuantityWritten
from workbench.report.quantities import Quantity
from workbench.report.sealing import manifest_text

HERE = Path(__file__).parent
QUANTITIES = [
    Quantity("a/b[x=1]", 0.1 + 0.2, "V", "numeric", 1e-5, 1e-12),
    Quantity("nan", math.nan), Quantity("list", [1, -math.inf, math.nan, None, "</script>", True, 2.5]),
    Quantity("name", "λ → -->", kind="exact"), Quantity("drawn", 1.5, kind="statistical", interval=(1.0, 2.0)),
]  # fmt: skip


def manifest_of(quantities=QUANTITIES):
    written = tuple(map(QuantityWritten.of, quantities))
    return Manifest(schema=1, seal=UNSEALED, environments=(Environment(),), quantities=written).as_json()


def page(manifest):
    text = json.dumps(manifest, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        "<!doctype html><title>r</title><p>The estimate is 0.3 V.</p>"
        f'<script type="application/json" id="figures">{{"data":[1,2]}}</script>'
        f'<script type="application/json" id="assay-manifest">{text}</script></html>'
    ).encode()


def notebook(manifest):
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": 1, "source": ["x = 1\n", "x"],
            "outputs": [{"output_type": "execute_result", "execution_count": 1, "metadata": {},
                         "data": {"text/plain": ["0.3"], "application/json": {"y": [1, 2]}}}]}  # fmt: skip
    return {"cells": [cell], "metadata": {"assay": manifest, "kernelspec": {"name": "python3"}}, "nbformat": 4,
            "nbformat_minor": 5}  # fmt: skip


PLAIN_PDF = (
    b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R /Lang (en) >>\nendobj\n"
    b"2 0 obj\n<< /Type /Pages /Kids [] /Count 0 >>\nendobj\n"
    b"xref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n0000000069 00000 n \n"
    b"trailer\n<< /Size 3 /Root 1 0 R >>\nstartxref\n119\n%%EOF\n"
)


def made(form):
    manifest = manifest_of()
    if form == "html":
        return seal_html(page(manifest))
    if form == "md":
        return seal_markdown(f"# Report\n\nThe estimate is 0.3 V.\n\n{manifest_text(manifest)}").encode()
    if form == "ipynb":
        return json.dumps(seal_ipynb(notebook(manifest)), indent=1).encode()
    return seal_pdf(PLAIN_PDF, manifest)


FORMS = ("html", "md", "ipynb", "pdf")
MADE = {form: made(form) for form in FORMS}


@pytest.fixture
def put(tmp_path):
    def put(content, form="html"):
        path = tmp_path / f"report.{form}"
        path.write_bytes(content)
        return path

    return put


@pytest.mark.parametrize("form", FORMS)
def test_what_was_written_is_read_back(form, put):
    found = read_manifest(put(MADE[form], form))
    assert [(q.name, q.unit, q.kind, q.rtol, q.atol, q.interval) for q in found.named] == [
        (q.name, q.unit, q.kind, q.rtol, q.atol, q.interval) for q in QUANTITIES
    ]
    assert repr([q.value for q in found.named]) == repr([q.value for q in QUANTITIES])  # NaN, infinities, ints, floats
    assert found.seal != UNSEALED and found.seal.encode() in MADE[form]


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(VALUES | st.lists(VALUES, max_size=4), max_size=5), st.sampled_from(FORMS[:2]))
def test_any_value_survives(tmp_path_factory, values, form):
    manifest = manifest_of([Quantity(f"q{i}", value) for i, value in enumerate(values)])
    content = seal_html(page(manifest)) if form == "html" else seal_markdown(manifest_text(manifest)).encode()
    path = tmp_path_factory.mktemp("value") / f"r.{form}"
    path.write_bytes(content)
    assert repr([q.value for q in read_manifest(path).named]) == repr(values)


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_any_changed_byte_is_found(tmp_path_factory, form, data):
    content = bytearray(MADE[form])
    at = data.draw(st.integers(0, len(content) - 1))
    new = data.draw(st.integers(0, 255))
    if form == "ipynb":  # white space, counts of execution and names of cells are not part of what is said
        inside = [m.span() for m in re.finditer(rb'0\.30000000000000004|x = 1|"0\.3"|0 V|numeric', bytes(content))]
        begin, end = data.draw(st.sampled_from(inside))
        at = data.draw(st.integers(begin, end - 1))
    if content[at] == new:
        return
    if form == "md" and bytes(content[:at] + bytes([new]) + content[at + 1 :]).replace(b"\r\n", b"\n") == MADE[form]:
        return
    content[at] = new
    if form == "ipynb" and content[at : at + 1].isdigit() and json.loads(content) == json.loads(MADE[form]):
        return  # another last digit of the same number
    path = tmp_path_factory.mktemp("byte") / f"r.{form}"
    path.write_bytes(bytes(content))
    with pytest.raises(ReportError, match=r"^report: got r\."):
        read_manifest(path)


@pytest.mark.parametrize("form", FORMS)
@given(share=st.floats(0, 0.999))
def test_a_truncated_file_is_refused(tmp_path_factory, form, share):
    path = tmp_path_factory.mktemp("short") / f"r.{form}"
    path.write_bytes(MADE[form][: int(share * (len(MADE[form]) - 2))])
    with pytest.raises(ReportError) as refused:
        read_manifest(path)
    assert "\n" not in str(refused.value)


def test_a_notebook_may_be_saved_again_and_markdown_may_get_other_line_ends(put):
    saved = json.loads(MADE["ipynb"])
    saved["cells"][0] |= {"id": "b", "execution_count": 7, "source": "x = 1\nx", "metadata": {"tags": []}}
    saved["metadata"]["language_info"] = {"name": "python", "version": "3.13"}
    read_manifest(put(json.dumps(saved).encode(), "ipynb"))
    read_manifest(put(MADE["md"].replace(b"\n", b"\r\n"), "md"))
    with pytest.raises(ReportError, match="seal is broken"):
        read_manifest(put(MADE["html"].replace(b"<p>", b"\r\n<p>"), "html"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "holds no manifest"),
        (b"<html><p>hello</p></html>", "holds no manifest"),
        (b"\xff\xfe\x00", "neither text nor PDF"),
        (b"{}", "no notebook with a manifest"),
        (b"{" * 100_000, "no notebook with a manifest"),
        (b"%PDF-1.4\n%%EOF", "holds no manifest"),
        (page(manifest_of()) + page(manifest_of()), "holds 2 manifests"),
        (page({"schema": "one"}), "schema 'one'"),
        (page({"schema": 0}), "schema '0'"),
        (page({"no": 1}), "names no schema"),
        (page({"schema": 1, "seal": UNSEALED}), "seal is broken"),
        (page(manifest_of()), "seal is broken"),
        (page([1]), "names no schema"),
        (page({"schema": 1, "x": math.nan}), "no JSON"),
        (seal_html(page({"schema": 1, "seal": UNSEALED, "environments": []})), "fault at environments"),
        (seal_html(page({**manifest_of(), "run": "rm"})), "fault at run"),
    ],
)
def test_what_is_no_report_is_refused_in_one_sentence(put, content, sentence):
    with pytest.raises(ReportError, match=re.escape(sentence)) as refused:
        read_manifest(put(content))
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 300


def test_a_file_that_is_not_there_or_is_a_folder_is_refused(tmp_path):
    for path in (tmp_path / "none.html", tmp_path):
        with pytest.raises(ReportError):
            read_manifest(path)


def test_a_newer_schema_says_to_update(put):
    content = seal_html(page({**manifest_of(), "schema": SCHEMA + 1, "new": {"field": 1}}))
    with pytest.raises(ReportError, match=f"schema {SCHEMA + 1}, made by a newer Assay.*update"):
        read_manifest(put(content))


def test_a_page_needs_one_place_for_its_seal():
    with pytest.raises(ValueError, match="got 0 places"):
        seal_html(b"<html></html>")
    with pytest.raises(ValueError, match="got 2 places"):
        seal_html(page(manifest_of()) * 2)


def test_an_attachment_leaves_the_pdf_as_it_was_and_its_tables_point_at_their_objects():
    pdf = MADE["pdf"]
    assert pdf.startswith(PLAIN_PDF)
    start = int(re.findall(rb"startxref\s+(\d+)", pdf)[-1])
    assert pdf[start:].startswith(b"xref\n")
    entries = re.findall(rb"(\d+) 1\n(\d{10}) 00000 n ", pdf[start:])
    assert len(entries) == 3
    for number, offset in entries:
        assert pdf[int(offset) :].startswith(number + b" 0 obj\n")
    assert b"/Prev 119" in pdf[start:] and b"/Lang (en)" in pdf[len(PLAIN_PDF) :]
    for broken in (b"%PDF-1.5\nstartxref\n9\n%%EOF", PLAIN_PDF.replace(b"/Lang (en)", b"/Names 9 0 R")):
        with pytest.raises(ValueError, match="expected what the browser prints"):
            seal_pdf(broken, manifest_of())


def test_a_float_is_read_as_the_same_bits(put):
    value = struct.unpack("<d", struct.pack("<Q", 0x3FB999999999999B))[0]
    found = read_manifest(put(seal_html(page(manifest_of([Quantity("x", value)])))))
    assert struct.pack("<d", found.named[0].value) == struct.pack("<d", value)


def test_the_schema_file_is_the_code_s_and_takes_what_is_written():
    from workbench.report.manifest_schema import Manifest as Model

    kept = json.loads(Path(__file__).parents[3].joinpath("workbench/report/manifest.schema.json").read_text())
    made = Model.model_json_schema(by_alias=True)
    assert {k: v for k, v in kept.items() if k not in ("$schema", "$id")} == made, (
        "run tests/workbench/report/keep_schema.py"
    )
    assert kept["$id"] == f"assay-manifest-{SCHEMA}"
    jsonschema.validate(manifest_of(), kept)
    jsonschema.validate(json.loads((Path(__file__).parent / "manifests" / "schema-1.json").read_text()), kept)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**manifest_of(), "seal": "short"}, kept)
