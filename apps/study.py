"""Any study, as `study?study=SLUG`: controls, live views, experiments and claims."""

import panel as pn

from workbench.faces.panel.study_page import study_page

pn.extension("plotly")
study_page().servable()
