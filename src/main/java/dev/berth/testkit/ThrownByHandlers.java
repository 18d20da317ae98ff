package dev.berth.testkit;

import dev.berth.api.BerthException;
import java.util.ArrayDeque;
import java.util.List;

/**
 * Thread-safe record of handlers' errors. A caller learns only that a handler failed, since the
 * internals of a deployment are private; a test needs the error itself.
 */
final class ThrownByHandlers {
  private static final int MAX_ERRORS = 1_000; // retained errors, the last ones

  private record Thrown(String replicaId, Throwable cause) {}

  private final ArrayDeque<Thrown> all = new ArrayDeque<>(); // guarded by this

  synchronized void add(String replicaId, Throwable cause) {
    all.addLast(new Thrown(replicaId, cause));
    if (all.size() > MAX_ERRORS) {
      all.removeFirst();
    }
  }

  synchronized List<Throwable> all() {
    return all.stream().map(Thrown::cause).toList();
  }

  /** Adds the last error of the replica's handler to a failure. */
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
