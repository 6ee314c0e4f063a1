"""Every formula becomes MathML, or the report stops and names it."""

from __future__ import annotations

import re

import pytest
from bs4 import BeautifulSoup

from workbench.controls import ControlError
from workbench.places import notebooks_folder
from workbench.registry import registry
from workbench.report.maths import mathml
from workbench.report.prose import markdown_html

HARD = (
    r"\sum_{\substack{i < n \\ j < m}} x_{ij}",
    r"\begin{split}a&=b\\c&=d\end{split}",
    r"\begin{cases}1&x>0\\0&\text{else}\end{cases}",
    r"\operatorname*{arg\,max}_{x \in \R} \E[f(x)]",
    r"\left\lVert \frac{\partial L}{\partial W} \right\rVert_F^2",
    r"\tilde H(\omega;\beta) = \frac{(1-\beta)^2}{(1-\beta)^2 + 2\beta(1-\cos\omega)}",
    r"\widetilde{W} = U \Sigma V^\top",
    r"\begin{align}a&=b\\c&=d\end{align}",
    r"\begin{bmatrix}1&2\\3&4\end{bmatrix}",
    r"\mathbb{E}_{x\sim p}\!\left[\log \hat{p}(x)\right]",
)


@pytest.mark.parametrize("tex", HARD)
def test_hard_formulas_become_mathml_with_their_tex(tex):
    soup = BeautifulSoup(mathml(tex, display=True), "html.parser")
    assert soup.math["display"] == "block"
    assert soup.find("annotation", encoding="application/x-tex") is not None
    assert soup.find("merror") is None
    assert "&" not in soup.find("semantics").contents[0].get_text()


@pytest.mark.parametrize("tex", [r"\frac{a}{", r"\nosuchcommand x", "a & b", r"\begin{align}a\end{cases}"])
def test_a_formula_that_cannot_be_set_is_named(tex):
    with pytest.raises(
        ControlError, match=r"^equation: got .* cannot be set as MathML \(\w.*\); expected TeX"
    ) as caught:
        mathml(tex)
    assert tex.split("{")[0].replace("\\", "") in str(caught.value).replace("\\", "")
    assert "\x1b" not in str(caught.value) and "\n" not in str(caught.value)


def test_every_formula_of_every_notebook_and_study_becomes_mathml():
    count = 0
    for path in notebooks_folder().glob("*/*.py"):
        for text in re.findall(r'mo\.md\(\s*rf?"""(.*?)"""', path.read_text("utf-8"), re.S):
            for span in BeautifulSoup(markdown_html(text), "html.parser").find_all("span", class_="tex"):
                mathml(span.get_text(), display=bool(span.get("data-display")))
                count += 1
    for slug in registry().places:
        study = registry().get(slug)
        for equation in [g.equation for g in study.groups.values()] + [v.equation for v in study.views.values()]:
            if equation:
                mathml(equation, display=True)
                count += 1
    assert count > 10
