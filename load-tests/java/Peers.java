import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

/**
 * How far we are from what other servers did. Their figures are constants, in {@code peers.json}:
 * measured on a machine of this size (2 cores, shared with the client, AMD EPYC, JDK 17), with the
 * same way of counting the processes' CPU time. They mean something on such a machine only, so an
 * aim that is not met fails no run.
 */
final class Peers {
  private static final String RAY = "Ray Serve 2.60.0, HAProxy + throughput-optimised";
  private static final String RAY_CALL = "Ray Serve 2.60.0, throughput-optimised, plain call";
  private static final String RAY_CHOOSE =
      "Ray Serve 2.60.0, throughput-optimised, choose + dispatch";
  private static final String DJL = "DJL Serving 0.36.0, identity, quiet log";
  private static final String NGINX = "nginx 1.22.1 as a proxy, its process alone";
  private static final int EVENTS = Streams.EVENTS;

  private final Results results;
  private final JsonObject known;
  private final List<Verdict> all = new ArrayList<>();

  Peers(Results results, Path file) throws IOException {
    this.results = results;
    this.known = new JsonObject(Files.readString(file));
  }

  /** When they were measured. */
  String measured() {
    return known.getString("measured");
  }

  List<Verdict> all() {
    all.clear();
    cheaper("no-op-1", RAY, 20);
    cheaper("no-op-1", DJL, 20);
    cheaper("no-op-1", NGINX, 1);
    below("p99 of a no-op, c=64", "no-op-1", Sample::p99Micros, 2000);
    cheaper("call", RAY, 20);
    more("handle-call", RAY_CALL, 1);
    more("handle-choose", RAY_CHOOSE, 1);
    cheaper("handle-call", RAY_CALL, 20);
    cheaper("handle-choose", RAY_CHOOSE, 20);
    cheaper("tick", RAY, 10);
    more("tick", RAY, EVENTS);
    // Each event flushed: raw Vert.x itself has no factor of ten there.
    cheaper("hop", RAY, 1);
    more("hop", RAY, EVENTS);
    return List.copyOf(all);
  }

  /** Our CPU time for one, times a factor, against theirs. */
  private void cheaper(String id, String peer, double factor) {
    median(id, Sample::cpuMicros)
        .ifPresent(
            ours -> {
              double theirs = figure(id, peer, "cpu_us");
              add(
                  id,
                  text("%s: CPU to %s, %.1f us", name(id), peer, theirs),
                  text("%.2f us, %.1fx less", ours, theirs / ours),
                  factor == 1 ? "less" : text(">= %.0fx less", factor),
                  theirs / ours >= factor);
            });
  }

  /** Our rate against theirs, told as so many things for each. */
  private void more(String id, String peer, int things) {
    median(id, Sample::perSecond)
        .ifPresent(
            ours -> {
              double theirs = figure(id, peer, "per_s");
              String of = things == 1 ? "/s" : " events/s";
              add(
                  id,
                  text("%s: rate to %s, %.0f%s", name(id), peer, things * theirs, of),
                  text("%.0f%s, %.1fx as many", things * ours, of, ours / theirs),
                  "more",
                  ours > theirs);
            });
  }

  private void below(String what, String id, ToDoubleFunction<Sample> figure, double limitMicros) {
    median(id, figure)
        .ifPresent(
            ours ->
                add(
                    id,
                    what,
                    text("%.2f ms", ours / 1e3),
                    text("< %.0f ms", limitMicros / 1e3),
                    ours < limitMicros));
  }

  private String name(String id) {
    return results.row(id).map(Row::name).orElseThrow();
  }

  private Optional<Double> median(String id, ToDoubleFunction<Sample> figure) {
    return results.spread(id, figure).map(Spread::median);
  }

  /** From the table that the row stands in. */
  private double figure(String id, String peer, String key) {
    for (Object table : known.getJsonArray("tables")) {
      if (named((JsonObject) table, "ours", "id", id).isPresent()) {
        Optional<JsonObject> found = named((JsonObject) table, "peers", "name", peer);
        if (found.isPresent()) {
          return found.get().getDouble(key);
        }
      }
    }
    throw new IllegalStateException("peers.json: no " + peer + " beside " + id);
  }

  private static Optional<JsonObject> named(
      JsonObject table, String list, String key, String value) {
    JsonArray entries = table.getJsonArray(list);
    return entries.stream()
        .map(JsonObject.class::cast)
        .filter(entry -> value.equals(entry.getString(key)))
        .findFirst();
  }

  private void add(String id, String what, String measured, String limit, boolean met) {
    all.add(
        new Verdict(
            id,
            what,
            measured,
            limit,
            "",
            met ? Verdict.State.MET : Verdict.State.NOT_MET,
            Optional.empty()));
  }

  private static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
