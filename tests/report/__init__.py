"""Rendering of explanations."""
