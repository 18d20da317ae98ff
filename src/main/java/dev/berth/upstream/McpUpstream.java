package dev.berth.upstream;

import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.config.builtin.McpOptions;
import dev.berth.config.keys.Settings;
import dev.berth.dialect.DialectProblem;
import dev.berth.dialect.mcp.McpCall;
import dev.berth.dialect.mcp.McpCall.CallKind;
import dev.berth.dialect.mcp.McpErrors;
import dev.berth.dialect.mcp.McpRevision;
import dev.berth.dialect.mcp.SessionIds;
import dev.berth.dialect.mcp.SessionIds.SessionId;
import dev.berth.protocol.port.HttpErrorResponse;
import dev.berth.protocol.port.UpstreamContext;
import dev.berth.protocol.port.UpstreamNotRun;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The rules of one upstream of {@code berth:mcp}: the limits of its tools and streams, and its
 * sessions, whose ids the upstream sees as it made them. Confined to the replica's loop.
 */
final class McpUpstream {
  /** Maximum of messages without a slot in flight, beside the streams. */
  static final int MAX_MESSAGES = 64;

  private static final String SESSION = "mcp-session-id";
  private static final String VERSION = "mcp-protocol-version";
  private static final int RETRY_AFTER_MS = 1_000;

  private final UpstreamContext replica;
  private final SessionIds sessions;
  private int maxStreams;
  private Map<String, Integer> limits = Map.of(); // of tools, by name
  private final Map<String, Integer> ongoing = new HashMap<>(); // calls of these tools
  private final Set<String> listening = new HashSet<>(); // sessions with a stream opened by GET
  private final Map<String, Integer> resumed = new HashMap<>(); // streams, by session
  private int streams;

  McpUpstream(UpstreamContext replica, SessionIds sessions) {
    this.replica = replica;
    this.sessions = sessions;
  }

  void configure(Settings mcp) {
    maxStreams = mcp.get(McpOptions.MAX_STREAMS);
    limits = McpOptions.limits(mcp);
    replica.gate().permitSlotless(maxStreams + MAX_MESSAGES);
  }

  /**
   * Relays a request, or refuses it.
   *
   * @param relay of this request
   * @param to the upstream
   */
  Future<Response> handle(Request request, UpstreamRelay relay, UpstreamHandler to) {
    McpCall call = McpCall.read(request.headers().get(McpCall.HEADER));
    String presented = request.headers().get(SESSION);
    SessionId session = presented == null ? null : sessions.read(presented);
    boolean isOurs =
        session != null && session.upstream().equals(sessions.hash(replica.upstream()));
    boolean isClosed = call != null && call.kind() == CallKind.CLOSED;
    if (presented != null && !isOurs || isClosed && to.isUnreachable()) {
      return respond(McpErrors.lostSession());
    }
    if (call != null
        && call.kind() == CallKind.LISTEN
        && session != null
        && listening.contains(session.id())) {
      return respond(McpErrors.secondStream());
    }
    if (call != null && call.isCancel() && session != null && resumed.containsKey(session.id())) {
      return Future.succeededFuture(Response.text("").withStatus(202)); // the call has a reader
    }
    UpstreamNotRun refusal = call == null ? null : acquire(call, session);
    if (refusal != null) {
      return Future.failedFuture(refusal);
    }
    Request sent =
        session == null ? request : request.withHeaders(replaced(request.headers(), session.id()));
    if (call != null && call.kind() != CallKind.REQUEST) {
      relay.lasts(); // it takes no slot
    } else if (McpRevision.of(request.headers().get(VERSION)) == McpRevision.SESSIONS) {
      relay.runsOn(); // a call does not end with its connection
    }
    Future<Response> answer = to.relay(sent, relay);
    if (call != null) {
      answer.onComplete((done, failed) -> relay.onEnd(done, () -> release(call, session)));
    }
    return answer
        .map(this::wrapped)
        .recover(
            failed ->
                session != null && relay.isUnconnected()
                    ? respond(McpErrors.lostSession())
                    : Future.failedFuture(failed));
  }

  /** Counts a call. Returns why it may not run now; null if it may. */
  private @Nullable UpstreamNotRun acquire(McpCall call, @Nullable SessionId session) {
    if (call.kind() == CallKind.CLOSED) {
      return new UpstreamNotRun("closed", RETRY_AFTER_MS);
    }
    if (call.isStream() && streams >= maxStreams) {
      return new UpstreamNotRun("max_streams: " + maxStreams, RETRY_AFTER_MS);
    }
    Integer limit = limits.get(call.tool());
    if (limit != null && ongoing.getOrDefault(call.tool(), 0) >= limit) {
      String words = "tool " + call.tool() + ": " + limit + " calls at each upstream";
      return UpstreamNotRun.beyondLimit(words);
    }
    if (call.kind() == CallKind.LISTEN && session != null) {
      listening.add(session.id());
    }
    if (call.kind() == CallKind.STREAM && session != null) {
      resumed.merge(session.id(), 1, Integer::sum);
    }
    streams += call.isStream() ? 1 : 0;
    if (!call.tool().isEmpty()) {
      ongoing.merge(call.tool(), 1, Integer::sum);
    }
    return null;
  }

  private void release(McpCall call, @Nullable SessionId session) {
    streams -= call.isStream() ? 1 : 0;
    if (call.kind() == CallKind.LISTEN && session != null) {
      listening.remove(session.id());
    }
    if (call.kind() == CallKind.STREAM && session != null) {
      resumed.computeIfPresent(session.id(), (id, all) -> all == 1 ? null : all - 1);
    }
    ongoing.computeIfPresent(call.tool(), (tool, calls) -> calls == 1 ? null : calls - 1);
  }

  private Response wrapped(Response response) {
    String own = response.headers().get(SESSION);
    return own == null
        ? response
        : response.withHeaders(
            replaced(response.headers(), sessions.wrap(replica.upstream(), own)));
  }

  /**
   * @param session null for none
   */
  private static Headers replaced(Headers headers, @Nullable String session) {
    List<String> pairs = new ArrayList<>(2 * headers.size());
    headers.forEach(
        (name, value) -> {
          String next = name.equalsIgnoreCase(SESSION) ? session : value;
          if (next != null) {
            pairs.addAll(List.of(name, next));
          }
        });
    return Headers.of(pairs.toArray(String[]::new));
  }

  private static Future<Response> respond(DialectProblem problem) {
    HttpErrorResponse failure = problem.response(); // the ingress writes its body
    return Future.succeededFuture(
        Response.of(
            failure.status(),
            Headers.of(McpCall.HEADER, failure.code()),
            new Response.Body.Whole(Buffer.buffer())));
  }
}
