"""A manifest inside a PDF: a file attachment, added as an incremental update (ISO 32000-1, 7.5.6 and 7.11.4)."""

from __future__ import annotations

import re

__all__ = ["attached", "manifest_in_pdf"]

NAME = b"assay-manifest.json"
STREAM = b"<< /Type /EmbeddedFile /Subtype /application#2Fjson /AssayManifest true /Length %d >>\nstream\n"
FOUND = re.compile(rb"/AssayManifest true /Length (\d{1,9}) >>\nstream\n")
ROOT = re.compile(rb"/Root\s+(\d+)\s+(\d+)\s+R")
SIZE = re.compile(rb"/Size\s+(\d+)")
START = re.compile(rb"startxref\s+(\d+)\s+%%EOF\s*\Z")


def attached(pdf: bytes, content: bytes) -> bytes:
    """A PDF with a file attached; all its own bytes stay as they are.

    Raises:
        ValueError: it has no plain table of its objects, or attachments already.
    """
    start, trailer = START.search(pdf), pdf.rfind(b"trailer")
    root = ROOT.search(pdf, max(trailer, 0))
    size = SIZE.search(pdf, max(trailer, 0))
    if start is None or trailer < 0 or root is None or size is None:
        raise ValueError("pdf: got one without a plain table of its objects; expected what the browser prints.")
    number, generation = int(root[1]), int(root[2])
    catalog = dictionary(pdf, number, generation)
    if b"/Names" in catalog or b"/AF" in catalog:
        raise ValueError("pdf: got one that has attachments; expected what the browser prints.")
    file, spec = int(size[1]), int(size[1]) + 1
    named = b"/Names << /EmbeddedFiles << /Names [(%s) %d 0 R] >> >> /AF [%d 0 R]" % (NAME, spec, spec)
    objects = {
        (number, generation): b"%s\n%s >>" % (catalog[:-2].rstrip(), named),
        (file, 0): STREAM % len(content) + content + b"\nendstream",
        (spec, 0): b"<< /Type /Filespec /F (%s) /UF (%s) /AFRelationship /Data /EF << /F %d 0 R >> >>"
        % (NAME, NAME, file),
    }
    update, table = b"\n", b"xref\n0 0\n"
    for (one, at), body in sorted(objects.items()):
        table += b"%d 1\n%010d %05d n \n" % (one, len(pdf) + len(update), at)
        update += b"%d %d obj\n%s\nendobj\n" % (one, at, body)
    ends = b"trailer\n<< /Size %d /Root %d %d R /Prev %s%s >>\n" % (
        spec + 1, number, generation, start[1], identity(pdf[trailer:]),
    )  # fmt: skip
    place = len(pdf) + len(update)
    return pdf + update + table + ends + b"startxref\n%d\n%%%%EOF\n" % place


def identity(trailer: bytes) -> bytes:
    """The other entries of a trailer that an update repeats: the file's id and its description."""
    kept = b""
    for pattern in (rb"/Info\s+\d+\s+\d+\s+R", rb"/ID\s*\[[^\]]*\]"):
        if found := re.search(pattern, trailer):
            kept += b" " + found[0]
    return kept


def dictionary(pdf: bytes, number: int, generation: int) -> bytes:
    """The text of an object that is a dictionary, from `<<` to its `>>`."""
    begin = re.search(rb"(?:^|[\r\n])%d %d obj\s*<<" % (number, generation), pdf)
    if begin is None:
        raise ValueError("pdf: got one whose catalogue is not plain; expected what the browser prints.")
    at, depth = begin.end() - 2, 0
    for mark in re.finditer(rb"<<|>>", pdf[at:]):
        depth += 1 if mark[0] == b"<<" else -1
        if depth == 0:
            return pdf[at : at + mark.end()]
    raise ValueError("pdf: got one whose catalogue does not end; expected what the browser prints.")


def manifest_in_pdf(pdf: bytes) -> list[str]:
    """The texts of the manifests that are attached to a PDF."""
    found = []
    for mark in FOUND.finditer(pdf):
        content = pdf[mark.end() : mark.end() + int(mark[1])]
        if pdf[mark.end() + int(mark[1]) :].startswith(b"\nendstream"):
            found.append(content.decode("utf-8", errors="replace"))
    return found
