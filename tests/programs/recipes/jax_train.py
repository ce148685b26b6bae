"""JAX: a jitted training step of a small network; argument `scan`: its layers as a loop of XLA's."""

import sys

import jax
import jax.numpy as jnp

WIDTH, BATCH, LAYERS = 1024, 256, 4


def layer(batch, weight):
    return jax.nn.relu(batch @ weight), None


def loss(weights, batch):
    if "scan" in sys.argv:
        batch, _ = jax.lax.scan(layer, batch, weights)
    else:
        for weight in weights:
            batch, _ = layer(batch, weight)
    return jnp.mean(batch**2)


@jax.jit
def step(weights, batch):
    value, gradients = jax.value_and_grad(loss)(weights, batch)
    return value, weights - 0.1 * gradients


key = jax.random.key(0)
weights = jax.random.normal(key, (LAYERS, WIDTH, WIDTH))
for _ in range(5):
    value, weights = step(weights, jax.random.normal(key, (BATCH, WIDTH)))
print(jax.devices(), float(value))
