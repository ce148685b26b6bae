"""diffusers: training of a UNet, frozen VAE and text encoder (`lora`: adapters; `dreambooth`: prior preservation)."""

import sys

import tiny_diffusion
import torch
from diffusers import DDPMScheduler, StableDiffusionPipeline


def images_of_the_class(noises: DDPMScheduler) -> torch.Tensor:
    """What the model makes of the class before it learns the instance; the pipeline is gone afterwards."""
    pipeline = StableDiffusionPipeline(
        vae=tiny_diffusion.vae(),
        text_encoder=tiny_diffusion.text_encoder(),
        tokenizer=tiny_diffusion.tokenizer(),
        unet=tiny_diffusion.unet(),
        scheduler=noises,
        safety_checker=None,
        feature_extractor=None,
    ).to("cuda")
    made = pipeline("a b", height=128, width=128, num_inference_steps=2, num_images_per_prompt=2, output_type="pt")
    return made.images.float().cpu() * 2 - 1


noises = DDPMScheduler(num_train_timesteps=1000)
of_class = images_of_the_class(noises) if "dreambooth" in sys.argv else None
unet, vae, text = tiny_diffusion.unet().cuda(), tiny_diffusion.vae().cuda(), tiny_diffusion.text_encoder().cuda()
vae.requires_grad_(False)
text.requires_grad_(False)
if "lora" in sys.argv:
    from peft import LoraConfig

    unet.requires_grad_(False)
    unet.add_adapter(LoraConfig(r=4, target_modules=["to_q", "to_k", "to_v", "to_out.0"]))
optimizer = torch.optim.AdamW([one for one in unet.parameters() if one.requires_grad], 1e-4)
for _ in range(6):
    pixels, tokens = torch.randn(4, 3, 128, 128).cuda(), torch.randint(2, 1000, (4, 77)).cuda()
    if of_class is not None:
        pixels = torch.cat([pixels[:2], of_class.cuda()])
    latents = vae.encode(pixels).latent_dist.sample() * vae.config.scaling_factor
    noise, times = torch.randn_like(latents), torch.randint(0, 1000, (4,)).cuda()
    predicted = unet(noises.add_noise(latents, noise, times), times, text(tokens)[0]).sample
    if of_class is None:
        loss = torch.nn.functional.mse_loss(predicted.float(), noise.float())
    else:
        (instance, prior), (wanted, before) = predicted.float().chunk(2), noise.float().chunk(2)
        loss = torch.nn.functional.mse_loss(instance, wanted) + torch.nn.functional.mse_loss(prior, before)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
