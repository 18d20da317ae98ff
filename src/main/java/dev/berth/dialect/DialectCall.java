package dev.berth.dialect;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** An operation of the APIs, named by the path behind the route prefix. */
public enum DialectCall {
  MODELS("/v1/models", "GET"),
  MODEL("/v1/models/{model}", "GET"),
  CHAT("/v1/chat/completions", "POST"),
  COMPLETIONS("/v1/completions", "POST"),
  EMBEDDINGS("/v1/embeddings", "POST"),
  RESPONSES("/v1/responses", "POST"),
  STORED_RESPONSE("/v1/responses/{id}", "GET", "DELETE"),
  MESSAGES("/v1/messages", "POST"),
  COUNT_TOKENS("/v1/messages/count_tokens", "POST");

  private static final String MODEL_PATH = "/v1/models/";

  /** Path of a stored response. The id has no character that could change the path. */
  private static final Pattern STORED_PATH = Pattern.compile("/v1/responses/[A-Za-z0-9_-]{1,256}");

  private static final Map<String, DialectCall> BY_PATH =
      Arrays.stream(values()).collect(Collectors.toMap(call -> call.path, Function.identity()));

  private final String path;
  private final List<String> methods;

  DialectCall(String path, String... methods) {
    this.path = path;
    this.methods = List.of(methods);
  }

  /**
   * Returns the operation of a path without its query, such as {@code /v1/chat/completions}. Null
   * for every other path; the caller refuses it with 404.
   */
  public static @Nullable DialectCall of(String path) {
    if (path.startsWith(MODEL_PATH) && path.length() > MODEL_PATH.length()) {
      return MODEL;
    }
    DialectCall fixed = BY_PATH.get(path);
    return fixed == null || fixed == STORED_RESPONSE
        ? (STORED_PATH.matcher(path).matches() ? STORED_RESPONSE : null)
        : fixed;
  }

  /** Returns the model in the path of a {@code MODEL} operation, still percent-encoded. */
  public static String modelOf(String path) {
    return path.substring(MODEL_PATH.length());
  }

  /** Returns whether the operation exists with this method. The caller refuses others with 405. */
  public boolean accepts(String method) {
    return methods.contains(method);
  }

  /** Returns the value of an {@code Allow} header. */
  public String allow() {
    return String.join(", ", methods);
  }

  /** Returns the name of the operation in OpenTelemetry's conventions for generative AI. */
  public String operationName() {
    return switch (this) {
      case COMPLETIONS -> "text_completion";
      case EMBEDDINGS -> "embeddings";
      case COUNT_TOKENS -> "count_tokens";
      default -> "chat";
    };
  }

  /** Returns whether the request has a JSON body that names a model. */
  public boolean readsModel() {
    return methods.contains("POST");
  }

  /** Returns whether a stream reports its token usage only on request, by stream_options. */
  public boolean hasStreamOptions() {
    return this == CHAT || this == COMPLETIONS;
  }
}
