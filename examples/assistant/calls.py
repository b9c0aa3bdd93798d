"""calls: the calls in the notes, with their times in UTC."""

import json

import clock
import notes


def in_utc(line):
    """Return a name and the time of the call in UTC."""
    name, zone, time = line.split(", ")
    converted = clock.convert_time(source_timezone=zone, time=time, target_timezone="UTC")
    return name, json.loads(converted)["target"]["datetime"][11:16]


text = notes.read_text_file(path="calls.txt")
dict(in_utc(line) for line in text.splitlines())
