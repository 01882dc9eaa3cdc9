"""Other people's test suites with every frame compiled: ``python -m tests.suites``."""
