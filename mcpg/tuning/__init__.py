"""Fitting the ranking model on judged queries, and finding out whether the fit is worth having."""
