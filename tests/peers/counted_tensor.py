"""A tensor that stands for one on a GPU: it lies on the CPU and counts each use that would copy it to the host."""
import contextlib

import torch

COPIES = {
    torch.Tensor.tolist, torch.Tensor.item, torch.Tensor.cpu, torch.Tensor.numpy, torch.Tensor.__bool__,
    torch.Tensor.__int__, torch.Tensor.__float__, torch.Tensor.__index__, torch.Tensor.__array__, torch.Tensor.nonzero,
    torch.nonzero, torch.unique, torch.Tensor.unique, torch.equal, torch.Tensor.equal, torch.masked_select,
}


class OnDevice(torch.Tensor):
    """A tensor that counts its copies. Operations on one return one."""

    copies = 0  # while `watched` is set
    watched = False

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        moved = function is torch.Tensor.to and "cpu" in str([*args[1:], *kwargs.values()]) and isinstance(args[0], cls)
        if cls.watched and (function in COPIES or moved):
            OnDevice.copies += 1
        return super().__torch_function__(function, types, args, kwargs)


@contextlib.contextmanager
def watching(yes=True):
    before, OnDevice.watched = OnDevice.watched, yes
    try:
        yield
    finally:
        OnDevice.watched = before


def on_device(allocator, pool):
    """Pools of sglang_wheel.pools whose tensors are on such a device. What they do themselves is not counted."""
    pool.req_to_token = pool.req_to_token.as_subclass(OnDevice)

    def unseen(call):
        def function(*args, **named):
            with watching(False):
                found = call(*args, **named)
                return found.as_subclass(OnDevice) if isinstance(found, torch.Tensor) else found

        return function

    for owner, names in ((allocator, ("alloc", "free", "free_segment", "free_page_ids")), (pool, ("write",))):
        for name in names:
            setattr(owner, name, unseen(getattr(owner, name)))
    return allocator, pool


def watch(cache):
    """Counts while one of the cache's functions runs."""
    for name in ("match_prefix", "lock", "unlock", "path_device_indices", "checkpoint", "evict", "dfs_weight_order",
                 "evictable_size", "protected_size", "on_release"):
        call = getattr(cache, name)

        def function(*args, _call=call, **named):
            with watching():
                return _call(*args, **named)

        setattr(cache, name, function)
    cache._table = cache._table.as_subclass(OnDevice)
    return cache
