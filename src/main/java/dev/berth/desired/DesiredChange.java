package dev.berth.desired;

import dev.berth.config.InstanceOptions;
import dev.berth.desired.DesiredApplication.Before;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What one command makes different in the {@link DesiredState}: as large as the difference, and all
 * that has to be written to keep it.
 *
 * @param index of the state that it makes: one more than that of the state it was computed on, and
 *     its number in the log
 * @param applications that are new or different, as they are from then on
 * @param removed names of those that are gone
 * @param said what was last said of applications, where that is different, by name
 * @param answers to commands with an id: of the one that makes it, if it has one
 * @param history what ran earlier, in place of what is known of it, by application; of a change
 *     that makes a whole state, as it follows from any other
 * @param autoscaled what is wanted of deployments that follow their load, in place of what is known
 *     of those of an application, by application and deployment
 * @param head the numbers of the state from then on
 */
public record DesiredChange(
    long index,
    List<DesiredApplication> applications,
    List<String> removed,
    Map<String, Said> said,
    List<Answer> answers,
    Map<String, List<Before>> history,
    AutoscaledNumbers autoscaled,
    Head head) {

  /**
   * What is not of one application.
   *
   * @param revision the last one given
   * @param term of the controller that ran last
   * @param targetCapacity percent of the replicas that run; null when nothing was said of it
   * @param rises whether fewer ran before that was said
   * @param saidCapacity what was last said of that
   * @param earlier digest of the file that was declared last, in a state of an earlier version;
   *     empty when none was; null in a state of this one
   * @param keeps revisions that ran earlier, of each application
   * @param forgotten revisions up to this one are gone from the history, for want of room
   */
  public record Head(
      long revision,
      long term,
      @Nullable Double targetCapacity,
      boolean rises,
      Said saidCapacity,
      @Nullable String earlier,
      int keeps,
      long forgotten) {

    /** Of a state in which nothing happened. */
    static final Head FIRST =
        new Head(0, 0, null, false, Said.NOTHING, null, InstanceOptions.DEFAULT_REVISIONS, 0);

    /** A controller starts, of an instance that keeps so many revisions. */
    Head withTerm(long other, int keeps) {
      return new Head(
          revision, other, targetCapacity, rises, saidCapacity, earlier, keeps, forgotten);
    }

    Head withRevision(long other) {
      return new Head(other, term, targetCapacity, rises, saidCapacity, earlier, keeps, forgotten);
    }

    /** Source: Ray Serve's calculate_target_capacity_direction. */
    Head withCapacity(@Nullable Double capacity, Said said) {
      Double from = targetCapacity == null && revision == 0 ? Double.valueOf(0) : targetCapacity;
      boolean up = capacity != null && from != null && capacity > from;
      boolean goesUp = Objects.equals(capacity, targetCapacity) ? rises : up;
      return new Head(revision, term, capacity, goesUp, said, null, keeps, forgotten);
    }

    Head forgetting(long upTo) {
      return new Head(revision, term, targetCapacity, rises, saidCapacity, earlier, keeps, upTo);
    }
  }

  public DesiredChange {
    applications = List.copyOf(applications);
    removed = List.copyOf(removed);
    said = Collections.unmodifiableMap(new LinkedHashMap<>(said));
    answers = List.copyOf(answers);
    history = Map.copyOf(history);
  }

  /** The same, made by a command with an id. */
  DesiredChange answering(Answer answer) {
    return new DesiredChange(
        index, applications, removed, said, List.of(answer), history, autoscaled, head);
  }

  /** Whether nothing is different for the one who asks for it. */
  boolean isEmpty(Head before) {
    return applications.isEmpty()
        && removed.isEmpty()
        && said.isEmpty()
        && autoscaled.all().isEmpty()
        && head.equals(before);
  }

  /** As it is kept, beside its number. */
  public JsonObject toJson() {
    JsonObject json =
        new JsonObject()
            .put("revision", head.revision())
            .put("term", head.term())
            .put("keeps", head.keeps())
            .put("forgotten", head.forgotten())
            .put("said_capacity", head.saidCapacity().toJson())
            .put("target_capacity", head.targetCapacity())
            .put("file", head.earlier());
    if (head.rises()) {
      json.put("capacity_rises", true);
    }
    JsonObject all = new JsonObject();
    said.forEach((name, each) -> all.put(name, each.toJson()));
    json.put("said", all);
    if (!answers.isEmpty()) {
      json.put("answers", new JsonArray(answers.stream().map(Answer::toJson).toList()));
    }
    JsonObject ran = new JsonObject();
    history.forEach(
        (name, each) -> ran.put(name, new JsonArray(each.stream().map(Before::toJson).toList())));
    if (!autoscaled.all().isEmpty()) {
      json.put("autoscaled", autoscaled.toJson());
    }
    return (ran.isEmpty() ? json : json.put("history", ran))
        .put(
            "applications",
            new JsonArray(applications.stream().map(DesiredApplication::toJson).toList()))
        .put("removed", new JsonArray(removed));
  }

  /**
   * What {@link #toJson} wrote.
   *
   * @throws RuntimeException of any kind when it is something else
   */
  public static DesiredChange of(long index, JsonObject json) {
    Map<String, Said> said = new LinkedHashMap<>();
    JsonObject all = json.getJsonObject("said", new JsonObject());
    all.fieldNames().forEach(name -> said.put(name, Said.of(all.getJsonObject(name))));
    Map<String, List<Before>> history = new HashMap<>();
    for (Map.Entry<String, Object> ran : json.getJsonObject("history", new JsonObject())) {
      JsonArray each = (JsonArray) ran.getValue();
      history.put(ran.getKey(), each.stream().map(JsonObject.class::cast).map(Before::of).toList());
    }
    return new DesiredChange(
        index,
        json.getJsonArray("applications").stream()
            .map(each -> DesiredApplication.of((JsonObject) each))
            .toList(),
        json.getJsonArray("removed").stream().map(String.class::cast).toList(),
        said,
        json.getJsonArray("answers", new JsonArray()).stream().map(Answer::of).toList(),
        history,
        AutoscaledNumbers.of(json.getJsonObject("autoscaled", new JsonObject())),
        new Head(
            json.getLong("revision"),
            json.getLong("term"),
            json.getDouble("target_capacity"),
            json.getBoolean("capacity_rises", false),
            Said.of(json.getJsonObject("said_capacity")),
            json.getString("file"),
            json.getInteger("keeps", InstanceOptions.DEFAULT_REVISIONS),
            json.getLong("forgotten", 0L)));
  }
}
