"""Assay: methods of machine-learning papers, as functions of arrays and tensors."""
