package dev.berth.desired;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The digests of operators' commands, by which an older state is told from a later one. */
class CommandChainTest {
  private DesiredState state =
      DesiredState.EMPTY.with(List.of(DesiredState.EMPTY.nodes(NodeRegistry.born("c1", ""))));

  private static DesiredState on(DesiredState state, DesiredChange change) {
    return state.with(List.of(DesiredRig.again(change)));
  }

  private static DesiredState cordon(DesiredState state, String node, boolean on) {
    return on(state, state.nodes(state.nodes().cordon(node, on)));
  }

  private static DesiredState starts(DesiredState state) {
    DesiredState begun = on(state, state.nextTerm(5, 0));
    return on(begun, begun.nodes(begun.nodes().with("n" + begun.head.term(), "f0")));
  }

  private static boolean includes(DesiredState state, Map.Entry<Long, String> command) {
    return state.includes(command.getKey(), command.getValue());
  }

  @Test
  void startsAndRegistrationsAreNoCommands() {
    assertThat(state.command()).isEqualTo(Map.entry(0L, ""));
    DesiredState deployed = cordon(state, "n2", true);
    assertThat(deployed.command().getKey()).isEqualTo(2);
    assertThat(starts(starts(deployed)).command()).isEqualTo(deployed.command());
  }

  @Test
  void olderStateLacksTheLastCommandHoweverOftenItStarts() {
    DesiredState old = cordon(state, "n2", true);
    DesiredState newer = cordon(old, "n3", true);
    for (int start = 0; start < 5; start++) {
      old = starts(old);
      assertThat(includes(old, newer.command())).isFalse();
    }
    assertThat(includes(newer, old.command())).isTrue();
    DesiredState forked = cordon(old, "n4", true);
    assertThat(includes(forked, newer.command())).as("of another history").isFalse();
    assertThat(includes(newer, forked.command())).isFalse();
  }

  @Test
  void sameCommandAfterAnotherHistoryHasAnotherDigest() {
    DesiredState one = cordon(cordon(state, "n2", true), "n3", true);
    DesiredState other = cordon(cordon(state, "n4", true), "n3", true);
    assertThat(other.command().getKey()).isEqualTo(one.command().getKey());
    assertThat(includes(other, one.command())).isFalse();
  }

  @Test
  void chainIsWrittenWithTheWholeAndBounded() throws IOException {
    DesiredState first = cordon(state, "n2", true);
    DesiredState later = first;
    for (int i = 0; i < DesiredState.MAX_COMMAND_DIGESTS; i++) {
      later = cordon(later, "n3", i % 2 == 0);
    }
    DesiredState read =
        DesiredState.EMPTY.with(
            List.of(StateStoreRecords.change(StateStoreRecords.file(later.whole()))));
    assertThat(read.command()).isEqualTo(later.command());
    assertThat(read.whole().chain()).hasSize(DesiredState.MAX_COMMAND_DIGESTS);
    assertThat(includes(read, first.command())).as("older than those that are kept").isTrue();
    assertThat(read.includes(later.command().getKey() - 1, "other")).isFalse();
  }

  @Test
  void stateOfTheFormatBeforeIsRead() throws IOException {
    byte[] file = StateStoreRecords.file(state.whole());
    byte[] head = StateStoreRecords.fileHead((byte) 1);
    System.arraycopy(head, 0, file, 0, head.length);
    assertThat(StateStoreRecords.change(file).index()).isEqualTo(1);
  }

  @Test
  void termIsNotBelowTheOneThatIsAsked() {
    DesiredState begun = on(state, state.nextTerm(5, 1_800_000_000));
    assertThat(begun.head.term()).isEqualTo(1_800_000_000);
    assertThat(on(begun, begun.nextTerm(5, 17)).head.term()).isEqualTo(1_800_000_001);
  }
}
