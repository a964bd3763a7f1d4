"""The API reference at /docs, generated from the OpenAPI description; it loads nothing from elsewhere."""

from typing import Any
from xml.etree.ElementTree import Element

from fastapi import FastAPI

from titer.drawing.elements import document, el, table

METHODS = ("get", "post")
BEARER = {"token": {"type": "http", "scheme": "bearer", "description": "The token the service was started with."}}


def describe_token(app: FastAPI) -> None:
    """Declare in the OpenAPI description that routes need the token, unless a route says otherwise."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        described = plain()
        described["components"]["securitySchemes"] = BEARER
        described["security"] = [{"token": []}]
        return described

    app.openapi = openapi  # FastAPI's documented way to change the description


def documentation(openapi: dict[str, Any]) -> str:
    """Return an HTML page that lists every route with its request and response."""
    info = openapi["info"]
    parts = [
        el("h1", f"{info['title']} {info['version']}"),
        el("p", info["description"], " OpenAPI description: ", el("a", "openapi.json", href="/openapi.json"), "."),
    ]
    schemas = openapi["components"]["schemas"]
    for path, methods in openapi["paths"].items():
        for method in METHODS:
            if method in methods:
                parts += _route(path, method, methods[method], schemas)
    parts.append(el("h2", "Types"))
    for name in _nested(openapi["paths"], schemas):
        parts += [el("h3", _title(name)), _schema(name, schemas)]
    parts.append(el("h2", "Errors"))
    parts.append(el("p", "Every error is an ErrorOut: a code for programs, and a message that says what to do."))
    parts += [_schema("ErrorOut", schemas), el("h3", "ProblemOut"), _schema("ProblemOut", schemas)]
    # A linked style sheet, since the content security policy forbids inline styles.
    return document(f"{info['title']} API", el("link", rel="stylesheet", href="/page/style.css"), *parts)


def _route(path: str, method: str, route: dict[str, Any], schemas: dict[str, Any]) -> list[Element]:
    parts = [el("h2", f"{method.upper()} {path}"), el("p", route.get("summary", ""))]
    if parameters := route.get("parameters"):
        parts.append(table(["parameter", "", "type", "description"], [_parameter(one) for one in parameters], 9))
    body = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    for name in _names(body):
        parts += [el("h3", f"Request: {_title(name)}"), _schema(name, schemas)]
    good = route["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema")
    for name in _names(good):
        parts += [el("h3", f"Response: {_title(name)}"), _schema(name, schemas)]
    return parts


def _parameter(parameter: dict[str, Any]) -> list[str]:
    """Return the row of a parameter in the address."""
    schema, description = parameter["schema"], parameter.get("description", "")
    if schema.get("default") is not None:
        description = f"{description} Default: {schema['default']}.".strip()
    required = "required" if parameter.get("required") else ""
    return [parameter["name"], required, _form(schema), description]


def _nested(paths: dict[str, Any], schemas: dict[str, Any]) -> list[str]:
    """Return the named schemas inside of requests and responses, which routes mention by name only."""
    shown, found = _references(paths), set[str]()
    waiting = [*shown]
    while waiting:
        inner = _references(schemas[waiting.pop()]) - found
        found |= inner
        waiting += inner
    # Schemas with a suffix differ from each other only in what has a default.
    titles = {_title(name): name for name in sorted(found - shown - {"ProblemOut"})}
    return [titles[title] for title in sorted(titles)]


def _references(value: Any) -> set[str]:
    """Return the names of all schemas that a part of the description refers to."""
    if isinstance(value, list):
        return set[str]().union(*map(_references, value))
    if not isinstance(value, dict):
        return set()
    own = {value["$ref"].rpartition("/")[2]} if "$ref" in value else set[str]()
    return own.union(*map(_references, value.values()))


def _names(schema: Any) -> list[str]:
    """Return the named schemas that a schema refers to."""
    if not isinstance(schema, dict):
        return []
    if "$ref" in schema:
        return [schema["$ref"].rpartition("/")[2]]
    return [name for part in (*schema.get("anyOf", []), *schema.get("oneOf", [])) for name in _names(part)]


def _schema(name: str, schemas: dict[str, Any]) -> Element:
    properties = schemas[name].get("properties", {})
    required = set(schemas[name].get("required", []))
    rows = [
        [key, "required" if key in required else "", _form(value), value.get("description", "")]
        for key, value in properties.items()
    ]
    return table(["key", "", "type", "description"], rows, numbers_from=9)


def _form(schema: dict[str, Any]) -> str:
    """Return a short name of a type."""
    if "$ref" in schema:
        return _title(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(_form(part) for part in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_form(schema['items'])}"
    return str(schema.get("type", "anything"))


def _title(name: str) -> str:
    """Return the name of a schema without the suffix it has where requests and responses differ."""
    return name.removesuffix("-Output").removesuffix("-Input")
