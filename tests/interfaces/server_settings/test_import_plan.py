"""Plans of imports: the names of the secrets that they would store."""

from onetool.interfaces.server_settings.import_plan import plan_import
from onetool.settings.configuration import Configuration
from onetool.settings.paths import find_paths
from onetool.settings.secrets import Secrets


def test_secret_that_is_unavailable_is_not_replaced(home):
    """Its value is elsewhere, and its name in the file is not free."""
    paths = find_paths(home.env, home.cwd)
    entries = {"notes": {"command": "notes", "env": {"API_TOKEN": "t0ken-0123456789abcdef"}}}
    (free,) = plan_import(entries, Configuration(paths=paths), ())
    (name,) = free.secrets
    configuration = Configuration(paths=paths, secrets=Secrets(unavailable={name: "'op' printed nothing"}))
    (planned,) = plan_import(entries, configuration, ())
    assert planned.status == "new"
    assert name not in planned.secrets
    assert len(planned.secrets) == 1
