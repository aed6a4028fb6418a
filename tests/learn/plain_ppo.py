"""PPO written out plainly in NumPy and float64: slow and meant to be obviously right. `learn/ppo.py` must agree."""

import numpy as np
from plain_td3 import Adam, backward, forward


def advantages(rewards, values, is_end, discount, decay):
    """Of one episode: `rewards` has T entries, `values` T + 1, the last of which counts unless `is_end`."""
    steps = len(rewards)
    values = np.append(values[:steps], 0.0 if is_end else values[steps])
    surprises = [rewards[t] + discount * values[t + 1] - values[t] for t in range(steps)]
    return [sum((discount * decay) ** k * surprises[t + k] for k in range(steps - t)) for t in range(steps)]


def log_density(mean, log_std, action):
    z = (action - mean) / np.exp(log_std)
    return (-0.5 * z**2 - log_std - 0.5 * np.log(2 * np.pi)).sum(axis=-1)


def bound(gradients, most):
    """Scale gradients, a list of tuples, to a norm of at most `most`."""
    norm = np.sqrt(sum((g**2).sum() for layer in gradients for g in layer))
    return [tuple(g * min(1.0, most / norm) for g in layer) for layer in gradients]


def improve(policy, log_std, critic, batches, settings):
    """Improve a policy (layers and log-deviations) and a critic over `batches` of experience in float64."""
    actor_adam = Adam([*policy, (log_std,)], settings.actor_rate, 1e-5)
    critic_adam = Adam(critic, settings.critic_rate, 1e-5)
    for batch in batches:
        size = len(batch.actions)
        mean, trace = forward(policy, batch.observations)
        z = (batch.actions - mean) / np.exp(log_std)
        ratio = np.exp(log_density(mean, log_std, batch.actions) - batch.log_densities)
        clipped = np.clip(ratio, 1 - settings.ratio_clip, 1 + settings.ratio_clip)
        counts = ratio * batch.advantages <= clipped * batch.advantages
        by_log_density = -np.where(counts, ratio * batch.advantages, 0.0) / size
        gradients, _ = backward(policy, trace, by_log_density[:, None] * z / np.exp(log_std))
        by_log_std = (by_log_density[:, None] * (z**2 - 1)).sum(axis=0) - settings.entropy_weight
        *policy, (log_std,) = actor_adam.step(
            [*policy, (log_std,)], bound([*gradients, (by_log_std,)], settings.gradient_clip)
        )

        value, trace = forward(critic, batch.observations)
        value = value[:, 0]
        near = batch.values + np.clip(value - batch.values, -settings.value_clip, settings.value_clip)
        is_inside = np.abs(value - batch.values) <= settings.value_clip
        is_larger = (near - batch.goals) ** 2 > (value - batch.goals) ** 2
        slope = np.where(is_larger, np.where(is_inside, near - batch.goals, 0.0), value - batch.goals)
        gradients, _ = backward(critic, trace, settings.value_weight * 2 * slope[:, None] / size)
        critic = critic_adam.step(critic, bound(gradients, settings.gradient_clip))
    return policy, log_std, critic
