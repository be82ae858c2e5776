"""A terminal workbench for LLM text completions."""
