package dev.berth.api;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.util.Objects;

/**
 * Calls a deployment with a value and gets a value: {@code handle.typed(Order.class,
 * Price.class).call(order)}. What is called may be typed itself, or any handler that takes and
 * answers JSON. Immutable.
 *
 * <p>Values are values: they go through their JSON, so that nobody sees what another does to them
 * later. But a record whose components are, all the way down, records, strings, boxes, primitives
 * or enums cannot be changed: inside an instance it is passed as it is, unless its JSON may be
 * larger than 64 KiB. A test kit passes nothing as it is, so that a test finds what has no JSON.
 * Where a bound counts bytes it counts those of the JSON, or for what is passed as it is how many
 * those are at most.
 *
 * @param <I> what is sent
 * @param <O> what is answered
 */
public final class TypedHandle<I, O> {
  /** Bytes that an answer's JSON may have, unless said otherwise: 4 MiB. */
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
   * As {@link DeploymentHandle#typed} makes it.
   *
   * @param shares whether what cannot be changed may be passed as it is
   */
  public static <I, O> TypedHandle<I, O> of(
      DeploymentHandle handle, Class<I> request, Class<O> response, boolean shares) {
    return new TypedHandle<>(
        handle, response, Json.of(request, response), shares, DEFAULT_MAX_RESPONSE_BYTES);
  }

  /**
   * The same, taking answers of so many bytes of JSON; a longer one fails its call.
   *
   * @param bytes at least 64 KiB; else {@link IllegalArgumentException}
   */
  public TypedHandle<I, O> withMaxResponseBytes(int bytes) {
    if (bytes < ValueShape.MAX_SHARED_BYTES) { // below, it is only known how many it may have
      throw new IllegalArgumentException("bytes: " + bytes + " (expected: >= 65536)");
    }
    return new TypedHandle<>(handle, response, json, shares, bytes);
  }

  /**
   * Sends a value, as a POST of JSON to {@code /}.
   *
   * @return the value answered. Fails as {@link DeploymentHandle#call} does, and with {@link
   *     BerthException.HandlerFailed} when the value has no JSON, when the status is not 2xx, and
   *     when the answer is no {@code O}
   */
  public Future<O> call(I value) {
    return start(value).future();
  }

  /** As {@link #call}, with a way to cancel. */
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
      return new Started<>(() -> {}, Future.failedFuture(failed("request", noJson)));
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
        return Future.failedFuture(failed("response", other));
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
    String problem = "over " + maxResponseBytes + " bytes (expected: no more)";
    return Future.failedFuture(failed("response", new IllegalStateException(problem)));
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
      return Future.failedFuture(failed("response", malformed));
    }
  }

  private BerthException failed(String what, Throwable why) {
    String field = why instanceof Json.Malformed malformed ? malformed.field() + ": " : "";
    return new BerthException.HandlerFailed(
        what + " of " + handle.deployment() + ": " + field + why.getMessage(), why);
  }
}
