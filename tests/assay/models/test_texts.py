"""Text of installed packages: there is enough of it, it is the same twice, and a split moves no document."""

import inspect
import pydoc_data.topics

import pytest
from scipy import optimize

from assay.models import Text, installed_text, split_documents
from assay.models.texts import docstrings, scipy_files


@pytest.mark.parametrize(
    ("corpus", "least"), [pytest.param("prose", 2e6, marks=pytest.mark.slow), ("reference", 3e5), ("code", 3e6)]
)
def test_there_is_enough_and_it_is_the_same_twice(corpus, least):
    text = installed_text(corpus)
    assert sum(map(len, text.documents)) > least
    assert len(set(text.documents)) == len(text.documents) and all(one.strip() for one in text.documents)
    assert installed_text(corpus).sha256 == text.sha256


def test_docstrings_are_those_that_python_sees():

    found = docstrings([path for path in scipy_files() if path.name == "_optimize.py"], None)
    assert inspect.getdoc(optimize.OptimizeResult) in found


def test_the_reference_is_what_help_reads():
    assert set(installed_text("reference").documents) == set(pydoc_data.topics.topics.values())


def test_a_longer_corpus_moves_no_document():
    documents = tuple(f"document {i}" for i in range(400))
    kept, held = split_documents(Text("prose", documents[:200], "", ""))
    more_kept, more_held = split_documents(Text("prose", documents, "", ""))
    assert set(kept) <= set(more_kept) and set(held) <= set(more_held)
    assert set(kept) | set(held) == set(documents[:200]) and not set(kept) & set(held)
    assert 20 <= len(more_held) <= 60


def test_what_is_refused():
    with pytest.raises(ValueError, match="corpus: got 'poems'"):
        installed_text("poems")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="held_out: got 1"):
        split_documents(Text("prose", ("a",), "", ""), held_out=1)
