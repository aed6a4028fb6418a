"""An episode as a video: mp4, or GIF."""

from __future__ import annotations

import io
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from qdpg.errors import UserError
from qdpg.exports.episode import Episode, seconds_per_step
from qdpg.exports.frames import picture_frames
from qdpg.exports.together import frames_together
from qdpg.tasks.task import Task

Kind = Literal["video", "gif"]
_RATES = {"video": 30.0, "gif": 12.5}  # most frames per second
_SIZES = {"video": (640, 480), "gif": (360, 270)}
_WIDE = {"video": (960, 480), "gif": (720, 360)}  # of several agents at once
SUFFIXES = {"video": "mp4", "gif": "gif"}


def film(task: Task, episode: Episode, kind: Kind, seconds: float = np.inf) -> bytes:
    """Film an episode, as fast as it was.

    Args:
        task: What was played.
        episode: One of its episodes.
        kind: mp4 ("video") or "gif".
        seconds: Leave out what comes later.

    Raises:
        UserError: Something that is needed is not installed, or the task cannot be drawn.
    """
    step = seconds_per_step(task)
    stride = max(1, round(1 / (step * _RATES[kind])))
    last = min(len(episode), int(min(seconds, 1e9) / step))
    size = _square(_SIZES[kind]) if task.spec.floor is not None and episode.poses is None else _SIZES[kind]
    frames = list(picture_frames(task, episode, np.arange(0, last + 1, stride), size))
    return (encode_mp4 if kind == "video" else encode_gif)(frames, 1 / (step * stride))


def film_together(task: Task, episodes: Sequence[Episode], kind: Kind, seconds: float = np.inf) -> bytes:
    """Film several episodes at once, as fast as they were; the film ends with the longest.

    Args:
        task: What was played.
        episodes: Some of its episodes.
        kind: mp4 ("video") or "gif".
        seconds: Leave out what comes later.

    Raises:
        UserError: Something that is needed is not installed, or agents of the task cannot be drawn together.
    """
    step, size = seconds_per_step(task), _WIDE[kind]
    stride = max(1, round(1 / (step * _RATES[kind])))
    last = min(max(map(len, episodes)), int(min(seconds, 1e9) / step))
    size = _square(size) if episodes[0].poses is None else size
    frames = list(frames_together(task, episodes, np.arange(0, last + 1, stride), size))
    return (encode_mp4 if kind == "video" else encode_gif)(frames, 1 / (step * stride))


def encode_mp4(frames: Sequence[np.ndarray], rate: float) -> bytes:
    """H.264 of pictures [height, width, 3] uint8.

    Raises:
        UserError: imageio-ffmpeg is not installed.
    """
    try:
        import imageio_ffmpeg
    except ImportError:
        raise UserError('videos need imageio-ffmpeg; install it with `pip install "qdpg[export]"`.') from None
    height, width = (side - side % 2 for side in frames[0].shape[:2])  # H.264 halves colours
    pixels = b"".join(np.ascontiguousarray(frame[:height, :width]).tobytes() for frame in frames)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "film.mp4"
        source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{rate:g}", "-i", "-"]
        target = ["-c:v", "libx264", "-crf", "23", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(path)]
        # Its own writer forks in a way that JAX warns of.
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", *source, *target]
        done = subprocess.run(command, input=pixels, capture_output=True, check=False)
        if done.returncode:
            raise UserError(f"the video could not be written: {done.stderr.decode(errors='replace').strip()[:300]}.")
        return path.read_bytes()


def encode_gif(frames: Sequence[np.ndarray], rate: float) -> bytes:
    """GIF of pictures [height, width, 3] uint8, in one set of colours."""
    some = [frames[i] for i in np.linspace(0, len(frames) - 1, 8).astype(int)]
    first = Image.fromarray(np.concatenate(some)).quantize(64)
    pictures = [Image.fromarray(frame).quantize(palette=first, dither=Image.Dither.NONE) for frame in frames]
    file = io.BytesIO()
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:], duration=round(1000 / rate), loop=0)
    return file.getvalue()


def _square(size: tuple[int, int]) -> tuple[int, int]:
    return size[1], size[1]
