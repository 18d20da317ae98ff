package dev.berth.examples;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.Deployment.BatchRules;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** The applications of {@code conf/quickstart.yaml}, by their {@code import_path}. */
public final class Quickstart {
  /** Up to 16 pictures in one run of the model, without a wait for more while it is idle. */
  private static final BatchRules BATCHES = new BatchRules(16, Duration.ZERO, 1);

  private Quickstart() {}

  /**
   * {@code dev.berth.examples.Quickstart:classify}: recognises a handwritten digit.
   *
   * <p>The ingress mostly waits, so it accepts many requests at once. The model computes, so each
   * of its replicas runs one batch at a time.
   */
  public static Application classify() {
    return Application.of(
        Deployment.async("classify", new ClassifyHandler()).withMaxOngoingRequests(200),
        digits("digits").withNumReplicas(2));
  }

  /**
   * {@code dev.berth.examples.Quickstart:versions}: the model alone, in several versions, with
   * requests split by {@code berth.traffic}. Each response names its replica in a header.
   *
   * @param args {@code names} of the versions, the first being the ingress; default v1 and v2
   */
  public static Application versions(Map<String, Object> args) {
    List<Deployment> all =
        ((List<?>) args.getOrDefault("names", List.of("v1", "v2")))
            .stream().map(name -> digits(name.toString())).toList();
    return Application.of(all.get(0), all.subList(1, all.size()).toArray(Deployment[]::new));
  }

  private static Deployment digits(String name) {
    return Deployment.of(name, replica -> DigitsHandler.load(replica.replicaId()))
        .withBatching(BATCHES);
  }

  /** {@code dev.berth.examples.Quickstart:echo}: responds with the request's body. */
  public static Application echo() {
    return Application.of(
        Deployment.async("echo", new EchoHandler())
            .withSpreadOverLoops(true)
            .withMaxOngoingRequests(1_000));
  }

  /** {@code dev.berth.examples.Quickstart:stream}: server-sent events at a chosen pace. */
  public static Application stream() {
    return Application.of(
        Deployment.async("stream", new StreamHandler()).withMaxOngoingRequests(200));
  }
}
