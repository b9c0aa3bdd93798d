"""Files in memory, by which a process gives data to a program that it starts."""

import os


def open_memory_file(name: str, content: bytes) -> int:
    """Return a descriptor from which the content can be read. It is inherited by programs."""
    descriptor = os.memfd_create(name, 0)
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
