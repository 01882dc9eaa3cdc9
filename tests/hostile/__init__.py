"""Arguments, surroundings and changes that no compiler would like, and the processes and threads it runs in."""
