"""Small but real runs: point-maze with a short horizon, every part of QD-PG at work."""

SMALL = {
    "population": 4,
    "hidden": (16, 16),
    "replay_size": 700,  # smaller than what is played, so that the ring turns over
    "batch_size": 16,
    "gradient_steps_ratio": 0.25,
    "visited_size": 300,
    "visited_threshold": 0.005,
    "candidate_noise": 0.1,
}


class Silent:
    """A display that remembers what it was told."""

    def __init__(self):
        self.sentences, self.rows = [], []

    def update(self, row):
        self.rows.append(row)

    def say(self, sentence):
        self.sentences.append(sentence)
