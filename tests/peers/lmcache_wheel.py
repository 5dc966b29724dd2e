"""Compares the interface for storages in an unpacked wheel of LMCache with that of 0.5.6 (docs/tutorials/servers.md). Imports nothing of it."""
import ast
import pathlib

# The functions that must be there before Canopy's storages can be a plugin, and those that are in 0.5.6: abstract functions of
# the two interfaces with their arguments, and the field of the metadata that is to replace kv_shape, which is None at the start.
KNOWN = {
    ("storage_backend/abstract_backend.py", "StorageBackendInterface"): {
        "batched_submit_put_task(keys, objs, transfer_spec, on_complete_callback)", "close()", "contains(key, pin)",
        "exists_in_put_tasks(key)", "get_allocator_backend()", "get_blocking(key)", "pin(key)", "remove(key, force)", "unpin(key)",
    },
    ("distributed/l2_adapters/base.py", "L2AdapterInterface"): {
        "close()", "get_load_event_fd()", "get_lookup_and_lock_event_fd()", "get_store_event_fd()", "pop_completed_store_tasks()",
        "query_load_result(task_id)", "query_lookup_and_lock_result(task_id)", "submit_load_task(keys, objects)",
        "submit_lookup_and_lock_task(keys, group_layout_descs)", "submit_store_task(keys, objects)", "submit_unlock(keys)",
    },
    ("metadata.py", "LMCacheMetadata"): {"kv_layer_groups_manager = None"},
}


def offered(body):
    """Returns the abstract functions of a class, and its fields that are None by default."""
    for item in body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any("abstractmethod" in ast.unparse(decorator) for decorator in item.decorator_list):
                yield f"{item.name}({', '.join(argument.arg for argument in item.args.args[1:] + item.args.kwonlyargs)})"
        elif isinstance(item, ast.AnnAssign) and item.value is not None and ast.unparse(item.value) == "None":
            yield f"{item.target.id} = None"


def differs(wheel):
    """Returns the first difference between a wheel and KNOWN, as a sentence; an empty text if there is none."""
    for (file, name), known in KNOWN.items():
        path = pathlib.Path(wheel) / "lmcache/v1" / file
        if not path.is_file():
            return f"{file} is not there any more"
        found = next((set(offered(item.body)) for item in ast.walk(ast.parse(path.read_text()))
                      if isinstance(item, ast.ClassDef) and item.name == name), None)
        if found is None:
            return f"{file} has no {name}"
        gone, new = known - found, (found - known if name != "LMCacheMetadata" else set())
        if gone or new:
            return f"{name}: {'; '.join([f'no {one}' for one in sorted(gone)] + [f'new: {one}' for one in sorted(new)])}"
    return ""
