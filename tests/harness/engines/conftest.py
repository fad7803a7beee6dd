"""A Ray cluster of two nodes on this machine, as small as Ray lets it be."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

OBJECT_STORE_BYTES = 80 * 2**20
# A killed node refuses each check at once, so that it is found dead within five seconds; one that is merely
# slow, on a busy machine, has time to answer.
HEALTH = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 30_000,
    "health_check_failure_threshold": 4,
}


class SmallCluster:
    """Nodes with one processor each; the first is never killed, since those who connect need it."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.address: str = cluster.address

    def add_node(self, processors: int = 1) -> Any:
        return self._cluster.add_node(num_cpus=processors, object_store_memory=OBJECT_STORE_BYTES)

    def raylet(self, node: Any) -> int:
        """Process id of the node's raylet, below which its workers run."""
        return node.all_processes["raylet"][0].process.pid

    def kill(self, node: Any) -> None:
        """SIGKILL to its raylet. As a zombie it would look alive to its workers, so its end is waited for."""
        process = node.all_processes["raylet"][0].process
        process.kill()
        process.wait()

    @property
    def nodes(self) -> list[Any]:
        return self._cluster.list_all_nodes()


@pytest.fixture(scope="module")
def cluster() -> Iterator[SmallCluster]:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": OBJECT_STORE_BYTES, "include_dashboard": False}
    found = Cluster(initialize_head=True, head_node_args=small | {"_system_config": HEALTH})
    try:
        yield SmallCluster(found)
    finally:
        found.shutdown()
