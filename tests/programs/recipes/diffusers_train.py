"""diffusers: text-to-image training of a UNet, frozen VAE and text encoder (argument `lora`: adapters alone)."""

import sys

import tiny_diffusion
import torch
from diffusers import DDPMScheduler

unet, vae, text = tiny_diffusion.unet().cuda(), tiny_diffusion.vae().cuda(), tiny_diffusion.text_encoder().cuda()
vae.requires_grad_(False)
text.requires_grad_(False)
if "lora" in sys.argv:
    from peft import LoraConfig

    unet.requires_grad_(False)
    unet.add_adapter(LoraConfig(r=4, target_modules=["to_q", "to_k", "to_v", "to_out.0"]))
noises = DDPMScheduler(num_train_timesteps=1000)
optimizer = torch.optim.AdamW([one for one in unet.parameters() if one.requires_grad], 1e-4)
for _ in range(6):
    pixels, tokens = torch.randn(4, 3, 128, 128).cuda(), torch.randint(2, 1000, (4, 77)).cuda()
    latents = vae.encode(pixels).latent_dist.sample() * vae.config.scaling_factor
    noise, times = torch.randn_like(latents), torch.randint(0, 1000, (4,)).cuda()
    predicted = unet(noises.add_noise(latents, noise, times), times, text(tokens)[0]).sample
    torch.nn.functional.mse_loss(predicted.float(), noise.float()).backward()
    optimizer.step()
    optimizer.zero_grad()
