package dev.berth.cluster.membership;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class FenceTest {
  private static final ClusterEpoch SEEN = new ClusterEpoch("a", 2, 5, 9, "d9");

  private final Fence fence = new Fence();

  @Test
  void whoSawNothingIsCommandedByAnyone() {
    assertThat(fence.refuses(new ClusterEpoch("b", 0, 0, 0, "d0"))).isNull();
    assertThat(fence.seen()).isNull();
  }

  @Test
  void anotherClusterCommandsNothingWhateverItsNumbers() {
    fence.record(SEEN);

    assertThat(fence.refuses(new ClusterEpoch("b", 9, 9, 9, "d9")))
        .isEqualTo("cluster id: b (expected: a)");
  }

  @Test
  void anOlderStateCommandsNothing() {
    fence.record(SEEN);

    assertThat(fence.refuses(new ClusterEpoch("a", 1, 6, 10, "d10"))).contains("at least 2, 5, 9");
    assertThat(fence.refuses(new ClusterEpoch("a", 2, 4, 10, "d10"))).isNotNull();
    assertThat(fence.refuses(new ClusterEpoch("a", 2, 6, 8, "d8"))).isNotNull();
    assertThat(fence.refuses(SEEN)).isNull();
    assertThat(fence.refuses(new ClusterEpoch("a", 2, 6, 9, "d9"))).isNull();
    assertThat(fence.refuses(new ClusterEpoch("a", 2, 6, 9, "another"))).isNotNull();
    assertThat(fence.refuses(new ClusterEpoch("a", 3, 1, 1, "d1"))).isNull();
  }

  @Test
  void theNewestOfEachIsRemembered() {
    fence.record(SEEN);
    fence.record(new ClusterEpoch("a", 2, 4, 12, "d12"));
    assertThat(fence.seen()).isEqualTo(new ClusterEpoch("a", 2, 5, 12, "d12"));
    fence.record(new ClusterEpoch("a", 1, 99, 99, "d99"));
    assertThat(fence.seen()).isEqualTo(new ClusterEpoch("a", 2, 5, 12, "d12"));
    fence.record(new ClusterEpoch("a", 3, 1, 1, "d1"));
    assertThat(fence.seen()).isEqualTo(new ClusterEpoch("a", 3, 1, 1, "d1"));
  }
}
