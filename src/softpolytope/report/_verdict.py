"""What to say of a model whose report is on rows that it was trained on: nothing good that rests on these rows."""

from softpolytope.report._phrases import Check, count, percent
from softpolytope.report._scores import Score
from softpolytope.report._summary import Content

NO_SCORES = (
    "There are no scores on held-out rows to judge it by. Write the report with rows it was not trained on, or fit "
    "with `softpolytope fit`, which holds rows out and keeps the scores in the model file."
)
NO_FINGERPRINT = (
    "Whether it was trained on some of these rows is not known: the model has no fingerprint of its training rows (it "
    "was fitted out of core, or its file was written by an earlier version or without one)."
)


def has_training_rows(content: Content) -> bool:
    """Return whether scores on the rows given are not those of new rows."""
    return content.overlap is not None and content.overlap.has_training_rows


def verdict_on_training_rows(content: Content) -> list[Check]:
    """Say that the model was trained on these rows, then how it did on others, then how it does on these."""
    overlap = content.overlap
    if overlap is None or not overlap.has_training_rows:
        return []
    found = [Check("bad", overlap.in_words()), *_on_new_rows(content)]
    own, majority = content.scores[0], content.scores[1]
    whose = "training rows" if overlap.is_whole else "all rows given, old and new,"
    found.append(Check("look", f"On the {whose} it errs on {_compared(own, majority)}."))
    return found


def _on_new_rows(content: Content) -> list[Check]:
    """Say how it does on rows that are not training rows: those among the rows given, and those held out."""
    found = []
    if content.on_new_rows is not None:
        head = f"On the {count(content.n_new_rows, 'row')} that it was not trained on it errs on"
        found.append(_judged(head, *content.on_new_rows))
    if content.held_out is not None:
        found.append(_judged("On rows held out when it was fitted it erred on", *content.held_out))
    return found or [Check("look", NO_SCORES)]


def _judged(head: str, own: Score, majority: Score | None) -> Check:
    text = f"{head} {_compared(own, majority)}."
    if majority is not None and not own.is_better_than(majority):
        return Check("bad", f"{text} In error or in log-loss it is no better than that.")
    return Check("look", text)


def _compared(own: Score, majority: Score | None) -> str:
    text = percent(own.error or 0.0)
    if majority is None:
        return text
    return f"{text}; always naming the most frequent class would err on {percent(majority.error or 0.0)}"
