package dev.berth.fakes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.api.spi.ReplicaRanker.Tier;
import dev.berth.protocol.HandlerTime.BatchPlace;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.view.RequestExplanation;
import dev.berth.view.RequestExplanation.Candidate;
import dev.berth.view.RequestExplanation.QueueWait;
import dev.berth.view.RequestExplanation.RequestPhaseTimes;
import dev.berth.view.RequestExplanation.RequestStep;
import dev.berth.view.RequestExplanation.RequestStep.RequestStepKind;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Explanations that no request was made for. */
public final class Explained {
  public static final DeploymentId CART = new DeploymentId("shop", "cart");
  public static final DeploymentId PRICES = new DeploymentId("shop", "prices");
  private static final Instant ARRIVED = Instant.parse("2026-01-01T00:00:00.123456Z");

  private Explained() {}

  /** The phases of a request, which are to be its total. */
  public static long sum(RequestPhaseTimes p) {
    return p.receive()
        + p.queue()
        + p.route()
        + p.held()
        + p.bus()
        + p.handler()
        + p.stream()
        + p.respond();
  }

  /** What befell it, in order, with spaces between. */
  public static String story(RequestExplanation record) {
    return record.steps().stream().map(step -> step.kind().name()).collect(Collectors.joining(" "));
  }

  /** Its one step of a kind. */
  public static RequestStep step(RequestExplanation record, RequestStepKind kind) {
    List<RequestStep> found = record.steps().stream().filter(step -> step.kind() == kind).toList();
    assertThat(found).hasSize(1);
    return found.get(0);
  }

  /** One that came by HTTP, waited, was refused once, and ran on another loop. */
  public static RequestExplanation byHttp(String id) {
    return byHttp(
        id,
        "GET /shop/cart",
        new RequestPhaseTimes(0, 500_200, 2_800, 0, 17_000, 980_000, 0, 12_345, 1_512_345));
  }

  /** The same, with another request and total time. */
  public static RequestExplanation with(String id, String request, int total) {
    return byHttp(id, request, new RequestPhaseTimes(0, 0, 0, 0, 0, 0, 0, 0, total));
  }

  private static RequestExplanation byHttp(String id, String request, RequestPhaseTimes phases) {
    return new RequestExplanation(
        id,
        null,
        CART,
        request,
        ARRIVED,
        200,
        "ok",
        "node-1a2b3c4d",
        new RoutingSnapshot.SnapshotVersion(1, 7),
        "two_choices",
        List.of(
            new Candidate(
                "shop#cart#1abc", "node-1a2b3c4d", 2, 3, 8, true, 0, Tier.SAME_NODE, 0, 3),
            new Candidate(
                "shop#cart#2def", "node-99999999", 0, 8, 8, false, 12_300_000, Tier.ANY, 1, 8.5),
            new Candidate(
                "shop#cart#3ghi", "node-99999999", -1, 0, 8, false, -1, Tier.ANY, -1, Double.NaN)),
        12,
        new QueueWait(3, 100, 500_200),
        new BatchPlace(17, 16, 3, 500_200),
        List.of(
            new RequestStep(0, RequestStepKind.ARRIVED, "", "node-1a2b3c4d", 0, ""),
            new RequestStep(
                2_100, RequestStepKind.REFUSED, "shop#cart#2def", "node-99999999", 0, "full"),
            new RequestStep(2_400, RequestStepKind.QUEUED, "", "node-1a2b3c4d", 0, ""),
            new RequestStep(
                502_600, RequestStepKind.GRANTED, "shop#cart#1abc", "node-1a2b3c4d", 0, ""),
            new RequestStep(
                503_000, RequestStepKind.SENT, "shop#cart#1abc", "node-1a2b3c4d", 0, ""),
            new RequestStep(
                510_000, RequestStepKind.HANDLER_STARTED, "shop#cart#1abc", "node-1a2b3c4d", 2, ""),
            new RequestStep(
                1_500_000, RequestStepKind.ANSWERED, "shop#cart#1abc", "node-1a2b3c4d", 0, ""),
            new RequestStep(1_512_345, RequestStepKind.ENDED, "", "node-1a2b3c4d", 0, "ok")),
        9,
        "shop#cart#1abc",
        Map.of(),
        RequestFailure.NONE,
        phases);
  }

  /** Record of a request that an upstream refused and another one ran. */
  public static RequestExplanation atUpstreams() {
    String refused = "connect: Connection refused: localhost/127.0.0.1:9001";
    return new RequestExplanation(
        "up",
        null,
        CART,
        "GET /shop/cart",
        ARRIVED,
        200,
        "ok",
        "n1",
        new RoutingSnapshot.SnapshotVersion(1, 7),
        "two_choices",
        List.of(new Candidate("shop#cart#1abc", "n1", 2, 3, 8, true, 0, Tier.SAME_NODE, 0, 3)),
        1,
        null,
        null,
        List.of(
            new RequestStep(100, RequestStepKind.REFUSED, "shop#cart#1abc", "n1", 2, refused),
            new RequestStep(200, RequestStepKind.ANSWERED, "shop#spare#2def", "n1", 0, "")),
        2,
        "shop#spare#2def",
        new TreeMap<>(
            Map.of(
                "shop#cart#1abc", "http://localhost:9001",
                "shop#spare#2def", "https://models.example#big")),
        RequestFailure.NONE,
        new RequestPhaseTimes(0, 0, 1_000, 0, 0, 0, 0, 0, 1_000));
  }

  /** One that the first made, of the same id. */
  public static RequestExplanation madeByIt(String id) {
    return new RequestExplanation(
        id,
        CART,
        PRICES,
        "total",
        ARRIVED.plusNanos(600_000),
        -1,
        "deadline_exceeded",
        "node-1a2b3c4d",
        new RoutingSnapshot.SnapshotVersion(1, 8),
        "two_choices",
        List.of(),
        0,
        null,
        null,
        List.of(new RequestStep(0, RequestStepKind.ARRIVED, "", "node-1a2b3c4d", 2, "")),
        1,
        "",
        Map.of(),
        new RequestFailure("shop#prices", "dev.berth.api.BerthException$Timeout", "too late"),
        new RequestPhaseTimes(0, 0, 1_000, 0, 0, 0, 0, 0, 1_000));
  }
}
