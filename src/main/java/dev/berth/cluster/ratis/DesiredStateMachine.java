package dev.berth.cluster.ratis;

import dev.berth.desired.DesiredState;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.StateMachineStorage;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.statemachine.impl.BaseStateMachine;

/** Applies what was committed, and tells how its server fares. Ratis' threads. */
final class DesiredStateMachine extends BaseStateMachine {
  private final Snapshots snapshots = new Snapshots();

  /** Completes when changes can be proposed. */
  final CompletableFuture<Void> leads = new CompletableFuture<>();

  /**
   * Fails when the server takes nothing any more, whatever it says of itself: its log does not
   * write, or it ended.
   */
  final CompletableFuture<Void> broken = new CompletableFuture<>();

  private volatile AgreedState agreed = new AgreedState(DesiredState.EMPTY);
  private Path folder = Path.of(""); // of the log, once it is open
  private long marked; // index that its marker names, at least
  private TermIndex whole = TermIndex.INITIAL_VALUE; // what the last part that waits goes behind

  DesiredState state() {
    return agreed.state();
  }

  @Override
  public void initialize(RaftServer server, RaftGroupId group, RaftStorage storage)
      throws IOException {
    super.initialize(server, group, storage);
    folder = storage.getStorageDir().getRoot().toPath();
    marked = LogFiles.marked(folder);
    agreed = new AgreedState(snapshots.open(storage));
    if (snapshots.getLatestSnapshot() != null) {
      setLastAppliedTermIndex(snapshots.getLatestSnapshot().getTermIndex());
    }
  }

  @Override
  public StateMachineStorage getStateMachineStorage() {
    return snapshots;
  }

  @Override
  public CompletableFuture<Message> applyTransaction(TransactionContext transaction) {
    LogEntryProto entry = transaction.getLogEntry();
    if (agreed.isWhole()) {
      whole = getLastAppliedTermIndex();
    }
    if (broken.isCompletedExceptionally()) {
      return CompletableFuture.failedFuture(new IOException("not applied"));
    }
    try {
      boolean applied =
          agreed.apply(entry.getStateMachineLogEntry().getLogData().asReadOnlyByteBuffer());
      updateLastAppliedTermIndex(entry.getTerm(), entry.getIndex());
      if (entry.getIndex() > marked) { // else it is applied again, by a start
        LogFiles.mark(folder, entry.getIndex());
      }
      return CompletableFuture.completedFuture(Message.valueOf(String.valueOf(applied)));
    } catch (IOException | RuntimeException unknown) {
      broken.completeExceptionally(
          new IOException("entry " + entry.getIndex() + ": " + unknown.getMessage(), unknown));
      return CompletableFuture.failedFuture(unknown);
    }
  }

  /** At the last entry behind which no part waits. */
  @Override
  public long takeSnapshot() throws IOException {
    TermIndex at = agreed.isWhole() ? getLastAppliedTermIndex() : whole;
    if (at.getIndex() >= 0) {
      snapshots.write(at, agreed.state());
    }
    return at.getIndex();
  }

  @Override
  public void notifyLeaderReady() {
    leads.complete(null);
  }

  @Override
  public void notifyLogFailed(Throwable cause, LogEntryProto entry) {
    broken.completeExceptionally(cause);
  }

  @Override
  public void close() {
    broken.completeExceptionally(new IOException("the server ended"));
  }
}
