package dev.berth.desired;

import dev.berth.code.StartFailedException;
import dev.berth.net.tls.TlsFiles;
import java.nio.file.Path;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/**
 * What makes the log that the control nodes of a cluster agree on. It comes in a jar of its own.
 */
public interface ConsensusEngine {

  /**
   * Of one control node.
   *
   * @param directory {@code berth.state_dir}
   * @param cluster its name
   * @param node its name
   * @param host where it listens for other control nodes
   * @param port likewise
   * @param tls null for plain text
   * @param newId random, for a cluster that begins here: its id
   */
  record Options(
      Path directory,
      String cluster,
      String node,
      String host,
      int port,
      @Nullable TlsFiles tls,
      String newId) {}

  /** One that is not opened yet. */
  StateLog log(Options options);

  /**
   * The one that there is.
   *
   * @throws StartFailedException when its jar is not there
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
