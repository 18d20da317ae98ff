package dev.berth.testkit;

import dev.berth.api.BerthException;
import java.util.ArrayDeque;
import java.util.List;

/**
 * What handlers failed with. A caller is told that a handler failed and no more, as no internals of
 * one deployment are another's business; a test wants to know what it was. Any thread.
 */
final class ThrownByHandlers {
  private static final int MOST = 1_000; // the last ones

  private record Thrown(String replicaId, Throwable cause) {}

  private final ArrayDeque<Thrown> all = new ArrayDeque<>(); // guarded by this

  synchronized void add(String replicaId, Throwable cause) {
    all.addLast(new Thrown(replicaId, cause));
    if (all.size() > MOST) {
      all.removeFirst();
    }
  }

  synchronized List<Throwable> all() {
    return all.stream().map(Thrown::cause).toList();
  }

  /** Adds to a failure what its replica's handler threw last. */
  synchronized void explain(Throwable failure) {
    if (!(failure instanceof BerthException.HandlerFailed told) || told.getMessage() == null) {
      return;
    }
    List<Throwable> known = List.of(told.getSuppressed());
    all.stream()
        .filter(each -> told.getMessage().startsWith("replica " + each.replicaId + ":"))
        .reduce((before, last) -> last)
        .filter(last -> last.cause != told.getCause() && !known.contains(last.cause))
        .ifPresent(last -> told.addSuppressed(last.cause));
  }
}
