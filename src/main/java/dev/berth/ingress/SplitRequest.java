package dev.berth.ingress;

import dev.berth.api.DeploymentId;
import dev.berth.ingress.split.ReceivedHead;
import dev.berth.ingress.split.ShadowCopies;
import dev.berth.routing.traffic.TrafficPolicy;
import dev.berth.routing.traffic.TrafficPolicy.TrafficChoice;
import io.vertx.core.http.HttpServerRequest;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The traffic decision for one request to a route with several deployments: its side, which never
 * changes, and its shadow copies. Confined to the event loop.
 */
record SplitRequest(
    ResolvedRoute route, TrafficPolicy policy, TrafficChoice choice, ShadowCopies copies) {
  /**
   * Decides about a request.
   *
   * @param held deployment whose slot the request holds by its token; null for none
   */
  static SplitRequest of(
      ResolvedRoute route,
      TrafficPolicy policy,
      HttpServerRequest http,
      @Nullable DeploymentId held,
      RandomGenerator random) {
    ReceivedHead head = new ReceivedHead(http);
    TrafficChoice given = held == null ? null : policy.choiceByReservation(head, held);
    TrafficChoice choice = given == null ? policy.choose(head, random) : given;
    return new SplitRequest(route, policy, choice, ShadowCopies.of(route.shadows()));
  }

  /** Returns the chosen side. */
  ResolvedRoute side() {
    return route.sides().get(choice.side());
  }

  /** Returns the reason of the choice; see {@link TrafficPolicy#why}. */
  String why() {
    return policy.why(choice);
  }

  /** Returns the traffic key of the request; null for none. */
  @Nullable String key() {
    return choice.key();
  }
}
