package dev.berth.desired;

import dev.berth.code.StartFailedException;
import dev.berth.net.tls.TlsFiles;
import java.nio.file.Path;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/**
 * The factory of the replicated log of a cluster's control nodes. Its implementation is in a jar of
 * its own.
 */
public interface ConsensusEngine {

  /**
   * The options of one control node's log.
   *
   * @param directory {@code berth.state_dir}
   * @param cluster name of the cluster
   * @param node name of the node
   * @param host address where it listens for other control nodes
   * @param port port of that address
   * @param tls null for plain text
   * @param newId random id for a cluster that starts here
   */
  record ConsensusOptions(
      Path directory,
      String cluster,
      String node,
      String host,
      int port,
      @Nullable TlsFiles tls,
      String newId) {}

  /** Returns a log that is not opened yet. */
  StateLog log(ConsensusOptions options);

  /**
   * Returns the installed engine.
   *
   * @throws StartFailedException when its jar is missing
   */
  static ConsensusEngine find() {
    return ServiceLoader.load(ConsensusEngine.class, ConsensusEngine.class.getClassLoader())
        .findFirst()
        .orElseThrow(
            () ->
                new StartFailedException(
                    "berth.cluster: berth-cluster.jar: not beside berth.jar (expected: there)"));
  }
}
