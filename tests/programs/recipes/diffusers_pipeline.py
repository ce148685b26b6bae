"""diffusers: inference with tiling of the VAE; arguments `model` and `sequential`: offload to the host."""

import sys

import tiny_diffusion
from diffusers import DDIMScheduler, StableDiffusionPipeline

pipeline = StableDiffusionPipeline(
    vae=tiny_diffusion.vae(),
    text_encoder=tiny_diffusion.text_encoder(),
    tokenizer=tiny_diffusion.tokenizer(),
    unet=tiny_diffusion.unet(),
    scheduler=DDIMScheduler(),
    safety_checker=None,
    feature_extractor=None,
    requires_safety_checker=False,
)
if "model" in sys.argv:
    pipeline.enable_model_cpu_offload()
elif "sequential" in sys.argv:
    pipeline.enable_sequential_cpu_offload()
else:
    pipeline.to("cuda")
pipeline.vae.enable_tiling()
print(pipeline("a b", num_inference_steps=4, height=256, width=256).images[0].size)
