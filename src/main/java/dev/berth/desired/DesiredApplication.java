package dev.berth.desired;

import static dev.berth.desired.DesiredChange.array;
import static dev.berth.desired.DesiredChange.map;

import dev.berth.code.Jar;
import dev.berth.controller.AutoscaledReplicaCount;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.DeclaredApplication;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.RevisionDetails;
import dev.berth.view.RevisionDetails.State;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An application of the {@link DesiredState}.
 *
 * @param name unique
 * @param wanted desired configuration
 * @param revision revision of that configuration
 * @param deployedMs time of acceptance, in milliseconds since 1970
 * @param healthy whether that revision has run, and has not failed since
 * @param failed why that revision failed, so that the previous one serves in its place; null when
 *     it did not, or without a previous one
 * @param scales replicas that were set from outside since, by deployment
 * @param before last revision that ran before it; null when none did, or none is known
 * @param ran deployments whose replicas have run, in any revision
 */
public record DesiredApplication(
    String name,
    ApplicationSpec wanted,
    long revision,
    long deployedMs,
    boolean healthy,
    @Nullable String failed,
    Map<String, Integer> scales,
    @Nullable EarlierRevision before,
    Set<String> ran) {

  /**
   * A submitted configuration.
   *
   * @param routePrefix prefix of its route; null for an application without HTTP
   * @param config its entry, a JSON object
   * @param jars its code, in the order of the class path
   * @param externalScaler whether its numbers of replicas may be set from outside
   * @param digest equal for equal entries with jars of equal content
   */
  public record ApplicationSpec(
      @Nullable String routePrefix,
      String config,
      List<Jar> jars,
      boolean externalScaler,
      String digest) {
    public ApplicationSpec {
      jars = List.copyOf(jars);
    }

    private RevisionDetails details(long revision, long deployedMs, State state, String message) {
      List<String> code = jars.stream().map(jar -> jar.name() + ' ' + jar.digest()).toList();
      return new RevisionDetails(
          revision, deployedMs, state, message, digest, routePrefix, code, config);
    }
  }

  /**
   * An earlier revision that has run.
   *
   * @param deployedMs time of acceptance, in milliseconds since 1970; 0 when unknown
   */
  public record EarlierRevision(long revision, long deployedMs, ApplicationSpec wanted) {
    RevisionDetails details(DesiredApplication of) {
      boolean serves = of.failed != null && of.before != null && of.before.revision == revision;
      return wanted.details(revision, deployedMs, serves ? State.SERVES : State.RAN, "");
    }

    JsonObject toJson() {
      return write(wanted).put("revision", revision).put("deployed_ms", deployedMs);
    }

    static EarlierRevision of(JsonObject json) {
      return new EarlierRevision(
          json.getLong("revision"), json.getLong("deployed_ms", 0L), read(json));
    }
  }

  public DesiredApplication {
    scales = Collections.unmodifiableMap(new LinkedHashMap<>(scales));
  }

  /**
   * Returns the form that the controller receives.
   *
   * @param free whether the route of the previous revision is free
   * @param rollback revision that a rollback would restore; null when there is none
   * @param autoscaled persisted numbers of autoscaled deployments, by name
   */
  DeclaredApplication declared(
      boolean free, @Nullable Long rollback, Map<String, AutoscaledReplicaCount> autoscaled) {
    DeclaredApplication.FailedRevision instead = null;
    if (failed != null && before != null) {
      String message = failed + "; revision " + before.revision() + " serves";
      ApplicationSpec serves = free ? before.wanted() : wanted;
      instead =
          new DeclaredApplication.FailedRevision(message, serves.routePrefix(), before.revision());
    }
    return new DeclaredApplication(
        name,
        revision,
        wanted.routePrefix(),
        wanted.config(),
        wanted.externalScaler(),
        deployedMs,
        rollback,
        scales,
        autoscaled,
        ran,
        instead);
  }

  /** Returns the form that operators see. */
  RevisionDetails details() {
    State state = failed != null ? State.FAILED : healthy ? State.RUNS : State.WANTED;
    return wanted.details(revision, deployedMs, state, failed == null ? "" : failed);
  }

  /**
   * Returns the configuration that should run now: the wanted one, or the previous one after a
   * failure.
   */
  public ApplicationSpec serving() {
    return failed != null && before != null ? before.wanted() : wanted;
  }

  /**
   * Returns the application after its revision ran or failed. Without a proven run its health stays
   * as before, and without a previous revision it is not marked as failed.
   */
  DesiredApplication marked(Announce state) {
    if (state.status() != ApplicationStatus.RUNNING) {
      return before == null || failed != null ? this : withFailure(state.message());
    }
    boolean good = state.proven() || healthy;
    return new DesiredApplication(
        name, wanted, revision, deployedMs, good, null, scales, before, Set.copyOf(state.ran()));
  }

  /**
   * Returns the application after its revision failed; a rollback does not return to that revision,
   * even if it ran for a while.
   *
   * @param why null when the same revision was deployed again, and is retried
   */
  DesiredApplication withFailure(@Nullable String why) {
    return new DesiredApplication(
        name, wanted, revision, deployedMs, false, why, scales, before, ran);
  }

  DesiredApplication scaled(String deployment, int replicas) {
    Map<String, Integer> all = new LinkedHashMap<>(scales);
    all.put(deployment, replicas);
    return new DesiredApplication(
        name, wanted, revision, deployedMs, healthy, failed, all, before, ran);
  }

  /**
   * Returns the application with another configuration: its scales are removed, and a healthy
   * revision becomes the previous one.
   */
  DesiredApplication withSpec(ApplicationSpec other, long newRevision, long nowMs) {
    EarlierRevision last = healthy ? new EarlierRevision(revision, deployedMs, wanted) : before;
    return new DesiredApplication(
        name, other, newRevision, nowMs, false, null, Map.of(), last, ran);
  }

  /** Returns the application with other weights of its route; values set from outside stay. */
  DesiredApplication split(ApplicationSpec other, long newRevision, long nowMs) {
    EarlierRevision last = withSpec(other, newRevision, nowMs).before;
    return new DesiredApplication(name, other, newRevision, nowMs, false, null, scales, last, ran);
  }

  /**
   * Returns the application with an earlier configuration, which never becomes its own previous
   * revision.
   */
  DesiredApplication backTo(ApplicationSpec earlier, long newRevision, long nowMs) {
    EarlierRevision last = withSpec(earlier, newRevision, nowMs).before;
    boolean own = last != null && last.wanted.digest().equals(earlier.digest());
    return new DesiredApplication(
        name, earlier, newRevision, nowMs, false, null, Map.of(), own ? null : last, ran);
  }

  // --- persisted form ---

  JsonObject toJson() {
    JsonObject json =
        write(wanted)
            .put("name", name)
            .put("revision", revision)
            .put("deployed_ms", deployedMs)
            .put("healthy", healthy)
            .put("failed", failed);
    if (!scales.isEmpty()) {
      json.put("scales", new JsonObject(new LinkedHashMap<>(scales)));
    }
    if (!ran.isEmpty()) {
      json.put("ran", new JsonArray(ran.stream().sorted().toList()));
    }
    if (before != null) {
      json.put("before", before.toJson());
    }
    return json;
  }

  static DesiredApplication of(JsonObject json) {
    JsonObject before = json.getJsonObject("before");
    return new DesiredApplication(
        json.getString("name"),
        read(json),
        json.getLong("revision"),
        json.getLong("deployed_ms"),
        json.getBoolean("healthy"),
        json.getString("failed"),
        map(json.getJsonObject("scales", new JsonObject()), Integer.class::cast),
        before == null ? null : EarlierRevision.of(before),
        json.getJsonArray("ran", new JsonArray()).stream()
            .map(String.class::cast)
            .collect(Collectors.toSet()));
  }

  private static JsonObject write(ApplicationSpec wanted) {
    return new JsonObject()
        .put("config", wanted.config())
        .put("digest", wanted.digest())
        .put("external_scaler", wanted.externalScaler())
        .put("route_prefix", wanted.routePrefix())
        .put("jars", array(wanted.jars(), jar -> JsonArray.of(jar.name(), jar.digest())));
  }

  private static ApplicationSpec read(JsonObject json) {
    return new ApplicationSpec(
        json.getString("route_prefix"),
        json.getString("config"),
        json.getJsonArray("jars").stream()
            .map(JsonArray.class::cast)
            .map(jar -> new Jar(jar.getString(0), jar.getString(1)))
            .toList(),
        json.getBoolean("external_scaler"),
        json.getString("digest"));
  }
}
