"""Pictures that a Gymnasium environment draws of its episodes, made in a thread while the first are already shown."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Sequence

import numpy as np
from PIL import Image

from qdpg.errors import UserError
from qdpg.exports.episode import Episode
from qdpg.exports.frames import gymnasium_frames, make_drawing_env
from qdpg.tasks.gymnasium import GymnasiumTask
from qdpg.tasks.task import Task

_MOST = 600  # pictures that are kept; of long episodes and of several, not every step has one
_SIDE = 320  # pixels at most
_BORDER = 6  # pixels, in the colour of the agent
_COLUMNS = 4


class Pictures:
    """What some episodes looked like."""

    def __init__(self, task: Task, episodes: Sequence[Episode], colours: Sequence[tuple[int, int, int]]) -> None:
        """Begin to draw; nothing is drawn of tasks that are no environments, or of those that cannot draw.

        Args:
            task: What was played.
            episodes: By whom and how.
            colours: A border for each, if there are several.
        """
        self.failure: str | None = None
        self._frames: list[list[np.ndarray]] = [[] for _ in episodes]
        self._stride = math.ceil(sum(len(each) + 1 for each in episodes) / _MOST)
        self._colours = colours if len(episodes) > 1 else ()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        if isinstance(task, GymnasiumTask):
            self._thread = threading.Thread(target=self._draw, args=(task, episodes), daemon=True)
            self._thread.start()

    def at(self, step: int) -> np.ndarray | None:
        """All agents after `step` steps, in one picture; the last that is there, or None if there is none yet."""
        now = [frames[min(step // self._stride, len(frames) - 1)] for frames in self._frames if frames]
        if not now:
            return None
        if len(now) == 1 and not self._colours:
            return now[0]
        framed = [_frame(each, colour) for each, colour in zip(now, self._colours, strict=False)]
        blank = np.full_like(framed[0], 255)
        columns = min(_COLUMNS, len(framed))
        rows = itertools.zip_longest(*[iter(framed)] * columns, fillvalue=blank)
        return np.concatenate([np.concatenate(row, axis=1) for row in rows])

    def close(self) -> None:
        """Draw no more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _draw(self, task: GymnasiumTask, episodes: Sequence[Episode]) -> None:
        drawn = []
        for episode in episodes:
            env = make_drawing_env(task)
            if env is None:
                return
            steps = np.arange(0, len(episode) + 1, self._stride)
            drawn.append(gymnasium_frames(task, env, episode, steps))
        try:
            for pictures in itertools.zip_longest(*drawn):
                if self._stop.is_set():
                    return
                for frames, picture in zip(self._frames, pictures, strict=True):
                    if picture is not None:
                        frames.append(_shrink(picture))
        except UserError as error:
            self.failure = str(error)  # the points in the plane are there all the same
        finally:
            for each in drawn:
                each.close()


def _shrink(picture: np.ndarray) -> np.ndarray:
    image = Image.fromarray(picture)
    image.thumbnail((_SIDE, _SIDE))
    return np.asarray(image)


def _frame(picture: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    framed = np.full((picture.shape[0] + 2 * _BORDER, picture.shape[1] + 2 * _BORDER, 3), colour, np.uint8)
    framed[_BORDER:-_BORDER, _BORDER:-_BORDER] = picture
    return framed
