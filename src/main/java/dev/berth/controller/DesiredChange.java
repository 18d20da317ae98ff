package dev.berth.controller;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one command makes different in the {@link DesiredState}: as large as the difference, and all
 * that has to be written to keep it.
 *
 * @param applications that are new or different, as they are from then on
 * @param removed names of those that are gone
 * @param head the numbers of the state from then on
 */
public record DesiredChange(
    List<DesiredApplication> applications, List<String> removed, Head head) {

  /**
   * What is not of one application.
   *
   * @param revision the last one given
   * @param term of the controller that ran last
   * @param targetCapacity percent of the replicas that run; null when nothing was said of it
   * @param file digest of the applications last declared from a file; empty when none were
   */
  public record Head(long revision, long term, @Nullable Double targetCapacity, String file) {

    /** Of a state in which nothing happened. */
    static final Head FIRST = new Head(0, 0, null, "");

    Head withTerm(long other) {
      return new Head(revision, other, targetCapacity, file);
    }

    Head withRevision(long other) {
      return new Head(other, term, targetCapacity, file);
    }
  }

  public DesiredChange {
    applications = List.copyOf(applications);
    removed = List.copyOf(removed);
  }

  /** Whether nothing is different for the one who asks for it. */
  boolean isEmpty(Head before) {
    return applications.isEmpty() && removed.isEmpty() && head.equals(before);
  }

  /** As it is kept. */
  public JsonObject toJson() {
    JsonObject json =
        new JsonObject()
            .put("revision", head.revision())
            .put("term", head.term())
            .put("file", head.file());
    if (head.targetCapacity() != null) {
      json.put("target_capacity", head.targetCapacity());
    }
    return json.put("applications", write(applications)).put("removed", new JsonArray(removed));
  }

  private static JsonArray write(Collection<DesiredApplication> applications) {
    JsonArray all = new JsonArray();
    applications.forEach(each -> all.add(each.toJson()));
    return all;
  }

  /**
   * What {@link #toJson} wrote.
   *
   * @throws RuntimeException of any kind when it is something else
   */
  public static DesiredChange of(JsonObject json) {
    List<DesiredApplication> applications = new ArrayList<>();
    for (Object each : json.getJsonArray("applications")) {
      applications.add(DesiredApplication.of((JsonObject) each));
    }
    return new DesiredChange(
        applications,
        json.getJsonArray("removed").stream().map(String.class::cast).toList(),
        new Head(
            json.getLong("revision"),
            json.getLong("term"),
            json.getDouble("target_capacity"),
            json.getString("file")));
  }
}
