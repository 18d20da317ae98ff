package dev.berth.cluster.ratis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.desired.DesiredChange;
import dev.berth.desired.DesiredState;
import dev.berth.desired.NodeRegistry;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class AgreedStateTest {
  private final ReplicatedState agreed = new ReplicatedState(DesiredState.EMPTY);

  private static DesiredChange registry(DesiredState on, String cluster) {
    return Objects.requireNonNull(on.nodes(NodeRegistry.born(cluster, "")));
  }

  private boolean apply(byte[] entry) throws IOException {
    return agreed.apply(ByteBuffer.wrap(entry));
  }

  private List<Boolean> applyAll(List<byte[]> entries) throws IOException {
    List<Boolean> all = new ArrayList<>();
    for (byte[] each : entries) {
      all.add(apply(each));
    }
    return all;
  }

  private static List<byte[]> large(DesiredState on, char what) {
    List<byte[]> entries =
        ReplicatedState.entries(registry(on, String.valueOf(what).repeat(5 << 19)));
    assertThat(entries).hasSize(3).allMatch(each -> each.length <= 1 << 20);
    return entries;
  }

  @Test
  void theLastPartCounts() throws IOException {
    List<byte[]> parts = large(agreed.state, 'x');
    assertThat(apply(parts.get(0))).isFalse();
    assertThat(apply(parts.get(1))).isFalse();
    assertThat(agreed.state.index()).isZero();
    assertThat(agreed.isWhole()).isFalse();
    assertThat(apply(parts.get(2))).isTrue();
    assertThat(agreed.isWhole()).isTrue();
    assertThat(agreed.state.nodes().cluster()).hasSize(5 << 19);
  }

  @Test
  void partsThatWereGivenUpAreNone() throws IOException {
    List<byte[]> first = large(agreed.state, 'x');
    List<byte[]> second = large(agreed.state, 'y');
    applyAll(first.subList(0, 2));
    assertThat(applyAll(second)).containsExactly(false, false, true);
    assertThat(agreed.state.nodes().cluster()).startsWith("y");
    assertThat(apply(first.get(2))).as("behind others").isFalse();
    assertThat(apply(first.get(1))).isFalse();
    assertThat(agreed.state.index()).isEqualTo(1);
  }

  @Test
  void aPartThatIsMissingMakesTheRestStale() throws IOException {
    List<byte[]> parts = large(agreed.state, 'x');
    assertThat(apply(parts.get(0))).isFalse();
    assertThat(apply(parts.get(2))).isFalse();
    assertThat(agreed.state.index()).isZero();
  }

  @Test
  void whoCameFirstCountsAndAFirstMayBeWhole() throws IOException {
    DesiredState kept = DesiredState.EMPTY;
    for (int i = 0; i < 5; i++) {
      kept = kept.with(List.of(registry(kept, "c" + i)));
    }
    assertThat(applyAll(ReplicatedState.entries(kept.whole()))).containsExactly(true);
    assertThat(agreed.state.index()).isEqualTo(5);

    DesiredChange one = registry(agreed.state, "one");
    DesiredChange other = registry(agreed.state, "other");
    assertThat(applyAll(ReplicatedState.entries(one))).containsExactly(true);
    assertThat(applyAll(ReplicatedState.entries(other))).containsExactly(false);
    assertThat(applyAll(ReplicatedState.entries(kept.whole()))).containsExactly(false);
    assertThat(agreed.state.nodes().cluster()).isEqualTo("one");
  }

  @Test
  void whatIsNoChangeIsRefused() {
    byte[] entry = ReplicatedState.entries(registry(agreed.state, "c")).get(0);
    entry[entry.length - 3] ^= 1;
    assertThatThrownBy(() -> apply(entry)).isInstanceOf(IOException.class);
    byte[] later = ReplicatedState.entries(registry(agreed.state, "c")).get(0);
    later[8 + 7] = 9;
    assertThatThrownBy(() -> apply(later)).isInstanceOf(IOException.class);
  }
}
