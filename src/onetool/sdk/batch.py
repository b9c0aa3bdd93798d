"""Concurrent processing of many items."""

import contextvars
import inspect
import threading
from collections.abc import Callable, Iterable
from typing import Any

from .forwarding import refuse_on_event_loop
from .progress import is_cancelled, report_progress

Item = Any
MAX_WORKERS = 10


def normalize_items(items: Iterable[Item]) -> list[tuple[Item, str]]:
    """Return (value, label) pairs: `("url", "Site A")` is unchanged, `"a"` becomes `("a", "a")`.

    Raises:
        ValueError: An item is a tuple, but not a pair.
    """
    return [_normalize(item) for item in items]


def _normalize(item: Item) -> tuple[Item, str]:
    if not isinstance(item, tuple):
        return item, str(item)
    if len(item) != 2:
        raise ValueError(f"An item is a value or a (value, label) pair, not a tuple of {len(item)}: {item!r}")
    return item


def batch_execute(items: Iterable[Item], func: Callable[..., Any], max_workers: int | None = None) -> str:
    """Run `func` on all items concurrently and return the outputs in the order of the items.

    Items are values or (value, label) pairs. `func` receives the value, and the label as well if it requires
    two arguments. Each output follows a line `=== label ===`. If an item fails, its output is `Error: ...`
    and the other items still run. `func` may call tools and read secrets. Progress is reported for each
    finished item.

    It blocks until all items are done: in an async tool, use `await to_thread(batch_execute, items, func)`.

    Raises:
        RuntimeError: It is used on an event loop, which the items may need.
        ValueError: `max_workers` is less than 1, or an item is a tuple, but not a pair.
    """
    refuse_on_event_loop("batch_execute()", "await to_thread(batch_execute, items, func)")
    if max_workers is not None and max_workers < 1:
        raise ValueError(f"max_workers must be >= 1, got {max_workers}")
    work = normalize_items(items)
    takes_label = _takes_label(func)
    lock = threading.Lock()
    done = 0

    def run(item: tuple[Item, str]) -> str:
        nonlocal done
        value, label = item
        try:
            output = str(func(value, label) if takes_label else func(value)) if not is_cancelled() else ""
        except Exception as error:  # noqa: BLE001 - an item that fails must not stop the others
            output = f"Error: {error}"
        except BaseException as error:  # noqa: BLE001 - SystemExit would end the thread without an output
            output = f"Error: {type(error).__name__}: {error}"
        with lock:
            done += 1
            report_progress(done, len(work), label)
        return f"=== {label} ===\n{output}"

    return "\n\n".join(map_concurrently(run, work, max_workers or MAX_WORKERS))


def map_concurrently(
    func: Callable[[Any], Any], items: list[Any], max_workers: int = MAX_WORKERS
) -> list[Any]:
    """Return the results of `func` for all items, in order. `func` must not raise."""
    outputs: list[Any] = [None] * len(items)
    queue = iter(range(len(items)))
    lock = threading.Lock()

    def run() -> None:
        while True:
            with lock:
                index = next(queue, None)
            if index is None:
                return
            outputs[index] = func(items[index])

    _run_on_threads(run, min(len(items), max_workers))
    return outputs


def _run_on_threads(run: Callable[[], None], count: int) -> None:
    """Run a function on daemon threads that share the context of the call, and wait for all of them."""
    threads = [
        threading.Thread(
            target=contextvars.copy_context().run, args=(run,), daemon=True, name="onetool-batch"
        )
        for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _takes_label(func: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [
        parameter
        for parameter in parameters
        if parameter.kind in positional and parameter.default is parameter.empty
    ]
    return len(required) == 2
