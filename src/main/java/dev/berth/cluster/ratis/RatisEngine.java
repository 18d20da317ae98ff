package dev.berth.cluster.ratis;

import dev.berth.desired.ConsensusEngine;
import dev.berth.desired.LogDirectory;
import dev.berth.desired.StateLog;
import java.lang.management.ManagementFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The consensus engine on Apache Ratis. */
public final class RatisEngine implements ConsensusEngine {
  private static final Logger LOG = LoggerFactory.getLogger(RatisEngine.class);

  /**
   * JVM option against the warning about Unsafe, which Guava and Netty in Ratis use. The script
   * bin/berth sets this option.
   */
  private static final String NO_WARNINGS = "--sun-misc-unsafe-memory-access=allow";

  @Override
  public StateLog log(ConsensusOptions options) {
    if (Runtime.version().feature() >= 24
        && !ManagementFactory.getRuntimeMXBean().getInputArguments().contains(NO_WARNINGS)) {
      LOG.info("the JVM warns of Unsafe in Ratis: harmless; bin/berth, or java {}", NO_WARNINGS);
    }
    return new RatisLog(options, LogDirectory::room);
  }
}
