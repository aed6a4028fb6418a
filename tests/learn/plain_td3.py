"""TD3 written out plainly in NumPy and float64: slow and meant to be obviously right. The engine is checked with it."""

import numpy as np


def forward(network, x, hidden="relu"):
    """Return the output and what back-propagation needs. `network` is a list of (weight, bias), ReLU in between."""
    trace, size = [], None
    for i, (weight, bias) in enumerate(network):
        trace.append((x, size))
        x = x @ weight + bias
        if i < len(network) - 1:
            x = np.maximum(x, 0)
            if hidden == "normed":
                size = np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6)
                x = x / size
    return x, trace


def backward(network, trace, gradient):
    """Return the gradients of all (weight, bias) and of the input, given that of the (pre-activation) output."""
    gradients = []
    for i in reversed(range(len(network))):
        (weight, _), (x, size) = network[i], trace[i]
        gradients.append((x.T @ gradient, gradient.sum(axis=0)))
        gradient = gradient @ weight.T
        if size is not None:  # through x = h / size(h)
            gradient = gradient / size - x * (gradient * x).mean(axis=1, keepdims=True) / size
        if i > 0:
            gradient = gradient * (x > 0)
    return gradients[::-1], gradient


def policy(network, x, output="tanh"):
    out, trace = forward(network, x)
    return (np.tanh(out) if output == "tanh" else out), trace


class Adam:
    """Adam as printed, for a list of (weight, bias)."""

    def __init__(self, network, rate, epsilon=1e-8):
        self.rate, self.epsilon, self.t = rate, epsilon, 0
        self.m = [[np.zeros_like(p) for p in layer] for layer in network]
        self.v = [[np.zeros_like(p) for p in layer] for layer in network]

    def step(self, network, gradients):
        self.t += 1
        new = []
        for i, layer in enumerate(network):
            parts = []
            for j, parameter in enumerate(layer):
                g = gradients[i][j]
                self.m[i][j] = 0.9 * self.m[i][j] + 0.1 * g
                self.v[i][j] = 0.999 * self.v[i][j] + 0.001 * g**2
                m, v = self.m[i][j] / (1 - 0.9**self.t), self.v[i][j] / (1 - 0.999**self.t)
                parts.append(parameter - self.rate * m / (np.sqrt(v) + self.epsilon))
            new.append(tuple(parts))
        return new


class Sgd:
    def __init__(self, network, rate):
        self.rate = rate

    def step(self, network, gradients):
        return [
            tuple(p - self.rate * g for p, g in zip(layer, gs, strict=True))
            for layer, gs in zip(network, gradients, strict=True)
        ]


def follow(target, online, softness):
    return [
        tuple((1 - softness) * t + softness * o for t, o in zip(tl, ol, strict=True))
        for tl, ol in zip(target, online, strict=True)
    ]


def improve(actors, critics, batches, settings, train_critics=True, output="tanh"):
    """Improve n actors (lists of layers) with shared twin critics over `batches`, a list of (batch, noise) per step."""
    make = Adam if settings.optimiser == "adam" else Sgd
    scale = settings.batch_size if settings.loss == "sum" else 1
    targets, critic_targets = [list(a) for a in actors], [list(c) for c in critics]
    actor_optimisers = [make(a, settings.actor_rate) for a in actors]
    critic_optimisers = [make(c, settings.critic_rate) for c in critics]
    number = len(actors)
    for step, (batch, noise) in enumerate(batches):
        if train_critics:
            sums = [[[np.zeros_like(p) for p in layer] for layer in critic] for critic in critics]
            for j in range(number):  # each actor's own gradient of the critics …
                pair, _, r, c, after = (np.asarray(x[j], np.float64) for x in batch)
                next_action = np.clip(policy(targets[j], after, output)[0] + np.asarray(noise[j], np.float64), -1, 1)
                pairs = np.concatenate([after, next_action], axis=1)
                smaller = np.minimum(*(forward(t, pairs, settings.critic_hidden)[0][:, 0] for t in critic_targets))
                goal = r + settings.discount * c * smaller
                for k, critic in enumerate(critics):
                    value, trace = forward(critic, pair, settings.critic_hidden)
                    error = value[:, 0] - goal
                    gradients, _ = backward(critic, trace, scale * 2 * error[:, None] / len(error))
                    for i, layer in enumerate(gradients):
                        for p, g in enumerate(layer):
                            sums[k][i][p] += g / number  # … and their average
            critics = [critic_optimisers[k].step(critic, sums[k]) for k, critic in enumerate(critics)]
            critic_targets = [follow(t, c, settings.softness) for t, c in zip(critic_targets, critics, strict=True)]
        if not train_critics or (step + 1) % settings.delay == 0:
            for j in range(number):
                s = np.asarray(batch.observation[j], np.float64)
                action, trace = policy(actors[j], s, output)
                pair = np.concatenate([s, np.clip(action, -1, 1)], axis=1)
                _, critic_trace = forward(critics[0], pair, settings.critic_hidden)
                _, pair_gradient = backward(critics[0], critic_trace, np.full((len(s), 1), -scale / len(s)))
                slope = pair_gradient[:, s.shape[1] :]
                if output == "tanh":
                    inner_gradient = slope * (1 - action**2)
                else:  # by how much is left to the bound in the direction of less loss
                    left = np.where(slope < 0, settings.action_bound - action, settings.action_bound + action)
                    inner_gradient = slope * left / settings.action_bound
                gradients, _ = backward(actors[j], trace, inner_gradient)
                actors[j] = actor_optimisers[j].step(actors[j], gradients)
                targets[j] = follow(targets[j], actors[j], settings.softness)
    return actors, critics, targets, critic_targets
