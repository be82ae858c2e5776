"""Benchmarks: figures against their budgets, each beside its peers in the same run."""
