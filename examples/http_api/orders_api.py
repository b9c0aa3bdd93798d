"""The shop's own service: orders over HTTP, for whoever has the key."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "shop-4711-0815"
ORDERS = {
    "7001": {"article": "lamp", "pieces": 3, "city": "Oslo", "state": "open"},
    "7002": {"article": "desk", "pieces": 5, "city": "Rome", "state": "open"},
}


class Orders(BaseHTTPRequestHandler):
    """GET /orders?city=..., GET /orders/NUMBER, POST /orders/NUMBER/cancel."""

    def do_GET(self):
        """Show orders."""
        path, _, city = self.path.partition("?city=")
        if path == "/orders":
            chosen = {number: one for number, one in ORDERS.items() if city in ("", one["city"])}
            return self.answer(200, chosen)
        return self.order(path.split("/")[-1])

    def do_POST(self):
        """Cancel an order."""
        number = self.path.split("/")[2]
        return self.order(number, state="cancelled")

    def order(self, number, **changes):
        """Show one order, with what has changed."""
        if number not in ORDERS:
            return self.answer(404, {"error": f"there is no order {number}"})
        if self.headers["X-Shop-Key"] == KEY:
            ORDERS[number].update(changes)
        return self.answer(200, ORDERS[number])

    def answer(self, status, value):
        """Write JSON, but nothing to strangers."""
        if self.headers["X-Shop-Key"] != KEY:
            status, value = 401, {"error": "the key is wrong"}
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", 8600), Orders).serve_forever()
