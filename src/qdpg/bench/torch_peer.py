"""A peer for the engine: the same TD3 update of a population in eager PyTorch with batched products (extra `bench`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np


def make_torch(
    number: int, sizes: tuple[int, int], hidden: tuple[int, ...], batch_size: int, transitions: tuple[np.ndarray, ...]
) -> Callable[[int], Any]:
    """Return a function that takes that many steps; see `plain_jax.make_plain_jax`.

    Raises:
        ImportError: PyTorch is not installed.
    """
    import torch

    data = [torch.from_numpy(np.ascontiguousarray(part)) for part in transitions]
    observation_size, action_size = sizes

    def network(count: int, *widths: int) -> list[Any]:
        layers = []
        for fan_in, fan_out in itertools.pairwise(widths):
            bound = fan_in**-0.5
            layers.append(torch.empty(count, fan_in, fan_out).uniform_(-bound, bound).requires_grad_())
            layers.append(torch.empty(count, 1, fan_out).uniform_(-bound, bound).requires_grad_())
        return layers

    def apply(layers: list[Any], x: Any) -> Any:
        for i in range(0, len(layers), 2):
            x = torch.baddbmm(layers[i + 1], x, layers[i])
            if i + 2 < len(layers):
                x = torch.relu(x)
        return x

    def copies(layers: list[Any]) -> list[Any]:
        return [layer.detach().clone() for layer in layers]

    def follow(targets: list[Any], layers: list[Any]) -> None:
        torch._foreach_lerp_(targets, [layer.detach() for layer in layers], 0.005)

    actors = network(number, observation_size, *hidden, action_size)
    critics = network(2, observation_size + action_size, *hidden, 1)
    actor_targets, critic_targets = copies(actors), copies(critics)
    actor_optimiser = torch.optim.Adam(actors, 3e-4, foreach=True)
    critic_optimiser = torch.optim.Adam(critics, 3e-4, foreach=True)

    def values(layers: list[Any], observation: Any, action: Any) -> Any:
        pairs = torch.cat([observation, action], dim=-1).reshape(1, -1, observation_size + action_size)
        count = layers[0].shape[0]
        return apply(layers, pairs.expand(count, -1, -1)).reshape(count, number, batch_size)

    def step(i: int) -> None:
        slots = torch.randint(len(data[2]), (number, batch_size))
        observation, action, reward, continues, following = (part[slots] for part in data)
        with torch.no_grad():
            noise = (0.2 * torch.randn_like(action)).clamp_(-0.5, 0.5)
            next_action = (torch.tanh(apply(actor_targets, following)) + noise).clamp_(-1, 1)
            goal = reward + 0.99 * continues * values(critic_targets, following, next_action).amin(dim=0)
        critic_optimiser.zero_grad(set_to_none=True)
        (((values(critics, observation, action) - goal) ** 2).mean() * 2).backward()
        critic_optimiser.step()
        follow(critic_targets, critics)
        if i % 2:
            actor_optimiser.zero_grad(set_to_none=True)
            first = [layer[:1].detach() for layer in critics]
            acted = torch.tanh(apply(actors, observation))
            (-values(first, observation, acted).mean(dim=2).sum()).backward()
            actor_optimiser.step()
            follow(actor_targets, actors)

    def run(steps: int) -> None:
        for i in range(steps):
            step(i)

    return run
