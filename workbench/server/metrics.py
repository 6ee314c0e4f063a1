"""Numbers for Prometheus: requests, pages, sockets, jobs, memory.

They are for this machine, or for who holds an admin's token: names of studies and loads are nobody else's business.
"""

from __future__ import annotations

import time
from collections import Counter as Count
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from fastapi.responses import Response
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from workbench.job import State
from workbench.pool import POOL
from workbench.server.asgi import App, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from bokeh_fastapi import BokehFastAPI

    from workbench.runner import Runner

__all__ = ["Meter", "Metrics", "metrics_routes"]

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What is counted of one server.

    Args:
        runner: gives the runner whose jobs are counted, once there is one.
    """

    def __init__(self, runner: Callable[[], Runner]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "assay_http_requests", "Requests by route and status.", ["method", "route", "status"],
            registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "assay_http_request_seconds", "Time from request to the end of its answer.", ["route"],
            buckets=SECONDS, registry=self.registry,
        )  # fmt: skip
        self.refused = Counter(
            "assay_sign_in_failures", "Tries to sign in that were refused, by reason.", ["reason"],
            registry=self.registry,
        )  # fmt: skip
        self.uploads = Counter("assay_upload_bytes", "Bytes of uploads that were kept.", registry=self.registry)
        self.sockets = 0
        self.pages: BokehFastAPI | None = None
        self._runner = runner
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self.registry.register(self)

    def collect(self) -> Iterator[Any]:
        """What is measured when somebody asks."""
        jobs = Count(str(job.state) for job in self._runner().jobs())
        by_state = GaugeMetricFamily("assay_jobs", "Jobs of this process by state.", labels=["state"])
        for state in State:
            by_state.add_metric([str(state)], jobs[str(state)])
        yield by_state
        contexts = self.pages._applications.values() if self.pages is not None else ()
        live = sum(len(context._sessions) for context in contexts)
        yield GaugeMetricFamily("assay_pages", "Study pages, galleries and lists that are open.", value=live)
        yield GaugeMetricFamily("assay_sockets", "Sockets that are open.", value=self.sockets)
        yield GaugeMetricFamily("assay_pool_bytes", "Bytes of prepared values that are kept.", value=POOL.used)


class Meter:
    """Counts requests and open sockets."""

    def __init__(self, app: App, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            self.metrics.sockets += 1
            try:
                await self.app(scope, receive, send)
            finally:
                self.metrics.sockets -= 1
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, counted)
        finally:
            route = getattr(scope.get("route"), "path", "") or "other"  # of our making: an address is anybody's
            self.metrics.requests.labels(scope["method"], route, status).inc()
            self.metrics.seconds.labels(route).observe(time.perf_counter() - began)


def metrics_routes(metrics: Metrics) -> APIRouter:
    """`/metrics`; who may ask is settled before."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/metrics")
    def show() -> Response:
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    return routes
