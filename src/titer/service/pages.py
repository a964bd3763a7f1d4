"""The web page and the API reference."""

from importlib.resources import files

from fastapi import FastAPI, Response
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from titer.service.documentation import documentation

MEDIA_TYPES = {"css": "text/css", "html": "text/html", "js": "text/javascript"}


def add_pages(app: FastAPI) -> None:
    """Add the web page, with its views, and the API reference at /docs to an app."""
    # Read once, so that no path from a request reaches the file system.
    folders = files("titer.service").joinpath("page"), files("titer.drawing")
    parts = [file for folder in folders for file in folder.iterdir()]
    contents = {file.name: file.read_bytes() for file in parts if _ending(file.name) in MEDIA_TYPES}

    @app.get("/", include_in_schema=False)
    @app.get("/question", include_in_schema=False)
    @app.get("/entity", include_in_schema=False)
    @app.get("/relation", include_in_schema=False)
    @app.get("/record", include_in_schema=False)
    @app.get("/facts", include_in_schema=False)
    async def view() -> Response:
        # Every view is the same document: its script reads the address.
        return Response(contents["index.html"], media_type=MEDIA_TYPES["html"])

    @app.get("/page/{name}", include_in_schema=False)
    async def page(name: str) -> Response:
        if name not in contents:
            raise HTTPException(404)
        return Response(contents[name], media_type=MEDIA_TYPES[_ending(name)])

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(documentation(app.openapi()))


def _ending(name: str) -> str:
    return name.rpartition(".")[2]
