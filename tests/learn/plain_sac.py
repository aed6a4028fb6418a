"""SAC written out plainly in NumPy and float64: slow and meant to be obviously right. The engine is checked with it."""

import numpy as np
from plain_td3 import Adam, Sgd, backward, follow, forward


def draw(heads, eps):
    """Actions, log-probabilities and what gradients need, from what the last layer gave; the density is written out."""
    mean, raw = np.split(heads, 2, axis=1)
    std = np.exp(-5 + 3.5 * (np.tanh(raw) + 1))
    inner = mean + std * eps
    action = np.tanh(inner)
    density = np.exp(-((inner - mean) ** 2) / (2 * std**2)) / (std * np.sqrt(2 * np.pi))
    return action, np.log(density / (1 - action**2)).sum(axis=1), std, raw


def improve(actor, critics, batches, settings):
    """Improve an actor (a list of layers) and twin critics over `batches`, a list of (batch, (draws, next draws))."""
    make = Adam if settings.optimiser == "adam" else Sgd
    targets, log_alpha = [list(c) for c in critics], np.log(settings.start_temperature)
    optimiser, critic_optimisers = make(actor, settings.actor_rate), [make(c, settings.critic_rate) for c in critics]
    alpha_optimiser = make([(np.zeros(()),)], settings.temperature_rate)
    for batch, (now, then) in batches:
        pair, s, r, c, after, now, then = (np.asarray(x, np.float64) for x in (*batch, now, then))
        size, alpha = len(s), np.exp(log_alpha)
        action, log_p, _, _ = draw(forward(actor, after)[0], then)
        pairs = np.concatenate([after, action], axis=1)
        smaller = np.minimum(*(forward(t, pairs)[0][:, 0] for t in targets))
        goal = r + settings.discount * c * (smaller - alpha * log_p)
        for k, critic in enumerate(critics):
            value, trace = forward(critic, pair)
            gradients, _ = backward(critic, trace, 2 * (value[:, 0] - goal)[:, None] / size)
            critics[k] = critic_optimisers[k].step(critic, gradients)
        targets = [follow(t, c, settings.softness) for t, c in zip(targets, critics, strict=True)]

        heads, trace = forward(actor, s)
        action, log_p, std, raw = draw(heads, now)
        pairs = np.concatenate([s, action], axis=1)
        values, traces = zip(*(forward(critic, pairs) for critic in critics), strict=True)
        by_action = np.zeros_like(action)
        for i in range(size):  # each row climbs the critic that thinks less of it
            k = 0 if values[0][i] <= values[1][i] else 1
            one = [(x[i : i + 1], None) for x, _ in traces[k]]
            by_action[i] = backward(critics[k], one, np.ones((1, 1)))[1][0, s.shape[1] :]
        by_mean = 2 * alpha * action - by_action * (1 - action**2)
        by_raw = (by_mean * std * now - alpha) * 3.5 * (1 - np.tanh(raw) ** 2)
        gradients, _ = backward(actor, trace, np.concatenate([by_mean, by_raw], axis=1) / size)
        actor = optimiser.step(actor, gradients)
        slope = -alpha * np.mean(log_p + settings.entropy_per_action * action.shape[1])
        ((log_alpha,),) = alpha_optimiser.step([(log_alpha,)], [(slope,)])
    return actor, critics, targets, log_alpha
