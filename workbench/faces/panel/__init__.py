"""The browser face: pages served by Panel, drawn by our own parts, without a request to another host."""
