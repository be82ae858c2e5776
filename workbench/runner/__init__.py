"""Operations without a screen: send, branch, compare, resume, replay, score, check and probe."""
