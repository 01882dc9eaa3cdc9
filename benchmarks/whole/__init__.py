"""Whole programs: processes under ``python -m dynamo_lite run`` beside plain Python, and ``compile(main)``."""
