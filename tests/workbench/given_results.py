"""Results as a claim's fixtures need them: the rows that it reads, and zeros elsewhere."""

from workbench.results import Result, Table
from workbench.study import Study

BLANK = {"str": "", "int": 0, "bool": False}


def given_result(study: Study, experiment: str, **tables) -> Result:
    """A complete result of an experiment from rows; columns that a claim does not read are filled with zeros."""
    return Result(
        {
            name: Table(
                columns,
                [
                    {**{c: BLANK.get(column.dtype, 0.0) for c, column in columns.items()}, **row}
                    for row in tables.get(name, [])
                ],
            )
            for name, columns in study.experiments[experiment].tables.items()
        },
        complete=True,
    )
