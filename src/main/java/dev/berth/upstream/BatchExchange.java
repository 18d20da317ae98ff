package dev.berth.upstream;

import dev.berth.api.BatchItem;
import dev.berth.api.BatchResult;
import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.api.TypedHandle;
import dev.berth.dialect.ElementScanner.ArrayElements;
import dev.berth.protocol.port.RelayedRequest;
import dev.berth.protocol.port.UpstreamNotRun;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The requests of a batch as one request to their upstream, which is cancelled once all of them
 * are. Bodies and elements pass as the bytes that they are. Confined to the replica's loop.
 */
final class BatchExchange implements RelayedRequest {
  private static final int MAX_RESPONSE_BYTES = 64 << 20;
  private static final List<String> OF_ARRAY = List.of("content-type", "accept");
  private static final List<String> OF_FAILURE =
      List.of("content-type", "content-encoding", "retry-after");

  private final List<BatchItem> items;

  BatchExchange(List<BatchItem> items) {
    this.items = items;
  }

  int size() {
    return items.size();
  }

  // --- the request ---

  /**
   * Returns the array of the bodies, as one request.
   *
   * @param same names of the headers that it takes from its requests, which have equal ones
   */
  Request request(String path, List<?> same) {
    Buffer array = Buffer.buffer("[");
    for (BatchItem each : items) {
      array.appendString(array.length() == 1 ? "" : ",").appendBuffer(each.request().bytes());
    }
    Stream<String> shared = same.stream().map(String::valueOf).filter(this::isShared);
    String prefix = first().context().routePrefix(); // which the relay removes
    return Request.post((prefix.equals("/") ? "" : prefix) + path, array.appendString("]"))
        .withHeaders(selected(first().request().headers(), shared))
        .withHeader("content-type", "application/json")
        .withHeader("accept", "application/json");
  }

  private boolean isShared(String name) { // a change of the rules may mix two groups
    List<String> values = first().request().headers().all(name);
    return !OF_ARRAY.contains(name.toLowerCase(Locale.ROOT))
        && items.stream().allMatch(each -> values.equals(each.request().headers().all(name)));
  }

  private static Headers selected(Headers from, Stream<String> names) {
    List<String> pairs = new ArrayList<>();
    names.forEach(name -> from.all(name).forEach(value -> pairs.addAll(List.of(name, value))));
    return Headers.of(pairs.toArray(String[]::new));
  }

  private BatchItem first() {
    return items.get(0);
  }

  // --- the response ---

  /** Reads a response to its end. One beyond the limit fails the requests. */
  Future<Response> whole(Response response) {
    if (!(response.body() instanceof Response.Body.Produced produced)) {
      return Future.succeededFuture(response);
    }
    long most =
        Math.min(MAX_RESPONSE_BYTES, (long) size() * TypedHandle.DEFAULT_MAX_RESPONSE_BYTES);
    Buffer all = Buffer.buffer();
    return produced
        .producer()
        .writeTo(
            piece -> {
              if (all.length() + (long) piece.length() <= most) {
                all.appendBuffer(piece);
              } else {
                String reason = "upstream: a response of more than " + most + " bytes to a batch";
                breakOff(BerthException.Kind.OUTCOME_UNKNOWN, reason);
              }
              return Future.succeededFuture();
            })
        .map(end -> response.withBody(new Response.Body.Whole(all)));
  }

  /** Returns the result of each request. */
  List<BatchResult> results(ArrayElements elements) {
    BatchResult.requireSize(Collections.nCopies(elements.count(), true), size());
    return elements.first().stream()
        .map(each -> BatchResult.of(Response.of(200, "application/json", each)))
        .toList();
  }

  List<BatchResult> malformed(Throwable wrong) {
    String text = String.valueOf(wrong.getMessage()).replaceFirst("^body", "response to the batch");
    return ofEach(() -> BatchResult.of(Response.text(text + "\n").withStatus(502)));
  }

  /** Returns a response for each. A body for several may quote one of them, and is left out. */
  List<BatchResult> failures(Response response, Buffer body) {
    if (size() > 1) {
      String text = "The upstream responded to a batch with status " + response.status() + ".";
      Headers retry = selected(response.headers(), Stream.of("retry-after"));
      Buffer own = Buffer.buffer(text);
      return ofEach(
          () ->
              BatchResult.of(Response.of(response.status(), retry, new Response.Body.Whole(own))));
    }
    Headers headers = selected(response.headers(), OF_FAILURE.stream());
    return ofEach(
        () ->
            BatchResult.of(
                Response.of(response.status(), headers, new Response.Body.Whole(body.slice()))));
  }

  List<BatchResult> ofEach(Supplier<BatchResult> result) {
    return Stream.generate(result).limit(size()).toList();
  }

  // --- the request of the relay ---

  @Override
  public String requestId() {
    return first().context().requestId();
  }

  @Override
  public DeploymentId deployment() {
    return first().context().deployment();
  }

  @Override
  public Instant now() {
    return first().context().now();
  }

  @Override
  public boolean cancelled() {
    return items.stream().allMatch(each -> each.context().cancelled());
  }

  @Override
  public Runnable onCancel(Runnable action) {
    int[] wanted = {size()};
    for (BatchItem each : items) {
      each.context()
          .onCancel(
              () -> {
                if (--wanted[0] == 0) {
                  action.run();
                }
              });
    }
    return () -> {}; // the actions end with the requests
  }

  @Override
  public void breakOff(BerthException.Kind kind, String message) {
    items.forEach(each -> ((RelayedRequest) each.context()).breakOff(kind, message));
  }

  @Override
  public void refuse(UpstreamNotRun failure) {
    items.forEach(each -> ((RelayedRequest) each.context()).refuse(failure));
  }

  @Override
  public void passFields(int status, Headers fields) {
    // of the batch, not of one of its requests
  }
}
