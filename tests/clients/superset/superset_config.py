"""What the tests need of Superset's configuration: the rest is as it comes."""

import os

SECRET_KEY = "for tests alone, which keep nothing secret"
SQLALCHEMY_DATABASE_URI = f"sqlite:///{os.environ['SUPERSET_METADATA']}"
