package dev.berth.cluster.http;

import static java.util.stream.Collectors.joining;

import dev.berth.admin.AdminRefusal;
import dev.berth.admin.AdminRoutes;
import dev.berth.cluster.http.PeerClient.PeerResponse;
import dev.berth.cluster.membership.NodeInfo;
import io.netty.handler.codec.http.QueryStringEncoder;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Routes that gather the local state of each node for the whole cluster: ledgers, explained
 * requests and log lines. This node requests them by HTTPS from every node, including itself. Each
 * entry contains its {@code node}; {@code unreachable} lists the nodes without a response within 2
 * s. With {@code ?node=NAME} only one node is requested, and its response is returned unchanged.
 * Mount these routes before the local ones. Confined to the control loop.
 *
 * <pre>
 *   GET /api/v1/ledger                  entries in replicas, total summed up
 *   GET /api/v1/requests                the latest first; limit applies to each node
 *   GET /api/v1/requests/{id}/explain   as JSON or as text
 *   GET /api/v1/logs                    by time; limit applies to each node, and since needs node
 * </pre>
 */
public final class FanOutRoutes implements AdminRoutes {
  /** Timeout of a node's complete response. */
  static final Duration GATHER_TIMEOUT = Duration.ofSeconds(2);

  /** Maximum size of all responses to one request together, in bytes. */
  static final int MAX_BYTES = 64 << 20;

  /** Maximum number of gathered requests at a time; more are refused with a Retry-After. */
  static final int MAX_CONCURRENT = 4;

  private static final String LOGS = "/api/v1/logs";

  private static final Map<String, ReplyMerger> MERGERS =
      Map.of(
          "/api/v1/ledger",
          FanOutRoutes::joinReplies,
          "/api/v1/requests",
          FanOutRoutes::requests,
          LOGS,
          FanOutRoutes::lines);

  private final PeerClient client;
  private final Supplier<List<NodeInfo>> members;
  private int underWay;

  /** The response of a node. */
  private record NodeReply(String node, PeerResponse answer) {}

  /** Merges the responses of nodes, by their names, into one object. Runs on a worker thread. */
  private interface ReplyMerger extends Function<Map<String, JsonObject>, JsonObject> {}

  /**
   * Creates the routes.
   *
   * @param members all nodes, including this one
   */
  public FanOutRoutes(PeerClient client, Supplier<List<NodeInfo>> members) {
    this.client = client;
    this.members = members;
  }

  @Override
  public void mount(Router router) {
    router.get(LOGS).handler(FanOutRoutes::requireNode);
    MERGERS.forEach((path, merging) -> router.get(path).handler(gather(merging)));
    router.get("/api/v1/requests/:id/explain").handler(gather(FanOutRoutes::joinReplies));
  }

  /** Refuses {@code since} without {@code node}, because each node numbers its own lines. */
  private static void requireNode(RoutingContext context) {
    if (context.queryParams().contains("since") && !context.queryParams().contains("node")) {
      String why = "since: without node (expected: node=NAME too, the source of the number)";
      throw new AdminRefusal(400, "bad_parameter", why);
    }
    context.next();
  }

  private Handler<RoutingContext> gather(ReplyMerger merging) {
    return context -> {
      String one = context.queryParams().get("node");
      List<NodeInfo> asked =
          members.get().stream().filter(each -> one == null || one.equals(each.name())).toList();
      if (asked.isEmpty()) {
        throw one == null
            ? ForwardRoutes.later(context, "unreachable", "No node of the cluster is known yet.")
            : new AdminRefusal(
                404, "no_node", "node: " + one + " (expected: a node of the cluster)");
      }
      if (underWay >= MAX_CONCURRENT) {
        String why =
            underWay + " such requests in progress (expected: at most " + MAX_CONCURRENT + ")";
        throw ForwardRoutes.later(context, "too_many_requests", why);
      }
      underWay++;
      List<Future<NodeReply>> answers = ask(asked, uri(context), accept(context));
      Future.join(answers)
          .onComplete(over -> underWay--)
          .onComplete(over -> tell(context, asked, answers, one == null ? merging : null));
    };
  }

  /**
   * Returns the supplier of the merged JSON of all nodes that respond, as a client of this API
   * receives it. The supplier is slow, and may run on any thread. The caller limits the number of
   * requests.
   */
  public Future<Supplier<JsonObject>> read(String path, MultiMap query) {
    QueryStringEncoder uri = new QueryStringEncoder(path);
    query.forEach(uri::addParam);
    List<Future<NodeReply>> answers = ask(members.get(), uri.toString(), "application/json");
    ReplyMerger merging = MERGERS.get(path);
    return Future.join(answers)
        .transform(
            over ->
                Future.succeededFuture(
                    () ->
                        merging.apply(
                            bodies(
                                answers.stream()
                                    .filter(Future::succeeded)
                                    .map(Future::result)
                                    .filter(each -> each.answer.status() == 200)
                                    .toList()))));
  }

  private static String uri(RoutingContext context) {
    String query = context.request().query();
    String path = context.request().path();
    return query == null
        ? path
        : path
            + Stream.of(query.split("&"))
                .filter(each -> !each.startsWith("node="))
                .collect(joining("&", "?", ""));
  }

  private static String accept(RoutingContext context) {
    String accept = context.request().getHeader(HttpHeaders.ACCEPT);
    return accept == null ? "*/*" : accept;
  }

  private List<Future<NodeReply>> ask(List<NodeInfo> nodes, String uri, String accept) {
    return nodes.stream().map(each -> ask(each, uri, accept, nodes.size())).toList();
  }

  private Future<NodeReply> ask(NodeInfo peer, String uri, String accept, int nodes) {
    return client
        .send(peer, uri, GATHER_TIMEOUT, "Accept", accept)
        .compose(response -> PeerClient.whole(response, MAX_BYTES / nodes))
        .timeout(GATHER_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
        .map(answer -> new NodeReply(peer.name(), answer));
  }

  /**
   * Sends the response.
   *
   * @param merging null to send the response of one node unchanged
   */
  private static void tell(
      RoutingContext context,
      List<NodeInfo> asked,
      List<Future<NodeReply>> answers,
      @Nullable ReplyMerger merging) {
    List<NodeReply> said = answers.stream().filter(Future::succeeded).map(Future::result).toList();
    List<NodeReply> right = said.stream().filter(each -> each.answer.status() == 200).toList();
    List<String> unreachable = new ArrayList<>(asked.stream().map(NodeInfo::name).toList());
    said.stream()
        .filter(each -> each.answer.status() < 500)
        .forEach(each -> unreachable.remove(each.node));
    if (said.isEmpty()) {
      String why = String.valueOf(answers.get(0).cause().getMessage());
      context.fail(ForwardRoutes.later(context, "unreachable", why));
    } else if (merging == null || right.isEmpty()) {
      send(context, said.get(0).answer, said.get(0).answer.body());
    } else {
      context
          .vertx()
          .executeBlocking(() -> mergeReplies(right, unreachable, merging), false)
          .onComplete(all -> send(context, right.get(0).answer, all), context::fail);
    }
  }

  private static void send(RoutingContext context, PeerResponse like, Buffer body) {
    context
        .response()
        .setStatusCode(like.status())
        .putHeader(HttpHeaders.CONTENT_TYPE, like.headers().get(HttpHeaders.CONTENT_TYPE))
        .putHeader("x-content-type-options", "nosniff")
        .end(body);
  }

  private static Buffer mergeReplies(
      List<NodeReply> said, List<String> unreachable, ReplyMerger merging) {
    String type = said.get(0).answer.headers().get(HttpHeaders.CONTENT_TYPE);
    if (type.startsWith("text/")) {
      return text(said, unreachable);
    }
    JsonObject merged = merging.apply(bodies(said)).put("unreachable", new JsonArray(unreachable));
    return Buffer.buffer(merged.encodePrettily() + "\n");
  }

  private static Map<String, JsonObject> bodies(List<NodeReply> said) {
    Map<String, JsonObject> all = new LinkedHashMap<>();
    said.forEach(each -> all.put(each.node, each.answer.body().toJsonObject()));
    return all;
  }

  private static Buffer text(List<NodeReply> said, List<String> unreachable) {
    Buffer text = Buffer.buffer();
    for (NodeReply each : said) {
      text.appendString("node " + each.node + "\n").appendBuffer(each.answer.body());
    }
    return unreachable.isEmpty()
        ? text
        : text.appendString("unreachable: " + String.join(", ", unreachable) + "\n");
  }

  // --- merging of responses ---

  /**
   * Concatenates lists, whose entries receive their {@code node}, and sums numbers. Of any other
   * value the first is used.
   */
  private static JsonObject joinReplies(Map<String, JsonObject> said) {
    JsonObject all = new JsonObject();
    said.forEach((node, one) -> join(all, one, node));
    return all;
  }

  private static void join(JsonObject all, JsonObject one, String node) {
    for (Map.Entry<String, Object> each : one) {
      String key = each.getKey();
      if (each.getValue() instanceof JsonArray entries) {
        JsonArray joined = all.getJsonArray(key, new JsonArray());
        entries.forEach(entry -> joined.add(((JsonObject) entry).put("node", node)));
        all.put(key, joined);
      } else if (each.getValue() instanceof JsonObject numbers) {
        JsonObject sums = all.getJsonObject(key, new JsonObject());
        join(sums, numbers, node);
        all.put(key, sums);
      } else if (each.getValue() instanceof Number number) {
        all.put(key, all.getLong(key, 0L) + number.longValue());
      } else if (!all.containsKey(key)) {
        all.put(key, each.getValue());
      }
    }
  }

  private static JsonArray sorted(JsonArray entries, Comparator<JsonObject> by) {
    return new JsonArray(entries.stream().map(JsonObject.class::cast).sorted(by).toList());
  }

  private static JsonObject requests(Map<String, JsonObject> said) {
    Comparator<JsonObject> byTime = Comparator.comparing(each -> each.getString("arrived_at"));
    JsonArray all = joinReplies(said).getJsonArray("requests");
    return new JsonObject().put("requests", sorted(all, byTime.reversed()));
  }

  private static JsonObject lines(Map<String, JsonObject> said) {
    Comparator<JsonObject> byTime =
        Comparator.comparing(each -> Instant.parse(each.getString("time")));
    JsonArray lines = joinReplies(said).getJsonArray("lines");
    JsonObject nodes = new JsonObject();
    said.forEach(
        (node, page) -> {
          page.remove("lines");
          nodes.put(node, page);
        });
    return new JsonObject().put("lines", sorted(lines, byTime)).put("nodes", nodes);
  }
}
