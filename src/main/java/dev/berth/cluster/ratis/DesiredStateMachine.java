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

/** Applies committed entries, and reports the condition of its server. Called on Ratis' threads. */
final class DesiredStateMachine extends BaseStateMachine {
  private final Snapshots snapshots = new Snapshots();

  /** Completes when changes can be proposed. */
  final CompletableFuture<Void> leads = new CompletableFuture<>();

  /**
   * Fails when the server accepts no further entries, whatever state Ratis reports: a write to the
   * log failed, or the server ended.
   */
  final CompletableFuture<Void> broken = new CompletableFuture<>();

  private volatile ReplicatedState agreed = new ReplicatedState(DesiredState.EMPTY);
  private Path folder = Path.of(""); // of the log, after its open
  private long marked; // lower bound of the marker's index
  private TermIndex whole = TermIndex.INITIAL_VALUE; // entry before the first pending part

  DesiredState state() {
    return agreed.state;
  }

  @Override
  public void initialize(RaftServer server, RaftGroupId group, RaftStorage storage)
      throws IOException {
    super.initialize(server, group, storage);
    folder = storage.getStorageDir().getRoot().toPath();
    marked = LogFiles.readMarker(folder);
    agreed = new ReplicatedState(snapshots.open(storage));
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
      if (entry.getIndex() > marked) { // else a restart applies it again
        LogFiles.mark(folder, entry.getIndex());
      }
      return CompletableFuture.completedFuture(Message.valueOf(String.valueOf(applied)));
    } catch (IOException | RuntimeException unknown) {
      broken.completeExceptionally(
          new IOException("entry " + entry.getIndex() + ": " + unknown.getMessage(), unknown));
      return CompletableFuture.failedFuture(unknown);
    }
  }

  /** Writes a snapshot of the last entry without a pending part. */
  @Override
  public long takeSnapshot() throws IOException {
    TermIndex at = agreed.isWhole() ? getLastAppliedTermIndex() : whole;
    if (at.getIndex() >= 0) {
      snapshots.write(at, agreed.state);
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
    broken.completeExceptionally(new IOException("the server stopped"));
  }
}
