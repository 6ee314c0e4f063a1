"""All runs: what ran, how it ended, and several of them beside each other."""

import panel as pn

from workbench.faces.panel.runs import runs_page

pn.extension("plotly")
runs_page().servable()
