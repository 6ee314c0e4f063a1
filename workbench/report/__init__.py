"""Reports: a study or a notebook as one file that can be checked."""
