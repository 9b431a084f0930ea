"""Small commands that make no run."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from waspbench.cli.options import Json, Quiet
from waspbench.cli.status import Status
from waspbench.errors import CannotRunError, InputError
from waspbench.tabular import aligned

if TYPE_CHECKING:
    from waspbench.experiment import Profile


def serve(
    *,
    address: Annotated[str, Parameter(metavar="IP", show_default=True, help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int,
        Parameter(
            metavar="N", show_default=True, validator=Number(gte=0, lte=65535), help="Port; 0 lets the kernel choose."
        ),
    ] = 8080,
) -> int:
    """Run the built-in web server until Ctrl-C: it answers /N with N bytes."""
    from waspbench.serve import serve as serve_here

    try:
        serve_here(address, port, lambda url: print(f"serving {url} (/N is answered with N bytes)", file=sys.stderr))
    except ValueError as error:
        raise InputError.at("--address", str(error), address) from None
    except OSError as error:
        raise CannotRunError(str(error)) from None
    return Status.DONE


def profiles(*, json: Json = False) -> int:
    """List the access profiles: rates, round-trip time, loss and source of each."""
    import json as jsonlib
    from dataclasses import asdict

    from waspbench.experiment.profiles import PROFILES

    if json:
        print(jsonlib.dumps({name: asdict(profile) for name, profile in PROFILES.items()}, indent=2))
    else:
        print(profiles_text(PROFILES), end="")
    return Status.DONE


def profiles_text(found: Mapping[str, Profile]) -> str:
    """The access profiles, below each source those that are from it."""
    heads = ["profile", "down", "up", "RTT", "loss"]
    rows = [[name, profile.down, profile.up, profile.rtt, profile.loss or "none"] for name, profile in found.items()]
    head, *lines = aligned(heads, rows, [True, False, False, False, False], room=sys.maxsize)
    shown = [head]
    for source in dict.fromkeys(profile.source for profile in found.values()):
        shown += ["", *textwrap.wrap(source, 79)]
        shown += [line for line, profile in zip(lines, found.values(), strict=True) if profile.source == source]
    return "\n".join(shown) + "\n"


def demo(*, quiet: Quiet = False) -> int:
    """Compare the built-in server without loss and with 3 % loss: 256 clients at 100 ms, half a minute."""
    from waspbench.cli import demo as demonstration

    return demonstration.demo(quiet=quiet)


def doctor(*, json: Json = False) -> int:
    """Say what this machine can do for live runs, what is missing, and how to get it."""
    from waspbench.cli import doctor as examination

    return examination.doctor(json)


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(name="SHELL", help="The shell: bash, zsh or fish.")], /
) -> int:
    """Print the completion of commands and flags for a shell; for bash: source <(wasp completion bash)."""
    from waspbench.cli.app import app

    print(app.generate_completion(shell=shell), end="")
    return Status.DONE


def version() -> int:
    """Print the version, like wasp --version."""
    from waspbench.cli.version import TEXT

    print(TEXT)
    return Status.DONE
