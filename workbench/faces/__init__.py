"""Faces: one study, drawn in a browser, in marimo and in JupyterLab."""
