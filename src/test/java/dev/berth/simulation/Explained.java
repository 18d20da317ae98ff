package dev.berth.simulation;

import dev.berth.view.RequestExplanation;
import dev.berth.view.RequestExplanation.RequestPhaseTimes;
import java.util.HashMap;
import java.util.Map;

/** The records of explained requests: each is made once, when its request is over, and adds up. */
final class Explained {
  private final World world;
  private final Map<String, Integer> records = new HashMap<>(); // by request

  Explained(World world) {
    this.world = world;
  }

  /** A request is over, as its router or its caller says. */
  void explained(RequestExplanation record) {
    records.merge(record.requestId(), 1, Integer::sum);
    RequestPhaseTimes p = record.phases();
    if (dev.berth.fakes.Explained.sum(p) != p.total() || p.bus() < 0 || p.handler() < 0) {
      throw world.fail(record.requestId() + ": phases that do not add up: " + p);
    }
  }

  /** When all is over: each request that was to be explained has one record, others have none. */
  void checkAtEnd(Op op) {
    int expected = op.explainedCalls();
    int found = records.getOrDefault(op.requestId, 0);
    if (found != expected) {
      throw world.fail(op + ": " + found + " records (expected: " + expected + ")");
    }
  }
}
