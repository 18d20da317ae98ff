package dev.berth.admin.live;

import dev.berth.admin.ServeJson;
import dev.berth.api.DeploymentId;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.ClusterDetails;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.ReplicaDetails;
import dev.berth.view.ReplicaPhase;
import dev.berth.view.ServeDetails;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Entries of the topics, in the JSON of the admin API. Confined to the control loop, except the
 * suppliers of entries, which run on another thread, one round at a time.
 */
final class LiveReader implements LiveFeed.TopicReader {
  private static final String LEDGER = "/api/v1/ledger";

  /** Maximum characters of a text of a log line. */
  static final int MAX_LOG_CHARS = 4_096;

  private static final String REQUESTS_READ = "100";
  private static final String LINES_READ = "200";

  /** Fields of a ledger that change although no slot does. */
  private static final List<String> AGES =
      List.of("audited_at", "audited_ms_ago", "clean_at", "clean_ms_ago");

  /** Fields of a replica's ledger that its entry in other topics has. */
  private static final List<String> SLOTS =
      List.of("max_ongoing_requests", "running", "reserved", "draining");

  private static final List<String> ROLLOUT = List.of("current", "old", "starting", "draining");
  private static final String ID = "replica_id";

  /** Entry of an application. It stays valid while the details and the rows are the same. */
  private record ShownApplication(
      String key, ApplicationDetails of, List<double @Nullable []> rows, JsonObject entry) {}

  private final LiveState state;
  private final FigureHistory history;
  private Map<String, ShownApplication> shown = Map.of(); // of the last overview, by name
  private @Nullable ServeDetails applications; // of this round
  private @Nullable Future<Supplier<JsonObject>> ledger;

  LiveReader(LiveState state, FigureHistory history) {
    this.state = state;
    this.history = history;
  }

  @Override
  public void begin() {
    applications = null;
    ledger = null;
  }

  @Override
  public Future<Supplier<Map<String, ?>>> read(LiveTopic topic) {
    return switch (topic.kind()) {
      case "overview" -> overview();
      case "deployment" -> deployment(topic);
      case "autoscaling" -> autoscaling(topic);
      case "nodes" -> nodes();
      case "upstreams" -> upstreams();
      case "traffic" -> {
        JsonArray routes = state.routes();
        yield Future.succeededFuture(() -> keyed(routes, each -> each.getString("route")));
      }
      case "requests" -> requests();
      case "log" -> log(topic);
      case "reservations" -> reservations();
      case "batches" -> ledger().map(read -> () -> ledger(read.get(), "batches"));
      default -> ledger().map(read -> () -> ledger(read.get(), ""));
    };
  }

  // --- state of the controller ---

  private ServeDetails applications() {
    ServeDetails read = applications == null ? state.controller().applications() : applications;
    applications = read;
    return read;
  }

  private Future<@Nullable ClusterDetails> cluster() {
    return state.missing() == null ? state.controller().cluster() : Future.succeededFuture();
  }

  private Future<Supplier<Map<String, ?>>> overview() {
    List<ApplicationDetails> all =
        state.missing() == null ? applications().applications() : List.of();
    return cluster().map(found -> () -> overview(all, found));
  }

  private Map<String, ?> overview(List<ApplicationDetails> all, @Nullable ClusterDetails cluster) {
    Map<String, JsonObject> entries = new LinkedHashMap<>();
    Map<String, ShownApplication> made = new HashMap<>();
    long replicas = replicas(all);
    int targets = 0;
    for (ApplicationDetails each : all) {
      ShownApplication application = shown(each);
      made.put(each.name(), application);
      entries.put(application.key, application.entry);
      for (DeploymentDetails deployment : each.deployments()) {
        targets += deployment.targetReplicas();
      }
    }
    shown = made;
    Map<String, JsonObject> nodes = nodes(cluster, replicas);
    nodes.remove("cluster");
    entries.putAll(nodes);
    double lag = 0;
    for (JsonObject each : nodes.values()) {
      lag = Math.max(lag, Objects.requireNonNullElse(each.getDouble("loop_lag_ms"), 0.0));
    }
    long healthy = all.stream().filter(each -> each.status() == ApplicationStatus.RUNNING).count();
    JsonObject total =
        new JsonObject()
            .put("applications", all.size())
            .put("healthy", healthy)
            .put("nodes", nodes.size())
            .put("replicas", replicas)
            .put("target_replicas", targets)
            .put("loop_lag_ms", lag);
    entries.put("total", history.addFigures(null, total));
    return entries;
  }

  /** Returns the entry of an application: the last one if nothing has changed. */
  private ShownApplication shown(ApplicationDetails of) {
    List<double @Nullable []> rows = new ArrayList<>(of.deployments().size());
    of.deployments()
        .forEach(each -> rows.add(history.row(new DeploymentId(of.name(), each.name()))));
    ShownApplication last = shown.get(of.name());
    return last != null && last.of.equals(of) && last.rows.equals(rows)
        ? last
        : new ShownApplication("app/" + of.name(), of, rows, application(of));
  }

  private JsonObject application(ApplicationDetails of) {
    JsonArray deployments = new JsonArray();
    for (DeploymentDetails each : of.deployments()) {
      JsonObject shown =
          new JsonObject()
              .put("name", each.name())
              .put("status", each.status().name())
              .put("message", each.message())
              .put("target_replicas", each.targetReplicas())
              .put("replicas", each.replicas().size())
              .put("running", running(each.replicas()));
      deployments.add(history.addFigures(new DeploymentId(of.name(), each.name()), shown));
    }
    return new JsonObject()
        .put("name", of.name())
        .put("status", of.status().name())
        .put("message", of.message())
        .put("route_prefix", of.routePrefix())
        .put("revision", of.revision())
        .put("rollback_revision", of.rollbackRevision())
        .put("deployments", deployments);
  }

  private static long running(List<ReplicaDetails> replicas) {
    return replicas.stream().filter(each -> each.phase() == ReplicaPhase.RUNNING).count();
  }

  private Future<Supplier<Map<String, ?>>> nodes() {
    Long replicas = state.missing() == null ? replicas(applications().applications()) : null;
    return cluster().map(found -> () -> nodes(found, replicas));
  }

  private static long replicas(List<ApplicationDetails> all) {
    return all.stream()
        .flatMap(each -> each.deployments().stream())
        .mapToLong(each -> each.replicas().size())
        .sum();
  }

  private Map<String, JsonObject> nodes(@Nullable ClusterDetails cluster, @Nullable Long replicas) {
    Map<String, JsonObject> entries = new LinkedHashMap<>();
    if (cluster == null) {
      JsonObject own = new JsonObject().put("name", state.node()).put("node_id", state.node());
      own.put("state", "ALIVE").put("replicas", replicas).put("role", "single");
      entries.put("node/" + state.node(), own.put("loop_lag_ms", history.lagMs(state.node())));
      return entries;
    }
    JsonObject all = ServeJson.of(cluster);
    for (ClusterDetails.Node each : cluster.nodes()) {
      JsonObject shown = ServeJson.of(each).put("loop_lag_ms", history.lagMs(each.nodeId()));
      shown.remove("silent_ms"); // changes with each sample
      entries.put("node/" + each.name(), shown);
    }
    all.remove("nodes");
    all.remove("upstreams");
    entries.put("cluster", all);
    return entries;
  }

  private Future<Supplier<Map<String, ?>>> deployment(LiveTopic topic) {
    ApplicationDetails found = state.controller().application(topic.application());
    DeploymentId id = new DeploymentId(topic.application(), topic.deployment());
    if (found == null
        || found.deployments().stream().noneMatch(each -> each.name().equals(id.name()))) {
      throw CommandRejectedException.notFound("deployment: %s (expected: a known one)", id);
    }
    MultiMap query =
        MultiMap.caseInsensitiveMultiMap()
            .add("application", id.application())
            .add("deployment", id.name());
    return state.read(LEDGER, query).map(read -> () -> deployment(found, id, slots(read.get())));
  }

  private Map<String, ?> deployment(
      ApplicationDetails of, DeploymentId id, Map<String, JsonObject> slots) {
    JsonObject application = ServeJson.of(of);
    JsonObject own =
        keyed((JsonArray) application.remove("deployments"), each -> each.getString("name"))
            .get(id.name());
    JsonArray replicas = (JsonArray) own.remove("replicas");
    forgetAges(own.getJsonObject("autoscaling"));
    String version = own.getString("version");
    Map<String, Object> rollout = new LinkedHashMap<>(Map.of("version", version));
    ROLLOUT.forEach(phase -> rollout.put(phase, 0));
    Map<String, JsonObject> entries = keyed(replicas, each -> "replica/" + each.getString(ID));
    for (JsonObject each : entries.values()) {
      addSlots(each, slots);
      rollout.merge(rolloutState(each, version), 1, (one, more) -> (int) one + (int) more);
    }
    entries.put("application", application);
    entries.put("deployment", history.addFigures(id, own));
    entries.put("rollout", new JsonObject(rollout));
    return entries;
  }

  private static String rolloutState(JsonObject replica, String version) {
    return switch (ReplicaPhase.valueOf(replica.getString("phase"))) {
      case STARTING, UPDATING -> "starting";
      case DRAINING, STOPPING, STOPPED -> "draining";
      default -> replica.getString("version").equals(version) ? "current" : "old";
    };
  }

  private static JsonObject addSlots(JsonObject replica, Map<String, JsonObject> slots) {
    JsonObject ledger = slots.getOrDefault(replica.getString(ID), new JsonObject());
    SLOTS.forEach(field -> replica.put(field, ledger.getValue(field)));
    return replica;
  }

  private static void forgetAges(@Nullable JsonObject scaling) {
    if (scaling != null) {
      scaling.remove("at_ms");
      scaling.remove("report_ms");
    }
  }

  private Future<Supplier<Map<String, ?>>> autoscaling(LiveTopic topic) {
    if (topic.application().isEmpty()) {
      ServeDetails all = applications();
      return Future.succeededFuture(() -> autoscaling(all));
    }
    DeploymentId id = new DeploymentId(topic.application(), topic.deployment());
    Supplier<JsonObject> decisions = state.controller().decisions(id);
    if (decisions == null) {
      throw CommandRejectedException.notFound("deployment: %s (expected: an autoscaled one)", id);
    }
    return Future.succeededFuture(() -> decisions(decisions.get()));
  }

  private static Map<String, ?> autoscaling(ServeDetails all) {
    Map<String, JsonObject> entries = new LinkedHashMap<>();
    for (ApplicationDetails application : all.applications()) {
      for (DeploymentDetails each : application.deployments()) {
        if (each.autoscaling() != null) {
          JsonObject shown = ServeJson.of(each.autoscaling());
          forgetAges(shown);
          entries.put(application.name() + "#" + each.name(), shown);
        }
      }
    }
    return entries;
  }

  private static Map<String, ?> decisions(JsonObject all) {
    Map<String, JsonObject> entries = new LinkedHashMap<>();
    forgetAges(all.getJsonObject("now"));
    List.of("now", "demand", "inputs").forEach(it -> entries.put(it, all.getJsonObject(it)));
    entries.values().removeIf(Objects::isNull);
    entries.putAll(
        keyed(all.getJsonArray("decisions"), each -> "decision/" + each.getValue("at_ms")));
    return entries;
  }

  private Future<Supplier<Map<String, ?>>> upstreams() {
    ServeDetails all = applications();
    return Future.all(cluster(), ledger())
        .map(
            both -> {
              ClusterDetails found = both.resultAt(0);
              Supplier<JsonObject> read = both.resultAt(1);
              return () -> upstreams(all, found, slots(read.get()));
            });
  }

  private static Map<String, ?> upstreams(
      ServeDetails all, @Nullable ClusterDetails cluster, Map<String, JsonObject> slots) {
    Map<String, JsonObject> owners = new HashMap<>();
    if (cluster != null) {
      cluster.upstreams().forEach(each -> owners.put(each.replicaId(), ServeJson.of(each)));
    }
    Map<String, JsonObject> entries = new LinkedHashMap<>();
    for (ApplicationDetails application : all.applications()) {
      for (DeploymentDetails deployment : application.deployments()) {
        for (ReplicaDetails each : deployment.replicas()) {
          if (!each.upstream().isEmpty()) {
            JsonObject shown =
                addSlots(ServeJson.of(each), slots)
                    .put("application", application.name())
                    .put("deployment", deployment.name());
            entries.put(each.replicaId(), shown.put("owner", owners.get(each.replicaId())));
          }
        }
      }
    }
    return entries;
  }

  // --- state of all nodes ---

  private Future<Supplier<JsonObject>> ledger() {
    Future<Supplier<JsonObject>> read = ledger;
    if (read == null) {
      read = state.read(LEDGER, MultiMap.caseInsensitiveMultiMap()).map(LiveReader::once);
      ledger = read;
    }
    return read;
  }

  /** Returns a supplier that reads at its first call. One thread at a time. */
  private static Supplier<JsonObject> once(Supplier<JsonObject> reading) {
    JsonObject[] read = new JsonObject[1];
    return () -> {
      if (read[0] == null) {
        read[0] = reading.get();
      }
      return read[0];
    };
  }

  private static Map<String, JsonObject> slots(JsonObject ledger) {
    return keyed(ledger.getJsonArray("replicas"), each -> each.getString("replica"));
  }

  /** Returns the ledgers that have a field; all if it is empty. */
  private static Map<String, JsonObject> ledger(JsonObject read, String field) {
    Map<String, JsonObject> entries = slots(read);
    entries.values().removeIf(each -> !field.isEmpty() && !each.containsKey(field));
    entries.values().forEach(each -> AGES.forEach(each::remove));
    if (field.isEmpty()) {
      entries.put("total", read.getJsonObject("total"));
    }
    return entries;
  }

  private Future<Supplier<Map<String, ?>>> reservations() {
    JsonObject total = state.reservations();
    return ledger().map(read -> () -> reservations(ledger(read.get(), "reserved"), total));
  }

  private static Map<String, ?> reservations(Map<String, JsonObject> entries, JsonObject total) {
    entries.values().removeIf(each -> each.getLong("reserved") == 0);
    entries.put("total", total);
    return entries;
  }

  private Future<Supplier<Map<String, ?>>> requests() {
    MultiMap query = MultiMap.caseInsensitiveMultiMap().add("limit", REQUESTS_READ);
    return state
        .read("/api/v1/requests", query)
        .map(read -> () -> keyed(read.get().getJsonArray("requests"), LiveReader::requestKey));
  }

  private static String requestKey(JsonObject each) {
    String time = each.getString("arrived_at");
    return timed(time, each.getString("request_id")) + each.getString("deployment");
  }

  private Future<Supplier<Map<String, ?>>> log(LiveTopic topic) {
    MultiMap query = MultiMap.caseInsensitiveMultiMap().add("limit", LINES_READ);
    topic.filters().forEach(query::add);
    return state.read("/api/v1/logs", query).map(read -> () -> lines(read.get()));
  }

  private static Map<String, ?> lines(JsonObject read) {
    Map<String, JsonObject> entries =
        keyed(
            read.getJsonArray("lines"),
            each -> {
              String number = "%012d".formatted(each.getLong("number"));
              return timed(each.getString("time"), number) + each.getString("node", "");
            });
    entries.values().forEach(LiveReader::shorten);
    return entries;
  }

  private static void shorten(JsonObject line) {
    for (String field : List.of("message", "exception")) {
      String text = line.getString(field);
      if (text != null && text.length() > MAX_LOG_CHARS) {
        String cut = "... (%d of %d characters shown)".formatted(MAX_LOG_CHARS, text.length());
        line.put(field, text.substring(0, MAX_LOG_CHARS) + cut);
      }
    }
  }

  /** Returns a key that sorts by time. */
  private static String timed(String time, String name) {
    Instant at = Instant.parse(time);
    return "%011d%09d/%s/".formatted(at.getEpochSecond(), at.getNano(), name);
  }

  private static Map<String, JsonObject> keyed(
      JsonArray entries, Function<JsonObject, String> key) {
    Map<String, JsonObject> all = new LinkedHashMap<>();
    entries.forEach(each -> all.put(key.apply((JsonObject) each), (JsonObject) each));
    return all;
  }
}
