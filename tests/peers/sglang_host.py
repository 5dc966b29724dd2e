"""Stands for a GPU in an SGLang that serves on a CPU: a plugin of SGLang, which sglang_live.py puts on its path.

SGLang's scheduler, caches, controllers, pools and threads are its own. Replaced are the copies between device and host and how much
memory must stay free (hicache_host.py), the convolution of models with states, which is a Triton kernel, and where attention with
windows reads: SGLang's attention for CPUs writes a window's keys into the window's pool, and reads them by the slots of full attention.

$CANOPY_FORGET=full|window|state plants a fault: what a request reuses of this kind has no contents. A check that compares
answers must notice it.
"""
import os

FORGET = os.environ.get("CANOPY_FORGET")


def register():
    """Called by SGLang once in each of its processes."""
    import hicache_host
    from sglang.srt.layers.attention import torch_native_backend
    from sglang.srt.layers.attention.mamba import causal_conv1d

    hicache_host.copy_with_torch()
    windows_of(torch_native_backend.TorchNativeAttnBackend)
    causal_conv1d.causal_conv1d_fn, causal_conv1d.causal_conv1d_update = convolve, convolve_one


def windows_of(backend):
    """Lets attention with a window read the window's pool by the window's slots."""

    def reading(run, extend):
        def replaced(self, query, output, keys, values, table, rows, lengths, *more, sliding_window_size=None, **named):
            windowed = self.use_sliding_window_kv_pool and sliding_window_size is not None
            if windowed:
                table = self.token_to_kv_pool.translate_loc_from_full_to_swa(table.long())
            if extend and FORGET == ("window" if sliding_window_size is not None else "full"):
                values = values.clone()
                for row, reused in zip(rows.tolist(), more[0].tolist()):
                    values[table[row, :reused].long()] = 0
            return run(self, query, output, keys, values, table, rows, lengths, *more, sliding_window_size=sliding_window_size,
                       **named)

        return replaced

    backend._run_sdpa_forward_extend = reading(backend._run_sdpa_forward_extend, True)
    backend._run_sdpa_forward_decode = reading(backend._run_sdpa_forward_decode, False)


def activated(values, activation):
    import torch

    return torch.nn.functional.silu(values) if activation else values


def convolve(x, weight, bias=None, query_start_loc=None, cache_indices=None, has_initial_state=None, conv_states=None,
             activation="silu", **_):
    """Convolves the tokens of several requests, (channels, tokens), and leaves each one's last inputs as its state."""
    import torch

    out, ends = torch.empty_like(x), query_start_loc.tolist()
    for number, place in enumerate(cache_indices.tolist()):
        some = x[:, ends[number] : ends[number + 1]]
        reused = has_initial_state is not None and has_initial_state[number] and FORGET != "state"
        before = conv_states[place] if reused else torch.zeros_like(conv_states[place])
        whole = torch.cat([before.to(x.dtype), some], 1)
        out[:, ends[number] : ends[number + 1]] = torch.nn.functional.conv1d(
            whole[None], weight[:, None], bias, groups=len(weight))[0]
        conv_states[place] = whole[:, whole.shape[1] - before.shape[1] :].to(conv_states.dtype)
    return activated(out, activation)


def convolve_one(x, conv_state, weight, bias=None, activation=None, cache_seqlens=None, conv_state_indices=None, **_):
    """Convolves one more token of each request, (requests, channels)."""
    import torch

    whole = torch.cat([conv_state[conv_state_indices].to(x.dtype), x[:, :, None]], 2)
    conv_state[conv_state_indices] = whole[:, :, 1:].to(conv_state.dtype)
    out = (whole * weight).sum(2)
    return activated(out if bias is None else out + bias, activation)
