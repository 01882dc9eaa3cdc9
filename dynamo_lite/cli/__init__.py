"""The command line: ``python -m dynamo_lite run | explain | doctor | backends``. command.py is the door."""
