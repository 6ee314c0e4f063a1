"""Whether the process lives, and whether it can serve: what a supervisor or a load balancer asks."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress

from fastapi import APIRouter
from fastapi.responses import JSONResponse, PlainTextResponse

from workbench.registry import registry
from workbench.run_watch import run_watch
from workbench.store import Store, StoreError
from workbench.study import StudyError

__all__ = ["Readiness", "health_routes"]


class Readiness:
    """What must be there before pages answer quickly.

    Attributes:
        studies: set once all studies are imported.
        store: set once the store is open.
    """

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self.studies, self.store = threading.Event(), threading.Event()

    def prepare(self) -> None:
        """Begin, in a thread of its own."""
        threading.Thread(target=self._prepare, name="assay-load", daemon=True).start()

    def _prepare(self) -> None:
        try:
            for card in registry().cards():
                with suppress(StudyError):  # one that cannot be imported is a card that says why
                    registry().get(card.slug)
        finally:
            self.studies.set()
        try:
            if self._store is not None:
                self._store.open()
            self.store.set()
            run_watch().rows()  # the first page that lists runs need not wait
        except StoreError as error:
            logging.getLogger(__name__).error("%s", error)

    @property
    def waiting(self) -> list[str]:
        """What is not there, in words; nothing once pages answer."""
        folder = self._store.folder if self._store is not None else None
        closed = folder is not None and folder.exists() and not os.access(folder, os.W_OK)
        there = {"studies": self.studies.is_set(), "store": self.store.is_set() and not closed}
        return [name for name, yes in there.items() if not yes]


def health_routes(readiness: Readiness) -> APIRouter:
    """`/healthz` and `/readyz`, which need no sign-in and tell nothing else."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/healthz", response_class=PlainTextResponse)
    async def healthz() -> str:
        return "alive\n"

    @routes.get("/readyz")
    def readyz() -> JSONResponse:
        waiting = readiness.waiting
        return JSONResponse({"ready": not waiting, "waiting": waiting}, status_code=503 if waiting else 200)

    return routes
