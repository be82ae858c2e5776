"""What the judge's three tasks are made of."""

from __future__ import annotations

CHOICES = [
    {
        "question": "The capital of France is",
        "choices": ["Paris", "London", "a fish", "パリ"],
        "answer": 0,
    },
    {
        "question": "Water freezes at zero degrees",
        "choices": ["Celsius", "Kelvin", "of separation", "🥶"],
        "answer": 0,
    },
    {"question": "日本の首都は", "choices": ["東京", "大阪", "京都", "Tokyo 🗼"], "answer": 0},
    {"question": "🐶 is a dog and 🐱 is a", "choices": ["cat", "dog", "猫", "🐱"], "answer": 0},
    {"question": "Answer: ", "choices": ["yes", "no"], "answer": 1},
]
TEXTS = [
    "It was a bright cold day in April, and the clocks were striking thirteen.",
    "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。",
    "Emoji 👩‍🚀🧑‍🔬👨‍🍳 spread over tokens, naïve café, and\nseveral\n\nlines.",
    "One, two, three, four, five, six, seven, eight, nine, ten. " * 30,
]
QUESTIONS = [
    {"question": "Q: What is the capital of France?\nA:", "answer": "Paris"},
    {"question": "Q: What is two plus two?\nA:", "answer": "4"},
    {"question": "質問: 日本の首都は?\n答え:", "answer": "東京"},
    {"question": "🐶 dog\n🐱 cat\n🐴", "answer": "horse"},
]
ANSWER_TOKENS = 24
