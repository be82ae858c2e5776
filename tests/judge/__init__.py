"""An outside judge of the local server: EleutherAI's lm-eval, unmodified, beside direct computation."""
