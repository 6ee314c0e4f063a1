"""One server: dashboards, notebooks, API, health and metrics on one port, with sign-in where others may come."""
