package dev.berth.ingress;

import dev.berth.api.DeploymentId;
import dev.berth.ingress.split.Copies;
import dev.berth.ingress.split.ReceivedHead;
import dev.berth.routing.traffic.TrafficPolicy.Choice;
import io.vertx.core.http.HttpServerRequest;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * What a request has that came to a route with several deployments: which one was chosen for it,
 * for good, and the copies that others get. Confined to its loop.
 */
final class SplitRequest {
  private final BoundTraffic traffic;
  private final Choice choice;
  final Copies copies;

  /**
   * @param held whose slot the request has by its token; null when it has none
   */
  static SplitRequest of(
      BoundTraffic traffic,
      HttpServerRequest http,
      @Nullable DeploymentId held,
      RandomGenerator random) {
    ReceivedHead head = new ReceivedHead(http);
    Choice choice = held == null ? null : traffic.policy().held(head, held);
    return new SplitRequest(
        traffic, choice == null ? traffic.policy().choose(head, random) : choice);
  }

  private SplitRequest(BoundTraffic traffic, Choice choice) {
    this.traffic = traffic;
    this.choice = choice;
    this.copies = Copies.of(traffic.shadows());
  }

  /** Where it goes. */
  BoundRoute side() {
    return traffic.sides().get(choice.side());
  }

  /** As {@link dev.berth.routing.traffic.TrafficPolicy#why}. */
  String why() {
    return traffic.policy().why(choice);
  }

  /** Null when it has none. */
  @Nullable String key() {
    return choice.key();
  }
}
