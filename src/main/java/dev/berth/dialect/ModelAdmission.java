package dev.berth.dialect;

import dev.berth.dialect.ApiKeys.ApiKey;
import io.vertx.core.buffer.Buffer;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Rules for the requests of an LLM API. Thread-safe, and constant beside its stored lists.
 *
 * <p>The methods throw a {@link DialectProblem} for a request that must not run.
 *
 * @param keys of clients; null without authentication
 * @param lists stored responses by the models that they list, at most two for each key
 */
public record ModelAdmission(
    ModelCatalog catalog, @Nullable ApiKeys keys, Map<ListedModels, Buffer> lists) {
  private static final Pattern DOT_SEGMENT = Pattern.compile("(?i)/(\\.|%2e){1,2}(/|$)");
  private static final String MODEL = "model";
  private static final String STORED_ELSEWHERE =
      " needs one upstream in all, or stored: shared in args; the application has several upstreams,"
          + " and another one may have the stored response";

  /**
   * Models of a list, in the form of an API.
   *
   * @param permitted names that a key permits
   */
  record ListedModels(ApiDialect dialect, Set<String> permitted) {}

  public ModelAdmission(ModelCatalog catalog, @Nullable ApiKeys keys) {
    this(catalog, keys, new ConcurrentHashMap<>());
  }

  /** Returns the response body of the list of the models that a key permits. */
  public Buffer list(ApiDialect dialect, @Nullable ApiKey key) {
    Set<String> permitted = key == null ? Set.of() : key.models();
    return lists.computeIfAbsent(
        new ListedModels(dialect, permitted), none -> catalog.list(dialect, key));
  }

  /**
   * Returns the key of a client; null without authentication.
   *
   * @param presented text of the key; null for none
   */
  public @Nullable ApiKey authenticate(@Nullable String presented) {
    if (keys == null) {
      return null;
    }
    ApiKey key = presented == null ? null : keys.lookup(presented);
    if (key == null) {
      String what = presented == null ? "missing" : "unknown";
      String text =
          "API key: " + what + " (expected: Authorization: Bearer KEY, or x-api-key: KEY)";
      throw new DialectProblem(401, "invalid_api_key", text, null);
    }
    return key;
  }

  /** Returns the operation of a path, which must exist with the method. */
  public static DialectCall operation(@Nullable DialectCall known, String method, String path) {
    boolean mayHaveDots = path.indexOf('.') >= 0 || path.indexOf('%') >= 0;
    if (mayHaveDots && DOT_SEGMENT.matcher(path).find()) {
      throw new DialectProblem(400, "bad_request", "path: with a dot segment", null);
    }
    if (known == null) {
      throw new DialectProblem(404, "not_found", "Unknown path: " + method + " " + path, null);
    }
    if (!known.accepts(method)) {
      String text = "method: " + method + " (expected: " + known.allow() + ")";
      throw new DialectProblem(405, "method_not_allowed", text, null);
    }
    return known;
  }

  /** Requires a body that Berth can read. */
  public static void requirePlain(List<String> contentEncodings) {
    for (String each : contentEncodings) {
      if (!each.equalsIgnoreCase("identity")) {
        String text = "content-encoding: " + each + " (expected: none)";
        throw new DialectProblem(415, "unsupported_encoding", text, null);
      }
    }
  }

  /** Returns the model of a path, percent-encoded there, if the key permits it. */
  public ModelTarget ofPath(String path, @Nullable ApiKey key) {
    String model = DialectCall.modelOf(path);
    try {
      model = URLDecoder.decode(model.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException malformed) {
      // a malformed % stands for itself
    }
    return target(model, key);
  }

  /** Returns the target of a model that the key permits. */
  public ModelTarget target(String model, @Nullable ApiKey key) {
    ModelTarget target = catalog.find(model);
    if (target == null) {
      String text = "The model `" + model + "` does not exist. GET /v1/models lists the models.";
      throw new DialectProblem(404, "model_not_found", text, MODEL);
    }
    if (key != null && !key.permits(target)) {
      String text = "The key `" + key.id() + "` may not use the model `" + model + "`.";
      throw new DialectProblem(403, "model_not_allowed", text, MODEL);
    }
    return target;
  }

  /** Returns the target of a request for a stored response, which names no model. */
  public ModelTarget ofStored(@Nullable ApiKey key) {
    if (!catalog.findsStored()) {
      throw new DialectProblem(400, "stored_elsewhere", "The path" + STORED_ELSEWHERE + ".", null);
    }
    List<ModelTarget> first =
        catalog.targets().values().stream().filter(each -> each.side() == 0).toList();
    return first.stream()
        .filter(each -> key == null || key.permits(each))
        .findFirst()
        .orElseGet(() -> target(first.get(0).requested(), key));
  }

  /** Requires that the parts of a request of {@code /v1/responses} are permitted. */
  public void checkStored(DialectCall operation, ScannedBody body) {
    if (operation != DialectCall.RESPONSES) {
      return;
    }
    if (body.background()) {
      String text = "background: true (expected: false; the work would run without a slot)";
      throw new DialectProblem(400, "background_refused", text, "background");
    }
    if ((body.stores() || body.continues()) && !catalog.findsStored()) {
      String what = body.stores() ? "store" : "previous_response_id";
      throw new DialectProblem(400, "stored_elsewhere", what + STORED_ELSEWHERE + ".", what);
    }
  }
}
