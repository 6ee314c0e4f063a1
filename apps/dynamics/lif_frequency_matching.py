"""LIF frequency matching: the filter over the data's class information is the hero."""

import panel as pn

from workbench.faces.panel.study_page import study_page

pn.extension("plotly")
study_page("lif-frequency-matching").servable()
