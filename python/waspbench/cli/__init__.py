"""The command ``wasp``. Commands only parse, call and print; each is imported when it is asked for."""
