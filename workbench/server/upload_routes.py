"""Uploads over HTTP: a file as the body of a request, taken in as it comes; several make a folder."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request
from prometheus_client import Counter

from workbench.controls import ControlError
from workbench.server.api_models import FolderAsked, UploadSeen
from workbench.server.permission import may_run
from workbench.uploads import Upload, keep_folder

__all__ = ["upload_routes"]

PIECE = 1024**2  # bytes that are written at once


async def take_in(request: Request, upload: Upload) -> None:
    """Write the body of a request as it comes, in pieces that are worth a thread's while."""
    piece = bytearray()
    async for part in request.stream():
        piece += part
        if len(piece) >= PIECE:
            await asyncio.to_thread(upload.write, bytes(piece))
            piece.clear()
    await asyncio.to_thread(upload.write, bytes(piece))


def upload_routes(routes: APIRouter, kept: Counter) -> None:
    """Add them.

    Args:
        routes: of the API.
        kept: counts the bytes of uploads.
    """

    @routes.post(
        "/uploads", tags=["uploads"], status_code=201, summary="Upload a file: data or weights",
        openapi_extra={
            "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}
        },
    )  # fmt: skip
    async def upload(
        request: Request, name: Annotated[str, Query(description="The file's name, such as mine.npz.", max_length=300)]
    ) -> UploadSeen:
        """The body is the file. Its kind is told by its content; pickles and archives that unpack to far more than
        they hold are refused. Values of controls may then name the reference."""
        who = may_run()
        said = request.headers.get("content-length", "")
        try:
            with Upload(name, who.name, int(said) if said.isdecimal() else None) as file:
                await take_in(request, file)
                source = await asyncio.to_thread(file.keep)
        except ControlError:
            raise
        except ValueError as error:
            raise ControlError("file", f"{error}") from None
        kept.inc(file.size)
        return UploadSeen.of(source)

    @routes.post("/uploads/folder", tags=["uploads"], status_code=201, summary="Make a folder of several uploads")
    def folder(asked: FolderAsked) -> UploadSeen:
        """For a checkpoint or a recording that is several files: upload each, then name them here."""
        return UploadSeen.of(keep_folder(asked.name, asked.files, may_run().name))
