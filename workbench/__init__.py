"""Workbench: what turns a study of a paper into something a person can touch."""
