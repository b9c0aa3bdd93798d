"""The files of the user in the tasks: the same in every home."""

import json
import os
import random
import sqlite3
import subprocess
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

from benchmarks.agents.workbook import write_workbook

SEED = 7
COUNTRIES = ("Austria", "Brazil", "Chile", "Denmark", "Estonia", "Finland")
FIRST = ("Alma", "Bruno", "Carla", "Dario", "Elena", "Felix", "Greta", "Hugo", "Ines", "Jonas")
LAST = ("Moreau", "Novak", "Olsen", "Petrov", "Quist", "Rossi", "Silva", "Tamm")
PRODUCTS = (
    ("Lantern", "garden", 2490),
    ("Watering can", "garden", 1995),
    ("Rake", "garden", 3315),
    ("Kettle", "kitchen", 4550),
    ("Bread knife", "kitchen", 2875),
    ("Pan", "kitchen", 3960),
    ("Desk lamp", "office", 5225),
    ("Stapler", "office", 1140),
)
SERVICES = ("auth", "billing", "cart", "search")
PEOPLE = ("Mara", "Teo", "Ivo", "Lin")
JOBS = (
    "order the new chairs",
    "call the caterer",
    "renew the certificate",
    "review the contract",
    "book the train",
    "update the price list",
    "print the badges",
    "test the backup",
    "write the invitation",
    "return the projector",
    "pay the deposit",
    "clean the archive",
)
HANDLER = "<script>\n  track('visit');\n</script>\n"
COPY, HEADER = "#!/bin/sh\nrsync -a . web:/srv\n", "set_header X-Frame-Options DENY\n"
COMMITS = (
    ("Ada Byron", "Add the start page", {"index.html": "<h1>Welcome</h1>\n", "style.css": "body {}\n"}),
    ("Ben Okri", "Add the deployment script", {"deploy.sh": COPY}),
    ("Ada Byron", "Choose a font", {"style.css": "body { font-family: serif }\n"}),
    ("Cleo Maas", "Harden the responses", {"deploy.sh": COPY + HEADER}),
    ("Ada Byron", "Count the visits", {"index.html": f"<h1>Welcome</h1>\n{HANDLER}"}),
    ("Ben Okri", "Speed up the deployment", {"deploy.sh": COPY.replace("-a", "-az") + HEADER}),
    ("Ada Byron", "Add a footer", {"index.html": f"<h1>Welcome</h1>\n{HANDLER}<footer>2025</footer>\n"}),
)
ENTITIES = {
    "Kim": None,
    "Boris": "Kim",
    "Chen": "Kim",
    "Dalia": "Boris",
    "Emil": "Chen",
    "Farah": "Boris",
    "Goran": "Dalia",
}
"""People in the knowledge graph, and to whom they report."""
PARCELS = tuple(
    {
        "id": f"P-{100 + number}",
        "status": ("in transit", "delivered", "held at customs")[number * 7 % 3 if number % 4 else 2],
        "destination": ("Oslo", "Lisbon", "Prague", "Turin", "Ghent")[number * 3 % 5],
        "weight_grams": 350 + number * 7919 % 4703,
    }
    for number in range(23)
)


def write_samples(work: Path, state: Path) -> None:
    """Write the files of the user to `work`, and what servers stored earlier to `state`."""
    chance = random.Random(SEED)
    _write(work / "logs/server.log", _log(chance))
    _write(work / "sales.csv", _sales(chance))
    _write(work / "inventory.json", _inventory(chance))
    _write_notes(work / "notes", chance)
    _write_shop(work / "shop.db", chance)
    _write_small_files(work)
    write_workbook(work / "budget.xlsx", _budget())
    _write_repository(work / "site")
    _write(state / "memory.jsonl", "".join(json.dumps(line) + "\n" for line in _graph()))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _log(chance: random.Random) -> str:
    """Return a log of 4,000 lines, too long to be shown at once."""
    lines = list[str]()
    for number in range(4_000):
        day, second = divmod(number * 97, 86_400)
        level = chance.choices(("INFO", "WARN", "ERROR"), (88, 9, 3))[0]
        clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        took, service = int(chance.paretovariate(1.6) * 20), chance.choice(SERVICES)
        at = f"2026-03-{day + 2:02}T{clock}"
        lines.append(f"{at} {level:5} {service} request=r{number:05} took={took}ms")
    return "\n".join(lines) + "\n"


def _sales(chance: random.Random) -> str:
    rows = ["date,region,product,units,revenue"]
    for number in range(600):
        day = date(2026, 1, 1) + timedelta(days=number * 364 // 600)
        units, (product, _, cents) = chance.randint(1, 30), chance.choice(PRODUCTS)
        region = chance.choice(("north", "east", "south", "west"))
        rows.append(f"{day},{region},{product},{units},{units * cents / 100:.2f}")
    return "\n".join(rows) + "\n"


def _inventory(chance: random.Random) -> str:
    items = [
        {"sku": f"S{number:03}", "stock": chance.randint(0, 90), "reorder_at": chance.randint(5, 40)}
        for number in range(60)
    ]
    return json.dumps({"warehouse": "Tartu", "items": items}, indent=1) + "\n"


def _write_notes(folder: Path, chance: random.Random) -> None:
    jobs = iter(JOBS)
    for number in range(6):
        day = date(2026, 2, 3) + timedelta(days=7 * number)
        talk = " ".join(chance.choice(("We discussed the fair.", "The hall is booked.", "Costs rise."))
                        for _ in range(chance.randint(3, 12)))  # fmt: skip
        actions = [
            f"ACTION {PEOPLE[(number + turn * 3) % 4]}: {next(jobs)}, due {day + timedelta(days=9 + turn)}"
            for turn in range(2)
        ]
        _write(folder / f"{day}.md", f"# Meeting of {day}\n\n{talk}\n\n" + "\n".join(actions) + "\n")


def _write_shop(file: Path, chance: random.Random) -> None:
    names = [f"{first} {last}" for first in FIRST for last in LAST[:4]]
    with closing(sqlite3.connect(file)) as database, database:
        database.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, country TEXT);"
            "CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, category TEXT, price_cents INTEGER);"
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, product_id INTEGER,"
            " quantity INTEGER, ordered_on TEXT);"
        )
        people = [(name, chance.choice(COUNTRIES)) for name in names]
        database.executemany("INSERT INTO customers (name, country) VALUES (?, ?)", people)
        database.executemany("INSERT INTO products (name, category, price_cents) VALUES (?, ?, ?)", PRODUCTS)
        buyers = chance.sample(range(1, 41), 33)
        orders = [
            (chance.choice(buyers), chance.randint(1, 8), chance.randint(1, 9), f"2026-{1 + n // 75:02}-15")
            for n in range(600)
        ]
        columns = "customer_id, product_id, quantity, ordered_on"
        database.executemany(f"INSERT INTO orders ({columns}) VALUES (?, ?, ?, ?)", orders)


def _budget() -> list[tuple[str | int, ...]]:
    departments = ("IT", "Sales", "HR")
    amounts = [(departments[n * 5 % 3], f"Item {n}", 140 + n * n * 13) for n in range(1, 25)]
    return [("Department", "Item", "Amount"), *amounts]


def _write_small_files(work: Path) -> None:
    _write(work / "drafts/letter.txt", "Dear Globex,\nthank you for the visit. We like Globex.\n")
    _write(work / "drafts/offer.txt", "Offer for Globex\nValid until June.\n")
    _write(work / "drafts/plan.txt", "Plan\n\nGoal: open the shop in May\nBudget: 40,000\nRisks: none\n")
    _write(work / "drafts/2026/memo.txt", "globex.example is not ours. Globex is a customer.\n")
    for name in ("a.tmp", "b.tmp", "keep.txt", "scan.pdf.tmp"):
        _write(work / "inbox" / name, f"content of {name}\n")


def _write_repository(folder: Path) -> None:
    """Create a Git repository with a history, and a change that is not committed."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Ada Byron")
    git(folder, "config", "user.email", "ada@example.com")
    for number, (author, subject, files) in enumerate(COMMITS):
        for name, text in files.items():
            _write(folder / name, text)
        at = f"2026-01-{10 + number}T10:00:00+00:00"
        env = {"GIT_AUTHOR_NAME": author, "GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", subject, env=env)
    git(folder, "branch", "feature/search", "HEAD~2")
    page = folder / "index.html"
    _write(page, page.read_text(encoding="utf-8").replace("2025", "2026"))


def git(folder: Path, *words: str, env: dict[str, str] | None = None) -> str:
    """Run Git in a repository, without the configuration of the user, and return its output."""
    isolated = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(folder), *words]
    done = subprocess.run(
        command,
        env=os.environ | isolated | (env or {}),
        check=True,
        timeout=60,
        capture_output=True,
        text=True,
    )
    return done.stdout


def _graph() -> list[dict[str, object]]:
    people: list[dict[str, object]] = [
        {
            "type": "entity",
            "name": name,
            "entityType": "person",
            "observations": ["likes tea"] if name == "Boris" else [],
        }
        for name in ENTITIES
    ]
    relations: list[dict[str, object]] = [
        {"type": "relation", "from": name, "to": boss, "relationType": "reports to"}
        for name, boss in ENTITIES.items()
        if boss
    ]
    return people + relations
