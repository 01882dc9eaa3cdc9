"""Branches on data: both of their ways, and what is known behind them."""
