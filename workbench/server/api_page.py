"""The API's page: every request with its parameters, what it takes and gives, and a command that makes it.

Made here from the API's own description, so that it needs nothing from elsewhere and works without a script; the script
only fills in addresses and sends what reads.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from workbench.faces.panel.page import plain_page

__all__ = ["api_page"]

HERE = Path(__file__).parent


def api_page(described: dict[str, Any]) -> str:
    """The page, from an OpenAPI description."""
    schemas = described["components"]["schemas"]
    groups: dict[str, list[str]] = {}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            groups.setdefault(operation["tags"][0], []).append(operation_html(path, method, operation, schemas))
    contents = "".join(f'<li><a href="#{name}">{name.capitalize()}</a></li>' for name in groups)
    sections = "".join(
        f'<section id="{name}" aria-labelledby="{name}-h"><h2 id="{name}-h">{name.capitalize()}</h2>'
        f"{''.join(found)}</section>"
        for name, found in groups.items()
    )
    main = (
        f'<header class="ga-head"><h1>API</h1><p>{escape(described["info"]["description"]).replace("`", "")} '
        'The same as data: <a href="openapi.json">openapi.json</a>.</p></header>'
        f'<div class="ap"><nav aria-label="Groups"><ul>{contents}</ul></nav><div>{sections}</div></div>'
        f"<style>{(HERE / 'api_page.css').read_text('utf-8')}</style>"
        f"<script>{(HERE / 'api_page.js').read_text('utf-8')}</script>"
    )
    return plain_page("Assay – API", main, here="api/")


def operation_html(path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    """One request, folded."""
    parameters = operation.get("parameters", [])
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    good = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
    kinds = good.get("content", {})
    parts = [f"<p>{escape(operation['description'])}</p>" if operation.get("description") else ""]
    if parameters:
        rows = "".join(parameter_row(parameter, schemas) for parameter in parameters)
        parts.append(f'<h4>Parameters</h4><div class="ap-scroll"><table><tbody>{rows}</tbody></table></div>')
    if body is not None:
        parts.append(f"<h4>Takes</h4>{fields(body, schemas)}")
    if "text/event-stream" in kinds:
        parts.append(f"<h4>Gives</h4><p>{escape(good['description']).replace('`', '')}</p>")
    elif kinds:
        parts.append(f"<h4>Gives</h4>{fields(kinds['application/json']['schema'], schemas)}")
    parts.append(command(path, method, body, schemas))
    reads = method == "get" and "text/event-stream" not in kinds
    if reads:
        parts.append(
            '<button class="as-btn" type="button" data-send>Send</button><pre class="as-code" data-answer hidden></pre>'
        )
    return (
        f'<details class="ap-op" data-method="{method}" data-path="{escape(path)}"><summary><code class="ap-m">'
        f"{method.upper()}</code><code>{escape(path)}</code><span>{escape(operation['summary'])}</span></summary>"
        f"<div>{''.join(parts)}</div></details>"
    )


def parameter_row(parameter: dict[str, Any], schemas: dict[str, Any]) -> str:
    name, place = parameter["name"], parameter["in"]
    given = parameter["schema"].get("default")
    field = (
        f'<input class="as-field" aria-label="{escape(name)}" name="{escape(name)}" data-in="{place}" '
        f'value="{"" if given is None else escape(str(given))}"{" required" if parameter.get("required") else ""}>'
    )
    kind = kind_of(parameter["schema"], schemas)
    return f"<tr><th>{escape(name)}</th><td>{kind}, in the {place}</td><td>{field}</td></tr>"


def target(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """What a reference stands for."""
    return schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def kind_of(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    """The kind of a value, in words."""
    if "$ref" in schema:
        return kind_of(target(schema, schemas), schemas)
    if "anyOf" in schema:
        return " or ".join(kind_of(part, schemas) for part in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(escape(str(value)) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {kind_of(schema.get('items', {}), schemas)}"
    kind = str(schema.get("type", "any value"))
    return {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(kind, kind)


def fields(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    """A table of the fields of an object; the kind in words for anything else."""
    inner = schema.get("items", {}) if schema.get("type") == "array" else schema
    found = target(inner, schemas)
    if "properties" not in found:
        return f"<p>{kind_of(schema, schemas)}</p>"
    rows = "".join(
        f"<tr><th>{escape(name)}{'' if name in found.get('required', ()) else '?'}</th>"
        f"<td>{kind_of(part, schemas)}</td><td>{escape(part.get('description', ''))}</td></tr>"
        for name, part in found["properties"].items()
    )
    many = "<p>A list of:</p>" if inner is not schema else ""
    return f'{many}<div class="ap-scroll"><table><tbody>{rows}</tbody></table></div>'


def example(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """The fields that must be given, with a value of their kind."""
    found = target(schema, schemas)
    return {name: f"<{name}>" for name in found.get("required", ())}


def command(path: str, method: str, body: dict[str, Any] | None, schemas: dict[str, Any]) -> str:
    """The request as a command; the script puts the server's own address in."""
    parts = ["curl -H 'Authorization: Bearer TOKEN'"]
    if method != "get":
        parts.append(f"-X {method.upper()}")
    if body is not None:
        parts.append(f"-H 'Content-Type: application/json' -d '{json.dumps(example(body, schemas))}'")
    parts.append(f'"<span data-base></span>{escape(path)}"')
    text = " ".join(escape(part) if not part.startswith('"<span') else part for part in parts)
    return f'<h4>Command</h4><pre class="as-code">{text}</pre>'
