"""SGLang's Python tree core with the rules in which Canopy's index differs by design, and nothing else.

1. A lock holds exactly its window, in whole pages. SGLang's holds whole nodes. So a node in which a window begins is split.
2. A leaf that lacks its window or its state, and that no lock holds, leaves at once with its full pages: no match can end
   there. SGLang keeps it until full attention needs room. What leaves at an unlock is given out by the next eviction.
3. A match splits the node in which it ends. SGLang's also splits the node in which full attention ends, where the match
   does not.
4. The page with the state is a node of its own. SGLang's node has its state at its end.
5. A node that an insert splits where its window begins counts the insert as a hit in each part. SGLang's counts in the last.
6. Each insert keeps its path to the most states that it may have. SGLang's does only if it brings a state.

The lockstep compares Canopy with this, so all that these rules do not say is the wheel's.
"""
import types
from collections import defaultdict


def rules():
    """Returns the core, and the components that go with it."""
    from sglang.srt.mem_cache.base_prefix_cache import DecLockRefResult
    from sglang.srt.mem_cache.unified_cache.component_type import ComponentType
    from sglang.srt.mem_cache.unified_cache.components.base import EvictLayer
    from sglang.srt.mem_cache.unified_cache.components.mamba import MambaComponent
    from sglang.srt.mem_cache.unified_cache.components.swa import SWAComponent
    from sglang.srt.mem_cache.unified_cache.unified_tree_core import UnifiedTreeCore
    from sglang.srt.mem_cache.unified_cache.unified_tree_core_interface import EvictDeviceNextNodeResult

    class Window(SWAComponent):
        def acquire_component_lock(self, node, result, lock_host=False):
            core, root = self.tree_core, self.tree_core.root_node
            at, missing = node, -(-self.sliding_window_size // core.page_size) * core.page_size
            while at is not root and len(at.key) < missing:
                missing -= len(at.key)
                at = at.parent
            if at is not root and len(at.key) > missing:
                core._split_node(at.key, at, len(at.key) - missing)
            return super().acquire_component_lock(node, result, lock_host)

    class State(MambaComponent):
        def commit_insert_component_data(self, node, is_new_leaf, params, result, cache_actions):
            super().commit_insert_component_data(node, is_new_leaf, params, result, cache_actions)
            if result.mamba_exist:
                self._emit_excess_path_states_eviction(node, cache_actions)

    class Core(UnifiedTreeCore):
        def __init__(self, params, components):
            self.left, self.counts = defaultdict(list), defaultdict(int)
            self.fresh = None  # node in which an insert ended, until SGLang locks it: it stays
            super().__init__(params, components)

        def unused_end(self, key, params):
            """Returns (begin of the node in which full attention ends, tokens of it) if no match can end there."""
            validators = self._create_match_validators(params, match_device_only=True)
            node, depth = self.root_node, 0
            while depth < len(key):
                child = node.children.get(key.child_key_at(depth, self.page_size))
                if child is None:
                    return None
                common = child.key.match_at(key, depth, page_size=self.page_size)
                if common < len(child.key):
                    half = types.SimpleNamespace(key=range(common), component_data=list(child.component_data))
                    half.component_data[ComponentType.MAMBA] = types.SimpleNamespace(value=None)  # it stays at the end
                    return None if all([serves(half) for serves in validators]) else (depth, common)
                for serves in validators:
                    serves(child)
                node, depth = child, depth + common
            return None

        def _match_prefix_helper(self, key, params):
            unused = self.unused_end(key, params)
            if unused is None:
                return super()._match_prefix_helper(key, params)
            begin, common = unused
            found = super()._match_prefix_helper(key[:begin], params) if begin else self.empty_match_result
            full, length = begin + common, found.device_prefix_len
            branching = {}
            if ComponentType.SWA in self.components_by_type:
                branching["swa_branching_seqlen"] = full if full > length else None
            if ComponentType.MAMBA in self.components_by_type:
                grid = self.components_by_type[ComponentType.MAMBA].mamba_checkpoint_grid
                branching["mamba_branching_seqlen"] = full // grid * grid if full // grid * grid > length else None
            return found._replace(full_kv_hit_length=full, **branching)

        def _insert_tail_step(self, state):
            node = state.target_node
            before = node.hit_count
            super()._insert_tail_step(state)
            self.count_parts(node, state.node, node.hit_count - before)
            if len(node.key) > self.page_size and node.component_data[ComponentType.MAMBA].value is not None:
                self._split_node(node.key, node, len(node.key) - self.page_size)
            self.settle()
            self.fresh = node

        def _finish_insert_walk_node(self, state, node, prefix_len):
            above, before = state.node, node.hit_count
            super()._finish_insert_walk_node(state, node, prefix_len)
            self.count_parts(node, above, node.hit_count - before)

        @staticmethod
        def count_parts(node, above, hits):
            while node is not above and node.parent is not above:
                node = node.parent
                node.hit_count += hits

        def settle(self):
            node, self.fresh = self.fresh, None
            if node is not None and node.id in self._node_arena:
                self.sweep(node, self.counts, self.left)

        def match_prefix(self, params):
            self.settle()
            return super().match_prefix(params)

        def evict_device_start(self, component_type, request_cnt):
            self.settle()
            super().evict_device_start(component_type, request_cnt)

        def inc_lock_ref(self, node_id, skip_lock_components=()):
            result = super().inc_lock_ref(node_id, skip_lock_components)
            self.settle()
            return result

        def sweep(self, node, tracker, device_frees):
            """Removes dead leaves from `node` on upwards. Returns the last one."""
            last = None
            while node is not self.root_node and not node.children:
                data = [node.component_data[component.component_type] for component in self.components]
                if node is self.fresh or any(one.lock_ref for one in data) or all(one.value is not None for one in data):
                    break
                parent = node.parent
                for component in reversed(self.components):
                    if node.component_data[component.component_type].value is not None:
                        self._evict_component_and_detach_lru(
                            node, component, device_frees, defaultdict(list), [], target=EvictLayer.DEVICE, tracker=tracker)
                node.component_data[ComponentType.FULL].value = None
                self.evictable_device_leaves.discard(node)
                self.kv_events.record_remove(node)
                self._remove_leaf_from_parent(node)
                last, node = node, parent
            self._update_evictable_leaf_sets(node)
            return last

        def _iteratively_delete_tombstone_leaf(self, deleted_node, tracker, device_frees, host_frees, cache_actions):
            last = self.sweep(deleted_node.parent, tracker, device_frees)
            full = self.components_by_type[ComponentType.FULL]
            if last is not None and getattr(full, "_evict_device_last_node", None) is not None:
                full._evict_device_last_node = last  # its parent is a candidate now

        def dec_lock_ref(self, node_id, params, skip_swa=False):
            super().dec_lock_ref(node_id, params, skip_swa)
            self.sweep(self.node_by_id(node_id), self.counts, self.left)
            return DecLockRefResult()

        def evict_device_next_node(self, component_type, tracker):
            wanted = self.components_by_type[component_type]._evict_device_request_cnt
            if not self.counts or tracker.get(component_type, 0) >= wanted:
                return super().evict_device_next_node(component_type, tracker)
            result = EvictDeviceNextNodeResult(made_progress=True)
            for name, parts in self.left.items():
                result.device_frees[name].extend(parts)
            result.tracker.update({name: count for name, count in self.counts.items() if count})
            self.left.clear()
            self.counts.clear()
            return result

        def component_evictable_size(self, component_type):
            return super().component_evictable_size(component_type) + self.counts.get(component_type, 0)

        def evictable_size(self):
            return self.component_evictable_size(ComponentType.FULL)

        full_evictable_size = evictable_size

        def swa_evictable_size(self):
            return self.component_evictable_size(ComponentType.SWA)

        def mamba_evictable_size(self):
            return self.component_evictable_size(ComponentType.MAMBA)

    return Core, {ComponentType.SWA: Window, ComponentType.MAMBA: State}
