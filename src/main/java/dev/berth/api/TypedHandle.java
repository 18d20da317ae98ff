package dev.berth.api;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.util.Objects;

/**
 * Client of a deployment that sends and receives typed values: {@code handle.typed(Order.class,
 * Price.class).call(order)}. The called handler may be typed, or any handler that reads and writes
 * JSON. Immutable.
 *
 * <p><b>Copies.</b> Values are passed as JSON, so later changes by one side are invisible to the
 * other. Deeply immutable records are an exception: their components are, recursively, records,
 * strings, boxes, primitives or enums. Within an instance such a record is passed by reference,
 * unless its JSON may exceed 64 KiB. A test kit always passes JSON, so that tests detect values
 * without a JSON form.
 *
 * <p><b>Bounds.</b> Limits in bytes apply to the JSON; for a value passed by reference, to the
 * maximum size of its JSON.
 *
 * @param <I> the type of sent values
 * @param <O> the type of received values
 */
public final class TypedHandle<I, O> {
  /** Default maximum size of a response's JSON in bytes: 4 MiB. */
  public static final int DEFAULT_MAX_RESPONSE_BYTES = 4 << 20;

  static final Headers JSON = Headers.of("content-type", "application/json");
  private static final int SHOWN_CHARS = 200;

  private final DeploymentHandle handle;
  private final Class<O> response;
  private final Json json;
  private final boolean shares;
  private final int maxResponseBytes;

  private TypedHandle(
      DeploymentHandle handle, Class<O> response, Json json, boolean shares, int maxResponseBytes) {
    this.handle = handle;
    this.response = response;
    this.json = json;
    this.shares = shares;
    this.maxResponseBytes = maxResponseBytes;
  }

  /**
   * Creates a typed handle, as {@link DeploymentHandle#typed} does.
   *
   * @param shares whether deeply immutable values may be passed by reference
   */
  public static <I, O> TypedHandle<I, O> of(
      DeploymentHandle handle, Class<I> request, Class<O> response, boolean shares) {
    return new TypedHandle<>(
        handle, response, Json.of(request, response), shares, DEFAULT_MAX_RESPONSE_BYTES);
  }

  /**
   * Returns a handle with another maximum size of response JSON; a larger response fails its call.
   *
   * @param bytes at least 64 KiB; else {@link IllegalArgumentException}
   */
  public TypedHandle<I, O> withMaxResponseBytes(int bytes) {
    if (bytes < ValueShape.MAX_SHARED_BYTES) { // below, only an upper bound is known
      throw new IllegalArgumentException("bytes: " + bytes + " (expected: >= 65536)");
    }
    return new TypedHandle<>(handle, response, json, shares, bytes);
  }

  /**
   * Sends a value as a POST of JSON to {@code /}.
   *
   * @return the received value. Fails as {@link DeploymentHandle#call} does. Also fails with {@link
   *     BerthException.HandlerFailed} when the value has no JSON form, when the status is not 2xx,
   *     or when the response is not an {@code O}.
   */
  public Future<O> call(I value) {
    return start(value).future();
  }

  /** Starts a {@link #call} that can be cancelled. */
  public Pending<O> start(I value) {
    Objects.requireNonNull(value, "value: null (expected: one to send)");
    Request request;
    try {
      request =
          Request.of(
              "POST",
              "/",
              null,
              JSON,
              shares
                  ? new Request.Body.Whole(new TypedValue(json, value))
                  : new Request.Body.Whole(json.write(value)));
    } catch (IllegalArgumentException noJson) {
      return new Started<>(() -> {}, Future.failedFuture(handlerFailure("request", noJson)));
    }
    Pending<Response> call = handle.start(request);
    return new Started<>(call::cancel, call.future().compose(this::read));
  }

  private record Started<T>(Runnable stop, Future<T> future) implements Pending<T> {
    @Override
    public void cancel() {
      stop.run();
    }
  }

  private Future<O> read(Response answer) {
    if (answer.body() instanceof WholeBody whole && whole.length() > maxResponseBytes) {
      return tooLong();
    }
    TypedValue typed = WholeBody.typed(answer.body());
    if (typed != null && answer.status() / 100 == 2) {
      try {
        return Future.succeededFuture(typed.as(response, json));
      } catch (Json.Malformed | IllegalArgumentException other) {
        return Future.failedFuture(handlerFailure("response", other));
      }
    }
    return answer
        .bytes(maxResponseBytes)
        .transform(
            (bytes, failure) ->
                failure == null
                    ? read(answer.status(), bytes)
                    : failure instanceof BerthException ? Future.failedFuture(failure) : tooLong());
  }

  private Future<O> tooLong() {
    String problem = "over " + maxResponseBytes + " bytes (expected: at most as many)";
    return Future.failedFuture(handlerFailure("response", new IllegalStateException(problem)));
  }

  private Future<O> read(int status, Buffer bytes) {
    if (status / 100 != 2) {
      String text = bytes.toString();
      String shown = text.substring(0, Math.min(text.length(), SHOWN_CHARS));
      String why = "%s: answered %s (expected: 2xx): %s";
      return Future.failedFuture(
          new BerthException.HandlerFailed(
              why.formatted(handle.deployment(), status, shown), null));
    }
    try {
      return Future.succeededFuture(json.read(bytes, response));
    } catch (Json.Malformed malformed) {
      return Future.failedFuture(handlerFailure("response", malformed));
    }
  }

  private BerthException handlerFailure(String what, Throwable why) {
    String field = why instanceof Json.Malformed malformed ? malformed.field + ": " : "";
    return new BerthException.HandlerFailed(
        what + " of " + handle.deployment() + ": " + field + why.getMessage(), why);
  }
}
