"""Many items at once: `batch_execute` and the labels it shows."""

import contextvars
import inspect
import threading
from collections.abc import Callable, Iterable
from typing import Any

from .progress import is_cancelled, report_progress

Item = Any
MOST_WORKERS = 10


def normalize_items(items: Iterable[Item]) -> list[tuple[Item, str]]:
    """Give every item a label: `("url", "Site A")` has one already, `"a"` becomes `("a", "a")`."""
    return [item if isinstance(item, tuple) else (item, str(item)) for item in items]


def batch_execute(items: Iterable[Item], func: Callable[..., Any], max_workers: int | None = None) -> str:
    """Run `func` on every item, several at a time, and return all outputs in the order of the items.

    Items are values or (value, label) pairs. `func` gets the value, and the label too if it requires two
    arguments. Each output stands below a line `=== label ===`; an item that fails says `Error: ...` there
    and stops no other. `func` may call tools and read secrets, and progress is reported as items finish.
    """
    work = normalize_items(items)
    takes_label = _takes_label(func)
    lock = threading.Lock()
    done = 0

    def run(item: tuple[Item, str]) -> str:
        nonlocal done
        value, label = item
        try:
            output = str(func(value, label) if takes_label else func(value)) if not is_cancelled() else ""
        except Exception as error:  # noqa: BLE001 - one item never stops the others
            output = f"Error: {error}"
        with lock:
            done += 1
            report_progress(done, len(work), label)
        return f"=== {label} ===\n{output}"

    return "\n\n".join(in_parallel(run, work, max_workers or MOST_WORKERS))


def in_parallel(func: Callable[[Any], Any], items: list[Any], most: int = MOST_WORKERS) -> list[Any]:
    """Return what `func` returns for each item, several at a time; it must not raise."""
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

    _run_on_threads(run, min(len(items), most))
    return outputs


def _run_on_threads(run: Callable[[], None], number: int) -> None:
    """Run a function on daemon threads that know the calling tool, and wait for them all."""
    threads = [
        threading.Thread(
            target=contextvars.copy_context().run, args=(run,), daemon=True, name="onetool-batch"
        )
        for _ in range(number)
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
    required = [one for one in parameters if one.kind in positional and one.default is one.empty]
    return len(required) == 2
