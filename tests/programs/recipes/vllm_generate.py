"""vLLM: text of a small random model; arguments: `graphs` compiles and captures CUDA graphs, `tp2` uses two cards."""

import json
import sys
from pathlib import Path

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 688,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "num_hidden_layers": 4,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "hidden_act": "silu",
    "torch_dtype": "bfloat16",
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def main() -> None:
    from vllm import LLM, SamplingParams

    folder = Path("tiny-llama")
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(LLAMA))
    model = LLM(
        model=str(folder.resolve()),
        skip_tokenizer_init=True,
        load_format="dummy",
        enforce_eager="graphs" not in sys.argv,
        tensor_parallel_size=2 if "tp2" in sys.argv else 1,
        max_model_len=512,
    )
    prompts = [{"prompt_token_ids": [1, 2, 3, 4]}] * 4
    for output in model.generate(prompts, SamplingParams(max_tokens=8, detokenize=False)):
        print(output.outputs[0].token_ids)


if __name__ == "__main__":  # its engine is a process that may be spawned
    main()
