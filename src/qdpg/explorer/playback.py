"""Time in an episode: what step is shown, given when somebody pressed what. Pure; the clock is handed in."""

from __future__ import annotations

from dataclasses import dataclass, replace

SPEEDS = ("0.25×", "0.5×", "1×", "2×", "4×", "8×")


@dataclass(frozen=True)
class Playback:
    """A position that moves with time.

    Attributes:
        length: Steps of the longest episode shown.
        step_seconds: How long a step lasts at speed 1.
        start: The step at `since`.
        since: When it was there, in seconds of the clock.
        speed: How many times as fast as it was.
        is_playing: Whether it moves.
    """

    length: int = 0
    step_seconds: float = 1 / 30
    start: float = 0.0
    since: float = 0.0
    speed: float = 1.0
    is_playing: bool = False

    def at(self, now: float) -> int:
        """The step shown at time `now`; it stays at the end."""
        moved = (now - self.since) * self.speed / self.step_seconds if self.is_playing else 0.0
        return min(self.length, max(0, int(self.start + moved)))

    def is_over(self, now: float) -> bool:
        """Whether it has come to the end."""
        return self.at(now) >= self.length

    def load(self, length: int, step_seconds: float, now: float) -> Playback:
        """Begin another episode."""
        return replace(self, length=length, step_seconds=step_seconds, start=0.0, since=now, is_playing=True)

    def set_playing(self, playing: bool, now: float) -> Playback:
        """Pause or go on; from the beginning if it was at the end."""
        start = 0.0 if playing and self.is_over(now) else float(self.at(now))
        return replace(self, start=start, since=now, is_playing=playing)

    def scrub(self, step: float, now: float) -> Playback:
        """Show this step, and wait there."""
        return replace(self, start=float(min(self.length, max(0, step))), since=now, is_playing=False)

    def set_speed(self, speed: float, now: float) -> Playback:
        """Go on at another speed."""
        return replace(self, start=float(self.at(now)), since=now, speed=speed)
