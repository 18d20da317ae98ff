package dev.berth.protocol.port;

import dev.berth.api.Headers;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Answers API requests of any port of the instance: what listens reads the request whole, within
 * its bounds, and writes the answer. Any thread; never blocks.
 */
@FunctionalInterface
public interface Endpoint {

  /** Whether it, and not another, answers what is asked for at this path. */
  default boolean answers(String path) {
    return true;
  }

  Exchange handle(Asked request);

  /** What it answers, for people: {@code POST /path/{parameter}}. */
  default List<String> paths() {
    return List.of();
  }

  /**
   * A request.
   *
   * @param path without the query, percent-encoded as it came
   * @param peer the address it came from
   * @param client who it has shown to be, {@code certificate CN=ci}; null when that is not known
   */
  record Asked(
      String method,
      String path,
      Headers headers,
      Buffer body,
      String peer,
      @Nullable String client) {
    /** The same of a client that is known. */
    public Asked by(String known) {
      return new Asked(method, path, headers, body, peer, known);
    }

    @Override
    public String toString() {
      return "Asked[" + method + "]"; // a path may hold a token
    }
  }

  /** A request under way. */
  @FunctionalInterface
  interface Exchange {

    /** Completes on any thread; never fails. */
    Future<Answer> answer();

    /** The client is not there any more: before its answer, or before it received all of that. */
    default void clientGone() {}
  }

  /**
   * @param body JSON; empty for none
   */
  record Answer(int status, Map<String, String> headers, Buffer body) {
    @Override
    public String toString() {
      return "Answer[" + status + "]";
    }
  }
}
