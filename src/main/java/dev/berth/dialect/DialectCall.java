package dev.berth.dialect;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/** An operation of the APIs, named by the path behind the route prefix. */
public enum DialectCall {
  MODELS("GET"),
  MODEL("GET"),
  CHAT("POST"),
  COMPLETIONS("POST"),
  EMBEDDINGS("POST"),
  RESPONSES("POST"),
  STORED_RESPONSE("GET", "DELETE"),
  MESSAGES("POST"),
  COUNT_TOKENS("POST");

  private static final String MODEL_PATH = "/v1/models/";
  private static final String STORED_PATH = "/v1/responses/";
  private static final int MAX_ID_LENGTH = 256; // characters

  private final Set<String> methods;

  DialectCall(String... methods) {
    this.methods = Set.of(methods);
  }

  /**
   * Returns the operation of a path without its query, such as {@code /v1/chat/completions}. Null
   * for every other path; the caller refuses it with 404.
   */
  public static @Nullable DialectCall of(String path) {
    return switch (path) {
      case "/v1/models" -> MODELS;
      case "/v1/chat/completions" -> CHAT;
      case "/v1/completions" -> COMPLETIONS;
      case "/v1/embeddings" -> EMBEDDINGS;
      case "/v1/responses" -> RESPONSES;
      case "/v1/messages" -> MESSAGES;
      case "/v1/messages/count_tokens" -> COUNT_TOKENS;
      default -> ofItem(path);
    };
  }

  private static @Nullable DialectCall ofItem(String path) {
    if (path.startsWith(MODEL_PATH) && path.length() > MODEL_PATH.length()) {
      return MODEL;
    }
    return path.startsWith(STORED_PATH) && isId(path.substring(STORED_PATH.length()))
        ? STORED_RESPONSE
        : null;
  }

  /** Returns whether an id has no character that could change the path at the upstream. */
  private static boolean isId(String id) {
    return !id.isEmpty()
        && id.length() <= MAX_ID_LENGTH
        && id.chars()
            .allMatch(
                c ->
                    (c >= 'a' && c <= 'z')
                        || (c >= 'A' && c <= 'Z')
                        || (c >= '0' && c <= '9')
                        || c == '_'
                        || c == '-');
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
    return String.join(", ", methods.stream().sorted().toList());
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

  /** Returns whether a stream reports its token usage only on request (`stream_options`). */
  public boolean hasStreamOptions() {
    return this == CHAT || this == COMPLETIONS;
  }
}
