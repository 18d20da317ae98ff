package dev.berth.replica;

import dev.berth.api.RequestContext;
import dev.berth.protocol.BatchSettings;
import dev.berth.replica.batch.BatchEntry;
import dev.berth.replica.batch.BatchProbe;
import java.util.Objects;

/** Looks into the batch of a request at its replica, for the simulation. */
public final class BatchedProbe {
  private BatchedProbe() {}

  /** Returns the rules of the started batch of a request. */
  public static BatchSettings rules(RequestContext of) {
    return BatchProbe.rules((BatchEntry) Objects.requireNonNull(((Invocation) of).call));
  }
}
