"""late: orders that cannot be sent, and how many pieces are missing."""

import orders
import stock


def missing(order):
    """Return how many pieces are missing."""
    return max(0, order["pieces"] - stock.count(article=order["article"])["pieces"])


shortages = [(order["number"], missing(order)) for order in orders.open_orders()["orders"]]
dict(entry for entry in shortages if entry[1])
