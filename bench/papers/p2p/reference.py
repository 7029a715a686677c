"""Peer-to-peer learning as plain NumPy loops, one tick after the other, written from the equations.

A second implementation to test against and to time against. Agents' examples are lists: inputs[i] is [m_i, feature],
labels[i] is [m_i] of 1 and -1; weights is the dense W [agent, agent]; the loss is logistic.

Source: Bellet et al. 2018, equations 4, 6 and 16; Vanhaesebrouck, Bellet, Tommasi 2017, section 4.2.
"""

import numpy as np


def gradient(model, inputs, labels, ridge):
    """Return grad L_i, the sum of the mean of the examples' gradients and the regulariser's gradient."""
    scores = inputs @ model
    slope = -labels / (1 + np.exp(labels * scores))
    return inputs.T @ slope / len(labels) + 2 * ridge * model


def objective(models, inputs, labels, weights, mu):
    """Return Q(theta), with lambda_i = 1 / m_i and c_i = m_i / max_j m_j."""
    sizes = np.array([len(y) for y in labels])
    smooth = 0.0
    for i in range(len(models)):
        for j in range(i + 1, len(models)):
            smooth += 0.5 * weights[i, j] * np.sum((models[i] - models[j]) ** 2)
    local = 0.0
    for i, size in enumerate(sizes):
        loss = np.mean(np.logaddexp(0, -labels[i] * (inputs[i] @ models[i]))) + np.sum(models[i] ** 2) / size
        local += weights[i].sum() * size / sizes.max() * loss
    return smooth + mu * local


def coordinate_descent(models, inputs, labels, weights, smoothness, mu, order, noise):
    """Return the models after updates by equation 6: agent order[t] moves in tick t, with noise[t] [feature] added to
    its gradient. The array is new.
    """
    models = np.array(models)
    sizes = np.array([len(y) for y in labels])
    trust, degrees = sizes / sizes.max(), weights.sum(1)
    for i, z in zip(order, noise, strict=True):
        step = 1 / (1 + mu * trust[i] * smoothness[i])
        slope = gradient(models[i], inputs[i], labels[i], 1 / sizes[i]) + z
        average = weights[i] @ models / degrees[i]
        models[i] = (1 - step) * models[i] + step * (average - mu * trust[i] * slope)
    return models


def model_propagation(local, weights, trust, mu, order):
    """Return the models after updates by equation 16, from the local models: agent order[t] moves in tick t. The array
    is new.
    """
    models = np.array(local)
    degrees = weights.sum(1)
    for i in order:
        models[i] = (weights[i] @ models / degrees[i] + mu * trust[i] * local[i]) / (1 + mu * trust[i])
    return models


def admm(models, inputs, labels, weights, smoothness, mu, penalty, edges, num_steps=10):
    """Return the models after gossip ADMM from given models; in tick t the edge edges[t] = (i, j) wakes up. The array
    is new.

    Keyed by (agent, neighbour): copies[i, j] is i's copy of j's model, z[i, j] the secondary variable of edge
    (i, j) for i's model, own_a[i, j] and other_a[i, j] the multipliers that i keeps for its own model and for j's.
    """
    models = np.array(models)
    sizes = np.array([len(y) for y in labels])
    trust, degrees = sizes / sizes.max(), weights.sum(1)
    neighbors = [np.flatnonzero(row) for row in weights]
    pairs = [(i, j) for i, nearby in enumerate(neighbors) for j in nearby]
    copies = {pair: models[pair[1]].copy() for pair in pairs}
    z = {pair: models[pair[0]].copy() for pair in pairs}
    own_a = {pair: np.zeros_like(models[0]) for pair in pairs}
    other_a = {pair: np.zeros_like(models[0]) for pair in pairs}
    for edge in edges:
        for i in edge:
            nearby = neighbors[i]
            curvature = 0.5 * (degrees[i] + weights[i].max()) + mu * degrees[i] * trust[i] * smoothness[i]
            length = 1 / (curvature + penalty * len(nearby))
            model = models[i]
            copy = np.stack([copies[i, j] for j in nearby])
            own_z, other_z = np.stack([z[i, j] for j in nearby]), np.stack([z[j, i] for j in nearby])
            own_copies, other_copies = (
                np.stack([own_a[i, j] for j in nearby]),
                np.stack([other_a[i, j] for j in nearby]),
            )
            for _ in range(num_steps):
                apart = 0.5 * weights[i, nearby][:, None] * (model - copy)
                loss = mu * degrees[i] * trust[i] * gradient(model, inputs[i], labels[i], 1 / sizes[i])
                down = loss + np.sum(apart + own_copies + penalty * (model - own_z), axis=0)
                copy_down = -apart + other_copies + penalty * (copy - other_z)
                model, copy = model - length * down, copy - length * copy_down
            models[i] = model
            for place, j in enumerate(nearby):
                copies[i, j] = copy[place]
        i, j = edge
        for a, b in ((i, j), (j, i)):
            z[a, b] = 0.5 * ((own_a[a, b] + other_a[b, a]) / penalty + models[a] + copies[b, a])
        for a, b in ((i, j), (j, i)):
            own_a[a, b] = own_a[a, b] + penalty * (models[a] - z[a, b])
            other_a[a, b] = other_a[a, b] + penalty * (copies[a, b] - z[b, a])
    return models
