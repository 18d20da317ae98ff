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
   * {@code dev.berth.examples.Examples:words}: one deployment that asks another twice at once, by
   * named methods, and answers with both answers.
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
   * {@code dev.berth.examples.Examples:choose}: which replica takes it is known before it is sent.
   */
  public static Application choose() {
    return Application.of(
        Deployment.async("choose", new ChoosingHandler()).withMaxOngoingRequests(100), named());
  }

  /** {@code dev.berth.examples.Examples:rollCall}: every replica is asked, and each answer told. */
  public static Application rollCall() {
    return Application.of(
        Deployment.async("roll-call", new RollCallHandler()).withMaxOngoingRequests(100), named());
  }

  /** {@code dev.berth.examples.Examples:checksum}: bodies of any size, read as they come. */
  public static Application checksum() {
    return Application.of(
        Deployment.async("checksum", new ChecksumHandler()).withMaxOngoingRequests(16));
  }

  /** {@code dev.berth.examples.Examples:sleep}: slots, queue and deadlines to look at. */
  public static Application sleep() {
    return Application.of(Deployment.async("sleep", new SleepHandler()));
  }

  /**
   * {@code dev.berth.examples.Examples:infer}: an ONNX model by the Open Inference Protocol.
   *
   * @param args {@code model}, the path of an .onnx file, or else the digits of the quickstart;
   *     {@code threads} of one run, 1
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

  /** Three replicas that answer with their names. */
  private static Deployment named() {
    return Deployment.async(
            "named",
            (request, context) -> Future.succeededFuture(Response.text(context.replicaId() + "\n")))
        .withNumReplicas(3)
        .withMaxOngoingRequests(2);
  }
}
