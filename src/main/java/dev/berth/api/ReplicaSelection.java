package dev.berth.api;

import io.vertx.core.Future;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A chosen replica with one of its slots reserved under a lease. The lease token is not accessible
 * through the selection, its {@code toString} or its JSON. Of concurrent {@link #dispatch} and
 * {@link #close} calls, exactly one wins.
 *
 * <p>Source: Ray #63252 ReplicaSelection. Port 0 is a valid value; an unknown port is empty.
 */
public interface ReplicaSelection {

  /** Returns the replica's id: {@code application#deployment#suffix}. */
  String replicaId();

  /** Returns the deployment of the replica. */
  DeploymentId deployment();

  /** Returns the id of the instance that hosts the replica. */
  String nodeId();

  /** Returns the host of that instance; empty when unknown. */
  Optional<String> host();

  /** Returns the port of that instance, which may be 0; empty when unknown. */
  OptionalInt port();

  /** Returns the availability zone of that instance; empty when unknown. */
  Optional<String> availabilityZone();

  /**
   * Returns {@code host:port}, or the host alone when the port is empty; empty when the host is
   * empty.
   */
  default Optional<String> address() {
    return host().map(name -> port().isPresent() ? name + ":" + port().getAsInt() : name);
  }

  /** Returns the metadata that the replica published; read-only. */
  Map<String, String> metadata();

  /**
   * Returns the remaining time of the lease by the chooser's clock; zero when the lease has ended.
   */
  Duration leaseRemaining();

  /**
   * Sends the request to the reserved slot. A selection can be dispatched once.
   *
   * @return the response. Fails with {@link BerthException.ReplicaUnavailable} when the replica is
   *     no longer available, and with {@link BerthException.ReservationExpired} when the lease
   *     ended first; in both cases the request did not run. Fails with {@link
   *     IllegalStateException} on a second dispatch and after close.
   */
  default Future<Response> dispatch(Request request) {
    return start(request).future();
  }

  /** Starts a {@link #dispatch} that can be cancelled. */
  Pending<Response> start(Request request);

  /**
   * Extends the lease to its full time to live from now, but not past the drain deadline of the
   * replica.
   *
   * @return false when the lease had ended or the selection was dispatched or closed
   */
  Future<Boolean> renew();

  /**
   * Releases the slot if the selection was not dispatched. Has no effect on a selection that is
   * closed or dispatched. Completes when the release was performed (local replica) or sent (remote
   * replica).
   */
  Future<Void> close();
}
