"""The order service of the shop: an HTTP API that requires a key."""

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
        """List orders or show one."""
        path, _, city = self.path.partition("?city=")
        if path == "/orders":
            matches = {number: order for number, order in ORDERS.items() if city in ("", order["city"])}
            return self.reply(200, matches)
        return self.order(path.split("/")[-1])

    def do_POST(self):
        """Cancel an order."""
        number = self.path.split("/")[2]
        return self.order(number, state="cancelled")

    def order(self, number, **changes):
        """Update an order and return it."""
        if number not in ORDERS:
            return self.reply(404, {"error": f"order {number} not found"})
        if self.headers["X-Shop-Key"] == KEY:
            ORDERS[number].update(changes)
        return self.reply(200, ORDERS[number])

    def reply(self, status, value):
        """Send JSON if the key is valid."""
        if self.headers["X-Shop-Key"] != KEY:
            status, value = 401, {"error": "invalid key"}
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", 8600), Orders).serve_forever()
