package dev.berth.cluster.ratis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.desired.DesiredState;
import dev.berth.desired.NodeRegistry;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.StateMachineLogEntryProto;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.server.storage.RaftStorageDirectory;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.thirdparty.com.google.protobuf.UnsafeByteOperations;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The state machine and its snapshots, without a server. */
class StateMachineTest {
  @TempDir private Path folder;
  private DesiredStateMachine machine = new DesiredStateMachine();
  private long index;

  private static <T> T answering(Class<T> type, Map<String, Object> answers) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, words) -> answers.get(method.getName())));
  }

  private RaftStorage storage() {
    RaftStorageDirectory directory =
        answering(
            RaftStorageDirectory.class,
            Map.of(
                "getRoot", folder.toFile(),
                "getCurrentDir", folder.resolve("current").toFile(),
                "getStateMachineDir", folder.resolve("sm").toFile()));
    return answering(RaftStorage.class, Map.of("getStorageDir", directory));
  }

  @BeforeEach
  void open() throws IOException {
    Files.createDirectories(folder.resolve("current"));
    Files.createDirectories(folder.resolve("sm"));
    initialize(machine);
  }

  private void initialize(DesiredStateMachine made) throws IOException {
    RaftServer server = answering(RaftServer.class, Map.of("getId", RaftPeerId.valueOf("n1")));
    made.initialize(server, RaftGroupId.randomId(), storage());
  }

  private void apply(byte[] entry) {
    LogEntryProto.Builder made = LogEntryProto.newBuilder().setTerm(1).setIndex(index++);
    made.setStateMachineLogEntry(
        StateMachineLogEntryProto.newBuilder().setLogData(UnsafeByteOperations.unsafeWrap(entry)));
    TransactionContext transaction =
        answering(TransactionContext.class, Map.of("getLogEntry", made.build()));
    machine.applyTransaction(transaction).join();
  }

  private List<byte[]> change(String cluster) {
    return ReplicatedState.entries(
        Objects.requireNonNull(machine.state().nodes(NodeRegistry.born(cluster, ""))));
  }

  @Test
  void snapshotBetweenPartsOfChangeIsBehindTheLastWhole() throws IOException {
    change("small").forEach(this::apply);
    List<byte[]> parts = change("x".repeat(5 << 19));
    assertThat(parts).hasSize(3);
    for (int part = 0; part < 2; part++) {
      apply(parts.get(part));
      assertThat(machine.takeSnapshot()).as("behind part %d", part).isZero();
    }

    machine = new DesiredStateMachine();
    initialize(machine);
    assertThat(machine.getLastAppliedTermIndex()).isEqualTo(TermIndex.valueOf(1, 0));
    index = 1; // the log goes on behind the snapshot
    parts.forEach(this::apply);
    assertThat(machine.state().nodes().cluster()).hasSize(5 << 19);
    assertThat(machine.takeSnapshot()).isEqualTo(3);
  }

  @Test
  void logThatBeginsRightBehindTheSnapshotIsWhole() throws IOException {
    change("small").forEach(this::apply);
    apply(ReplicatedState.entries(machine.state().whole()).get(0)); // changes nothing
    assertThat(machine.takeSnapshot()).isEqualTo(1);

    Path log = Files.createFile(folder.resolve("current/log_inprogress_2"));
    DesiredState read = new Snapshots().open(storage());
    assertThat(read.nodes().cluster()).isEqualTo("small");
    Files.move(log, folder.resolve("current/log_3-9"));
    assertThatThrownBy(() -> new Snapshots().open(storage()))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("entries 2 to 2 are missing");
  }

  @Test
  void logWithoutSnapshotBeginsAtTheFirstEntry() throws IOException {
    Path log = Files.createFile(folder.resolve("current/log_0-5"));
    assertThat(new Snapshots().open(storage())).isSameAs(DesiredState.EMPTY);
    Files.move(log, folder.resolve("current/log_1-5"));
    assertThatThrownBy(() -> new Snapshots().open(storage()))
        .hasMessageContaining("entries 0 to 0 are missing");
  }
}
