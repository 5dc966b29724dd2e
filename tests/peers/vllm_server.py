#!/usr/bin/env python3
"""A vLLM that answers prompts, in this process and without a GPU, and prints its answers.

    vllm_server.py OPTIONS [--device POLICY] [--prompts N] [--wait SECONDS] [--during MODULE]

OPTIONS: the connector's extra options as JSON, or `none` for no offloading. --device: the order of vLLM's own
prefix cache. The model is a Llama of two layers with random
weights that are the same in each run (tiny_model.py). Prompts share beginnings of 16 blocks in turns, so that
the pool of 40 blocks forgets them and the CPU tier has them. The last line is JSON: the answers, the tokens that the server's
own cache and the connector had, and what of Canopy was at work.
"""
import argparse
import json
import os
import pathlib
import random
import sys
import tempfile
import time

BLOCK = 32
ENVIRONMENT = {
    "PYTHONHASHSEED": "0", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1",
    "VLLM_NO_USAGE_STATS": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": os.environ.get("VLLM_ENABLE_V1_MULTIPROCESSING", "0"), "HF_HUB_OFFLINE": "1", "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_LOGGING_LEVEL": os.environ.get("VLLM_LOGGING_LEVEL", "INFO"),
}


def prompts(count):
    """Prompts of 16 shared blocks and a tail of their own. The beginnings come in an order with reuse at many distances."""
    order = random.Random(7)
    for number in range(count):
        which = order.choice((0, 1, 2, 3)) if order.random() < 0.5 else order.randrange(12)
        words = random.Random(which)
        yield [words.randrange(3, 512) for _ in range(16 * BLOCK)] + [5 + number % 400] * (7 + number % 60)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("options")
    parser.add_argument("--device", metavar="POLICY")
    parser.add_argument("--prompts", type=int, default=60)
    parser.add_argument("--wait", type=float, default=0, help="seconds to stay after the last answer, for an inspector")
    parser.add_argument("--during", help="a module whose function during(number, engine) is called before each prompt")
    args = parser.parse_args()
    os.environ.update(ENVIRONMENT)
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    import tiny_model
    import torch

    torch.set_num_threads(1)
    from vllm import LLM, SamplingParams

    folder = pathlib.Path(tempfile.mkdtemp(prefix="canopy-vllm-"))
    tiny_model.write(folder)
    more = {}
    if args.options != "none":
        more["kv_transfer_config"] = {"kv_connector": "OffloadingConnector", "kv_role": "kv_both",
                                      "kv_connector_extra_config": json.loads(args.options)}
    if args.device:
        more |= {"scheduler_cls": "canopy.engines.vllm.scheduler", "additional_config": {"canopy": args.device}}
    start = time.time()
    server = LLM(model=str(folder), skip_tokenizer_init=True, dtype="float32", enforce_eager=True,
                 max_model_len=1024, block_size=BLOCK, num_gpu_blocks_override=40, max_num_seqs=2,
                 prefix_caching_hash_algo="sha256_cbor", disable_log_stats=False, seed=0, **more)
    ready = time.time() - start
    greedy = SamplingParams(max_tokens=8, temperature=0, ignore_eos=True, detokenize=False, logprobs=0)
    answers, cached = [], 0
    during = getattr(__import__(args.during), "during") if args.during else None
    start = time.time()
    for number, prompt in enumerate(prompts(args.prompts)):
        if during:
            during(number, server)
        answer = server.generate([{"prompt_token_ids": prompt}], greedy, use_tqdm=False)[0]
        output = answer.outputs[0]
        answers.append([(token, known[token].logprob) for token, known in zip(output.token_ids, output.logprobs)])
        cached += answer.num_cached_tokens or 0
    took = time.time() - start
    values = {metric.name: getattr(metric, "value", None) for metric in server.get_metrics()}
    time.sleep(args.wait)
    print(json.dumps({
        "answers": answers, "cached": cached, "ready_s": round(ready, 1), "took_s": round(took, 2),
        "pool_hits": values.get("vllm:prefix_cache_hits"), "tier_hits": values.get("vllm:external_prefix_cache_hits"),
    }), flush=True)


if __name__ == "__main__":
    main()
