"""Run by an interpreter that has `transformers`: cases as JSON come in, its renderings go out."""

import json
import sys

from transformers.utils.chat_template_utils import (  # type: ignore[import-not-found]
    render_jinja_template,
)


def render(case: dict[str, object]) -> str | None:
    """The prompt that transformers makes of a case; None where it refuses."""
    # jinja2 is whatever version transformers came with here.
    from jinja2 import TemplateError

    try:
        [prompt], _ = render_jinja_template(
            conversations=[case["messages"]],
            chat_template=case["template"],
            add_generation_prompt=case["add_generation_prompt"],
            continue_final_message=not case["add_generation_prompt"],
            **case["variables"],  # type: ignore[arg-type]
        )
    except TemplateError:
        return None
    assert isinstance(prompt, str)
    return prompt


print(json.dumps([render(case) for case in json.load(sys.stdin)]))
