"""``python -m waspbench`` is ``wasp``."""

from waspbench.cli import main

if __name__ == "__main__":
    main()
