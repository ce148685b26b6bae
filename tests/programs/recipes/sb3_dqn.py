"""Stable-Baselines3: DQN on CartPole."""

from stable_baselines3 import DQN

DQN("MlpPolicy", "CartPole-v1", device="cuda", learning_starts=100, policy_kwargs={"net_arch": [256, 256]}).learn(400)
