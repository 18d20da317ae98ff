package dev.berth.protocol.port;

import dev.berth.api.DeploymentId;
import java.time.Instant;

/** A request as seen by its relay to an upstream. Confined to its loop. */
public interface RelayedRequest extends EarlyFailure, FieldSink {
  String requestId();

  DeploymentId deployment();

  /** Returns the wall-clock time of the instance. */
  Instant now();

  /** Returns whether the response is no longer needed. */
  boolean cancelled();

  /** Registers an action that runs on a cancel, or at once after one; returns its removal. */
  Runnable onCancel(Runnable action);
}
