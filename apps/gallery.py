"""All studies as cards: question, picture, cost and what is known of their claims."""

import panel as pn

from workbench.faces.panel.gallery import gallery_page

pn.extension()
gallery_page().servable()
