"""The command line: ``python -m dynamo_lite run | explain | doctor | backends | breaks``. command.py is the door."""
