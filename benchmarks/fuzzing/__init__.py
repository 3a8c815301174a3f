"""What `benchmarks/fuzz.py` fuzzes, and with what."""
