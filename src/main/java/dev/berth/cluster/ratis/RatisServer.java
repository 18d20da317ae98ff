package dev.berth.cluster.ratis;

import dev.berth.desired.CommitOutcomeUnknownException;
import dev.berth.desired.ConsensusEngine.ConsensusOptions;
import dev.berth.desired.DesiredChange;
import dev.berth.desired.DesiredState;
import dev.berth.net.tls.TlsMaterial;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.conf.Parameters;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.grpc.GrpcConfigKeys;
import org.apache.ratis.grpc.GrpcTlsConfig;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.exceptions.ServerNotReadyException;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerConfigKeys;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.util.ExitUtils;
import org.apache.ratis.util.IOUtils;
import org.apache.ratis.util.JvmPauseMonitor;
import org.apache.ratis.util.SizeInBytes;
import org.apache.ratis.util.TimeDuration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A Ratis server, which forms a group alone. A broken server is never repaired, but replaced. Used
 * by one caller at a time, except for {@link #state}.
 */
final class RatisServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RatisServer.class);

  /** Timeout of a start in seconds: the server reads its log, and elects itself. */
  private static final long LEADS_WITHIN_S = 30;

  /** Number of entries between two snapshots. Two snapshots are retained. */
  private static final long SNAPSHOT_ENTRIES = 1_000;

  /**
   * Number of retained entries before the newest snapshot, which suffice for the previous snapshot.
   */
  private static final long KEPT_ENTRIES = 2 * SNAPSHOT_ENTRIES + 48;

  /** Maximum pause of a process without loss of leadership; the group has no other server. */
  private static final TimeDuration A_DAY = TimeDuration.valueOf(1, TimeUnit.DAYS);

  static {
    // Ratis ends the process when it cannot bind its port. It would also end the process on an
    // uncaught exception of any thread, including threads of other code.
    Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
    ExitUtils.disableSystemExit();
    Thread.setDefaultUncaughtExceptionHandler(before);
  }

  private final DesiredStateMachine machine = new DesiredStateMachine();
  private final RaftGroupId group;
  private final RaftPeerId self;
  private final RaftServer server;
  private final ClientId proposer = ClientId.randomId();
  private long proposals;

  private RatisServer(ConsensusOptions options, Path log) throws IOException {
    group = RaftGroupId.valueOf(group(options.cluster()));
    self = RaftPeerId.valueOf(options.node());
    RaftPeer peer =
        RaftPeer.newBuilder().setId(self).setAddress(options.host() + ":" + options.port()).build();
    server =
        RaftServer.newBuilder()
            .setServerId(self)
            .setGroup(RaftGroup.valueOf(group, peer))
            .setOption(RaftStorage.StartupOption.RECOVER)
            .setProperties(properties(options, log))
            .setParameters(parameters(options))
            .setStateMachine(machine)
            .build();
  }

  /** Returns the group id of a cluster, which is also the name of its folder in the log. */
  static UUID group(String cluster) {
    return UUID.nameUUIDFromBytes(cluster.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Starts a server. Returns when it is the leader.
   *
   * @param log folder
   * @throws IOException when it does not become the leader; the server is then closed
   */
  static RatisServer start(ConsensusOptions options, Path log) throws IOException {
    RatisServer made = new RatisServer(options, log);
    try {
      made.server.start();
      made.stopPauseMonitor();
      made.await(made.machine.leads, LEADS_WITHIN_S);
      return made;
    } catch (IOException | Error failed) {
      made.close();
      throw failed;
    } catch (RuntimeException failed) { // Ratis wraps some failures
      made.close();
      throw new IOException(failed);
    }
  }

  /**
   * Stops the thread that looks for pauses three times a second. With both thresholds at a day, the
   * server takes no action on a pause.
   */
  private void stopPauseMonitor() {
    try {
      Field monitor = server.getClass().getDeclaredField("pauseMonitor"); // Ratis has no option
      monitor.setAccessible(true);
      ((JvmPauseMonitor) monitor.get(server)).stop();
    } catch (ReflectiveOperationException | RuntimeException another) { // other version of Ratis
      LOG.debug("state: pause monitor not stopped", another);
    }
  }

  private static RaftProperties properties(ConsensusOptions options, Path log) {
    RaftProperties all = new RaftProperties();
    RaftServerConfigKeys.setStorageDir(all, List.of(log.toFile()));
    RaftServerConfigKeys.setCloseThreshold(all, A_DAY);
    RaftServerConfigKeys.LeaderElection.setLeaderStepDownWaitTime(all, A_DAY);
    RaftServerConfigKeys.Rpc.setFirstElectionTimeoutMin(all, millis(200));
    RaftServerConfigKeys.Rpc.setFirstElectionTimeoutMax(all, millis(500));
    RaftServerConfigKeys.Rpc.setTimeoutMin(all, millis(1_500));
    RaftServerConfigKeys.Rpc.setTimeoutMax(all, millis(3_000));
    RaftServerConfigKeys.Log.setSegmentSizeMax(all, SizeInBytes.valueOf("1MB"));
    RaftServerConfigKeys.Log.setPreallocatedSize(all, SizeInBytes.valueOf("64KB"));
    RaftServerConfigKeys.Log.setCorruptionPolicy( // of a partial entry that LogFiles accepted
        all, RaftServerConfigKeys.Log.CorruptionPolicy.WARN_AND_RETURN);
    RaftServerConfigKeys.Log.setLogMetadataEnabled(all, false);
    RaftServerConfigKeys.Log.setPurgeUptoSnapshotIndex(all, true);
    RaftServerConfigKeys.Log.setPurgePreservationLogNum(all, KEPT_ENTRIES);
    RaftServerConfigKeys.Snapshot.setAutoTriggerEnabled(all, true);
    RaftServerConfigKeys.Snapshot.setAutoTriggerThreshold(all, SNAPSHOT_ENTRIES);
    RaftServerConfigKeys.Snapshot.setTriggerWhenStopEnabled(all, false);
    RaftServerConfigKeys.Snapshot.setRetentionFileNum(all, 2);
    GrpcConfigKeys.Server.setHost(all, options.host());
    GrpcConfigKeys.Server.setPort(all, options.port());
    return all;
  }

  private static TimeDuration millis(long millis) {
    return TimeDuration.valueOf(millis, TimeUnit.MILLISECONDS);
  }

  private static Parameters parameters(ConsensusOptions options) {
    Parameters all = new Parameters();
    if (options.tls() != null) {
      GrpcConfigKeys.TLS.setConf(all, tls(options.tls().read()));
      GrpcConfigKeys.Server.setServicesCustomizer(
          all, new PeerCertificateInterceptor(Set.of(options.node())));
    }
    return all;
  }

  /**
   * Returns the TLS settings. From files, Ratis would create a PKCS #12 store, as {@link
   * TlsMaterial} explains.
   */
  private static GrpcTlsConfig tls(TlsMaterial own) {
    return new GrpcTlsConfig(
        own.keys().getKeyManagers()[0], own.authorities().getTrustManagers()[0], true);
  }

  /** Returns the applied state. Thread-safe. */
  DesiredState state() {
    return machine.state();
  }

  /** Returns the reason why the server accepts no further entries; null while it may. */
  @Nullable Throwable failure() {
    return machine.broken.handle((none, failed) -> failed).getNow(null);
  }

  /**
   * Proposes a change. Returns when the change is committed and applied.
   *
   * @param withinS timeout in seconds
   * @return whether the change was applied; false when it was computed on an earlier state
   * @throws CommitOutcomeUnknownException when the outcome is unknown: the timeout passed, or the
   *     server broke meanwhile
   * @throws IOException when the change was not accepted
   */
  boolean propose(DesiredChange change, long withinS) throws IOException {
    try {
      CompletableFuture<RaftClientReply> last = CompletableFuture.completedFuture(null);
      for (byte[] entry : ReplicatedState.entries(change)) {
        last = server.submitClientRequestAsync(request(entry));
      }
      RaftClientReply reply = await(last, withinS);
      if (!reply.isSuccess()) {
        throw reply.getException();
      }
      return Boolean.parseBoolean(reply.getMessage().getContent().toStringUtf8());
    } catch (ServerNotReadyException refused) {
      throw refused;
    } catch (IOException failed) {
      throw new CommitOutcomeUnknownException(String.valueOf(failed.getMessage()));
    }
  }

  private RaftClientRequest request(byte[] entry) {
    return RaftClientRequest.newBuilder()
        .setClientId(proposer)
        .setServerId(self)
        .setGroupId(group)
        .setCallId(++proposals)
        .setMessage(Message.valueOf(ByteString.copyFrom(entry)))
        .setType(RaftClientRequest.writeRequestType())
        .build();
  }

  /** Waits for a future, but no longer than the server works. */
  private <T> T await(CompletableFuture<T> what, long withinS) throws IOException {
    TimeDuration limit = TimeDuration.valueOf(withinS, TimeUnit.SECONDS);
    IOUtils.getFromFuture(
        CompletableFuture.anyOf(what, machine.broken), () -> "no reply of the log", limit);
    return what.join();
  }

  /** Closes the server, in about 1 s. */
  @Override
  public void close() {
    try {
      server.close();
    } catch (IOException | RuntimeException failed) {
      LOG.warn("state: log not closed: {}", failed.toString());
    }
  }
}
