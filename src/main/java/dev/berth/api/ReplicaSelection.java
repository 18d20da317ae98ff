package dev.berth.api;

import io.vertx.core.Future;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A replica that was chosen, with one of its slots held under a lease. Its token is not reachable
 * through it, its toString or its JSON. Of concurrent {@link #dispatch} and {@link #close} exactly
 * one wins.
 *
 * <p>Source: Ray #63252 ReplicaSelection. A port of 0 is a port; an absent port is absent.
 */
public interface ReplicaSelection {

  /** The replica: {@code application#deployment#suffix}. */
  String replicaId();

  /** The deployment it belongs to. */
  DeploymentId deployment();

  /** The instance it runs on. */
  String nodeId();

  /** Where that instance can be reached; empty when nobody said. */
  Optional<String> host();

  /** The port there, 0 included; empty when nobody said. */
  OptionalInt port();

  /** The zone of that instance; empty when nobody said. */
  Optional<String> availabilityZone();

  /** {@code host:port}, or the host alone when there is no port; empty when there is no host. */
  default Optional<String> address() {
    return host().map(name -> port().isPresent() ? name + ":" + port().getAsInt() : name);
  }

  /** What the replica published of itself; read only. */
  Map<String, String> metadata();

  /** Time left on the lease, by the chooser's clock; zero when it has ended. */
  Duration leaseRemaining();

  /**
   * Sends the request on the held slot, once.
   *
   * @return the response; fails with {@link BerthException.ReplicaUnavailable} when the replica is
   *     gone and {@link BerthException.ReservationExpired} when the lease ended first (in both the
   *     request did not run), and with {@link IllegalStateException} on a second dispatch or after
   *     close
   */
  default Future<Response> dispatch(Request request) {
    return start(request).future();
  }

  /** As {@link #dispatch}, with a way to cancel. */
  Pending<Response> start(Request request);

  /**
   * Makes the lease last its full time to live from now on, never past the drain deadline of its
   * replica.
   *
   * @return false when the lease had ended or the selection was dispatched or closed
   */
  Future<Boolean> renew();

  /**
   * Gives the slot back if the selection was not dispatched; again, or after dispatch, it does
   * nothing. Completes when the release was made (local) or sent (remote).
   */
  Future<Void> close();
}
