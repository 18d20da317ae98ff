package dev.berth.cluster.ratis;

import dev.berth.desired.ConsensusEngine;
import dev.berth.desired.LogDirectory;
import dev.berth.desired.StateLog;

/** Apache Ratis. */
public final class RatisEngine implements ConsensusEngine {

  @Override
  public StateLog log(Options options) {
    return new RatisLog(options, LogDirectory::room);
  }
}
