"""Programs in other languages that try their clients: each is built, run against a server, and says of each check how it went, in a line
"ok NAME" or "FAILED NAME: why"."""

import contextlib
import pathlib
import shutil
import subprocess

import pytest
from server import ROOT

BUILT = ROOT / ".clients"
# Building for the first time downloads; a debug server beside other work is slow.
BUILD_SECONDS = 570
RUN_SECONDS = 500


@contextlib.contextmanager
def needs(what):
    """Skips a test where the server says that it does not have this yet."""
    try:
        yield
    except Exception as error:
        if f"{what} is not implemented" not in str(error):
            raise
        pytest.skip(f"{what} is not implemented yet")


def has_environment(name):
    """Whether a virtual environment is there with what tests/clients/NAME/requirements.txt pins."""
    installed = BUILT / name / "installed.txt"
    return installed.exists() and installed.read_text() == (source(name) / "requirements.txt").read_text()


def environment(name):
    """The programs of a virtual environment with what tests/clients/NAME/requirements.txt pins."""
    folder = BUILT / name
    script = ROOT / "scripts" / "venv.sh"
    requirements = source(name) / "requirements.txt"
    made = subprocess.run([script, folder, requirements], capture_output=True, text=True, timeout=BUILD_SECONDS, check=False)
    assert made.returncode == 0, f"{made.stdout}{made.stderr}"
    return folder / "bin"


def build(language, *needed):
    """Builds the program of a language in a folder of its own, which is returned; skips the test where the language is not installed."""
    missing = [program for program in needed if shutil.which(program) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: the clients of {language} are not tried")
    folder = BUILT / language
    script = ROOT / "scripts" / "client-program.sh"
    built = subprocess.run([script, language, folder], capture_output=True, text=True, timeout=BUILD_SECONDS, check=False)
    assert built.returncode == 0, f"{built.stdout}{built.stderr}"
    return folder


# What Squall does not have yet that checks ask for, by a part of what it says then.
NOT_YET = ("ALTER TABLE of anything but parts, codecs, comments, constraints and settings is not implemented",)


def run_checks(command, least, cwd=None):
    """Runs a program that tries a client. Every check must go well, but for those of what Squall says it does not have; and there must be
    at least so many."""
    command = [str(part) for part in command]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, cwd=cwd, check=False)
    lines = ended.stdout.splitlines()
    failed = [line for line in lines if line.startswith("FAILED ")]
    unexpected = [line for line in failed if not any(words in line for words in NOT_YET)]
    assert not unexpected, "\n".join(unexpected)
    assert ended.returncode == (1 if failed else 0), f"{ended.stdout[-3000:]}{ended.stderr[-3000:]}"
    passed = sum(line.startswith("ok ") for line in lines)
    assert passed >= least, f"{passed} checks ran, of {least}"


def source(language):
    return pathlib.Path(__file__).parent / language
