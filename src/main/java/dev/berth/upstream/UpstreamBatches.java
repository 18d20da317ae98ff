package dev.berth.upstream;

import dev.berth.api.AsyncBatchHandler;
import dev.berth.api.BatchItem;
import dev.berth.api.BatchResult;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.batching.BatchingOptions;
import dev.berth.config.batching.JsonBatchOptions;
import dev.berth.dialect.DialectProblem;
import dev.berth.dialect.ElementScanner;
import dev.berth.protocol.port.UpstreamContext;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Runs the batches of an upstream: one request for all whose bodies are JSON, and status 400 for
 * the others. Confined to the replica's loop, except the hooks.
 */
final class UpstreamBatches implements AsyncBatchHandler {
  /** Maximum of bytes that are scanned on the loop. */
  private static final int MAX_SCANNED_BYTES = 64 << 10;

  private static final Pattern JSON = Pattern.compile("(?i)application/([^;]+\\+)?json\\s*(;.*)?");

  private final UpstreamContext replica;
  private final UpstreamHandler upstream;
  private volatile Map<?, ?> rules = Map.of(); // from the user_config

  UpstreamBatches(UpstreamContext replica, UpstreamHandler upstream) {
    this.replica = replica;
    this.upstream = upstream;
  }

  @Override
  public void reconfigure(Map<String, Object> userConfig) throws Exception {
    upstream.reconfigure(userConfig);
    rules = (Map<?, ?>) Objects.requireNonNull(userConfig.get(DeploymentConfig.BATCH.name()));
  }

  @Override
  public void stop() throws Exception {
    upstream.stop();
  }

  @Override
  public Future<List<BatchResult>> handle(List<BatchItem> items) {
    long bytes = 0;
    for (BatchItem each : items) {
      bytes += ((Request.Body.Whole) each.request().body()).length();
    }
    return scan(bytes, () -> items.stream().map(each -> problem(each.request())).toList())
        .compose(problems -> send(items, problems));
  }

  /** Runs a scan on the loop, or on a thread if it takes long. */
  private <T> Future<T> scan(long bytes, Callable<T> scan) {
    if (bytes > MAX_SCANNED_BYTES) {
      return replica.ports().loop().callBlocking(replica.deployment().application(), scan);
    }
    try {
      return Future.succeededFuture(scan.call());
    } catch (Exception invalid) {
      return Future.failedFuture(invalid);
    }
  }

  /** Returns why a request cannot be part of an array; empty if it can. */
  private static String problem(Request request) {
    String type = request.headers().get("content-type");
    String accept = Objects.requireNonNullElse(request.headers().get("accept"), "");
    if (!request.method().equals("POST")) {
      return "method: " + request.method() + " (expected: POST, for a batch)";
    }
    if (type != null && !JSON.matcher(type).matches()) {
      return "content-type: " + type + " (expected: application/json, for a batch)";
    }
    if (accept.contains("text/event-stream") && !accept.contains("json")) {
      return "accept: " + accept + " (expected: application/json, since a batch has no streams)";
    }
    try {
      ElementScanner.requireValue(request.bytes());
      return "";
    } catch (DialectProblem | IllegalArgumentException invalid) { // or a value without a JSON form
      return String.valueOf(invalid.getMessage());
    }
  }

  /**
   * Sends the requests without a problem.
   *
   * @param problems of each request
   */
  private Future<List<BatchResult>> send(List<BatchItem> items, List<String> problems) {
    List<BatchItem> valid =
        IntStream.range(0, items.size())
            .filter(at -> problems.get(at).isEmpty())
            .mapToObj(items::get)
            .toList();
    Future<List<BatchResult>> sent =
        valid.isEmpty() ? Future.succeededFuture(List.of()) : send(new BatchExchange(valid));
    return sent.map(List::iterator).map(results -> merged(problems, results));
  }

  private static List<BatchResult> merged(List<String> problems, Iterator<BatchResult> results) {
    return problems.stream()
        .map(
            each ->
                each.isEmpty()
                    ? results.next()
                    : BatchResult.of(Response.text(each + "\n").withStatus(400)))
        .toList();
  }

  private Future<List<BatchResult>> send(BatchExchange batch) {
    Request request =
        batch.request(
            String.valueOf(rules.get(JsonBatchOptions.PATH.name())),
            (List<?>) Objects.requireNonNull(rules.get(BatchingOptions.SAME.name())));
    return upstream
        .relay(request, upstream.newRelay(batch))
        .compose(batch::whole)
        .compose(
            response -> {
              Buffer body = ((Response.Body.Whole) response.body()).bytes();
              return response.status() / 100 == 2
                  ? scan(body.length(), () -> ElementScanner.split(body, batch.size()))
                      .map(batch::results)
                      .otherwise(batch::malformed)
                  : Future.succeededFuture(batch.failures(response, body));
            })
        .otherwise(failure -> batch.ofEach(() -> BatchResult.ofFailure(failure)));
  }
}
