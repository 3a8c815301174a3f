"""Compute a refund: the price of the items, and shipping if all of them come back."""

import sys

price, shipping, is_whole = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "whole"
print(f"{price + (shipping if is_whole else 0):.2f}")
