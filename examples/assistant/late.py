"""late: the orders that cannot be sent, and how many pieces they lack."""

import orders
import stock


def missing(order):
    """How many pieces too few there are."""
    return max(0, order["pieces"] - stock.count(article=order["article"])["pieces"])


lack = [(order["number"], missing(order)) for order in orders.open_orders()["orders"]]
dict(entry for entry in lack if entry[1])
