"""Query normalisation: a query rewritten in English and searched beside itself.

What rewrites it is a stranger. It may be slow, wrong, or misled by the query, so it is asked within
a time budget, its answer is checked, what it lost is put back, and the query is searched as it was
given too. Only searches that ask for it import any of this.
"""
