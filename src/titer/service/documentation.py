"""The API as a page for people, made from its own description; it fetches nothing."""

import json
from typing import Any
from xml.etree.ElementTree import Element

from fastapi import FastAPI

from titer.drawing.elements import document, el, table

METHODS = ("get", "post")
BEARER = {"token": {"type": "http", "scheme": "bearer", "description": "The token that the service was started with."}}


def describe_token(app: FastAPI) -> None:
    """Let the description of a service say that everything needs its token; a route may say that it does not."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        described = plain()
        described["components"]["securitySchemes"] = BEARER
        described["security"] = [{"token": []}]
        return described

    app.openapi = openapi  # how FastAPI lets a description be changed


def documentation(openapi: dict[str, Any]) -> str:
    """A page about every route: what it takes and what it gives."""
    info = openapi["info"]
    parts = [
        el("h1", f"{info['title']} {info['version']}"),
        el("p", info["description"], " The same for programs: ", el("a", "openapi.json", href="/openapi.json"), "."),
    ]
    for path, methods in openapi["paths"].items():
        for method in METHODS:
            if method in methods:
                parts += _route(path, method, methods[method], openapi["components"]["schemas"])
    parts.append(el("h2", "Errors"))
    parts.append(el("p", "Every error has the form of ErrorOut: a code for programs, a message that says what to do."))
    parts.append(_schema("ErrorOut", openapi["components"]["schemas"]))
    # The style sheet is the page's own; nothing is inlined, as the content policy demands.
    return document(f"{info['title']} API", el("link", rel="stylesheet", href="/page/report.css"), *parts)


def _route(path: str, method: str, route: dict[str, Any], schemas: dict[str, Any]) -> list[Element]:
    parts = [el("h2", f"{method.upper()} {path}"), el("p", route.get("summary", ""))]
    if parameters := route.get("parameters"):
        rows = [[one["name"], json.dumps(one["schema"])] for one in parameters]
        parts.append(table(["parameter", "form"], rows, numbers_from=9))
    body = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    for name in _names(body):
        parts += [el("h3", f"takes {name}"), _schema(name, schemas)]
    good = route["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema")
    for name in _names(good):
        parts += [el("h3", f"gives {name}"), _schema(name, schemas)]
    return parts


def _names(schema: Any) -> list[str]:
    """The named schemas that a schema refers to."""
    if not isinstance(schema, dict):
        return []
    if "$ref" in schema:
        return [schema["$ref"].rpartition("/")[2]]
    return [name for part in schema.get("anyOf", []) for name in _names(part)]


def _schema(name: str, schemas: dict[str, Any]) -> Element:
    properties = schemas[name].get("properties", {})
    required = set(schemas[name].get("required", []))
    rows = [
        [key, "needed" if key in required else "", _form(value), value.get("description", "")]
        for key, value in properties.items()
    ]
    return table(["key", "", "form", ""], rows, numbers_from=9)


def _form(schema: dict[str, Any]) -> str:
    """A type in few words."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_form(part) for part in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_form(schema['items'])}"
    return str(schema.get("type", "anything"))
