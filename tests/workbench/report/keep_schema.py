"""Write the JSON Schema of a report's manifest beside its code: `python tests/workbench/report/keep_schema.py`."""

import json
from pathlib import Path

from workbench.report import manifest_schema

SCHEMA_FILE = Path(manifest_schema.__file__).with_name("manifest.schema.json")


def text() -> str:
    """The schema as it follows from the code."""
    schema = manifest_schema.Manifest.model_json_schema(by_alias=True)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"assay-manifest-{manifest_schema.SCHEMA}",
    }
    return json.dumps(head | schema, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(text(), encoding="utf-8")
