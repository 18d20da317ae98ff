package dev.berth.examples;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** The applications of {@code conf/examples.yaml}, by their {@code import_path}. */
public final class Examples {
  private Examples() {}

  /**
   * {@code dev.berth.examples.Examples:words}: a deployment that calls two named methods of another
   * one in parallel, and responds with both results.
   */
  public static Application words() {
    return Application.of(
        Deployment.async("words", new WordsHandler()).withMaxOngoingRequests(100),
        Deployment.of("letters", LettersHandler::new)
            .withNumReplicas(2)
            .withMaxOngoingRequests(10)
            .withUserConfig(Map.of("suffix", "!")));
  }

  /**
   * {@code dev.berth.examples.Examples:choose}: the caller knows the replica before the dispatch.
   */
  public static Application choose() {
    return Application.of(
        Deployment.async("choose", new ChoosingHandler()).withMaxOngoingRequests(100), named());
  }

  /**
   * {@code dev.berth.examples.Examples:rollCall}: a broadcast to every replica; lists each result.
   */
  public static Application rollCall() {
    return Application.of(
        Deployment.async("roll-call", new RollCallHandler()).withMaxOngoingRequests(100), named());
  }

  /** {@code dev.berth.examples.Examples:checksum}: bodies of any size, read on arrival. */
  public static Application checksum() {
    return Application.of(
        Deployment.async("checksum", new ChecksumHandler()).withMaxOngoingRequests(16));
  }

  /** {@code dev.berth.examples.Examples:sleep}: a delay, to observe slots, queue and deadlines. */
  public static Application sleep() {
    return Application.of(Deployment.async("sleep", new SleepHandler()));
  }

  /**
   * {@code dev.berth.examples.Examples:infer}: an ONNX model, served by the Open Inference
   * Protocol.
   *
   * @param args {@code model}: path of an .onnx file, default the digits of the quickstart; {@code
   *     threads} per run, default 1
   */
  public static Application infer(Map<String, Object> args) {
    Object file = args.get("model");
    int threads = ((Number) args.getOrDefault("threads", 1)).intValue();
    return Application.of(
        Deployment.of(
            "infer",
            replica -> {
              byte[] model =
                  file == null
                      ? DigitsHandler.digits()
                      : Files.readAllBytes(Path.of(file.toString()));
              return new InferenceHandler(OnnxModel.load(model, threads));
            }));
  }

  /**
   * {@code dev.berth.examples.Examples:cache}: a cache, whose entries a message on the event bus
   * removes.
   */
  public static Application cache() {
    return Application.of(
        Deployment.of("cache", CachingHandler::new).withMaxOngoingRequests(100),
        Deployment.of("prices", replica -> new PricesHandler()).withMaxOngoingRequests(100));
  }

  /** Returns a deployment of three replicas that respond with their ids. */
  private static Deployment named() {
    return Deployment.async(
            "named",
            (request, context) -> Future.succeededFuture(Response.text(context.replicaId() + "\n")))
        .withNumReplicas(3)
        .withMaxOngoingRequests(2);
  }
}
