"""What is known of arrays: their memory, their layout, what is written to them, what NumPy has warned of."""
