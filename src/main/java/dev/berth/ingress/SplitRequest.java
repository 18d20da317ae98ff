package dev.berth.ingress;

import dev.berth.api.DeploymentId;
import dev.berth.ingress.split.Copies;
import dev.berth.ingress.split.ReceivedHead;
import dev.berth.routing.traffic.TrafficPolicy;
import dev.berth.routing.traffic.TrafficPolicy.Choice;
import io.vertx.core.http.HttpServerRequest;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * What a request has that came to a route with several deployments: which one was chosen for it,
 * for good, and the copies that others get. Confined to its loop.
 */
final class SplitRequest {
  private final BoundRoute route;
  private final TrafficPolicy policy;
  private final Choice choice;
  final Copies copies;

  /**
   * @param held whose slot the request has by its token; null when it has none
   */
  SplitRequest(
      BoundRoute route,
      TrafficPolicy policy,
      HttpServerRequest http,
      @Nullable DeploymentId held,
      RandomGenerator random) {
    ReceivedHead head = new ReceivedHead(http);
    Choice given = held == null ? null : policy.held(head, held);
    this.route = route;
    this.policy = policy;
    this.choice = given == null ? policy.choose(head, random) : given;
    this.copies = Copies.of(route.shadows());
  }

  /** Where it goes. */
  BoundRoute side() {
    return route.sides().get(choice.side());
  }

  /** As {@link TrafficPolicy#why}. */
  String why() {
    return policy.why(choice);
  }

  /** Null when it has none. */
  @Nullable String key() {
    return choice.key();
  }
}
