package dev.berth.desired;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
 * @param head the numbers of the state from then on
 */
public record DesiredChange(
    long index,
    List<DesiredApplication> applications,
    List<String> removed,
    Map<String, Said> said,
    List<Answer> answers,
    Head head) {

  /**
   * What is not of one application.
   *
   * @param revision the last one given
   * @param term of the controller that ran last
   * @param targetCapacity percent of the replicas that run; null when nothing was said of it
   * @param saidCapacity what was last said of that
   * @param earlier digest of the file that was declared last, in a state of an earlier version;
   *     empty when none was; null in a state of this one
   */
  public record Head(
      long revision,
      long term,
      @Nullable Double targetCapacity,
      Said saidCapacity,
      @Nullable String earlier) {

    /** Of a state in which nothing happened. */
    static final Head FIRST = new Head(0, 0, null, Said.NOTHING, null);

    Head withTerm(long other) {
      return new Head(revision, other, targetCapacity, saidCapacity, earlier);
    }

    Head withRevision(long other) {
      return new Head(other, term, targetCapacity, saidCapacity, earlier);
    }

    Head withCapacity(@Nullable Double capacity, Said said) {
      return new Head(revision, term, capacity, said, null);
    }
  }

  public DesiredChange {
    applications = List.copyOf(applications);
    removed = List.copyOf(removed);
    said = Collections.unmodifiableMap(new LinkedHashMap<>(said));
    answers = List.copyOf(answers);
  }

  /** The same, made by a command with an id. */
  DesiredChange answering(Answer answer) {
    return new DesiredChange(index, applications, removed, said, List.of(answer), head);
  }

  /** Whether nothing is different for the one who asks for it. */
  boolean isEmpty(Head before) {
    return applications.isEmpty() && removed.isEmpty() && said.isEmpty() && head.equals(before);
  }

  /** As it is kept, beside its number. */
  public JsonObject toJson() {
    JsonObject json =
        new JsonObject()
            .put("revision", head.revision())
            .put("term", head.term())
            .put("said_capacity", head.saidCapacity().toJson())
            .put("target_capacity", head.targetCapacity())
            .put("file", head.earlier());
    JsonObject all = new JsonObject();
    said.forEach((name, each) -> all.put(name, each.toJson()));
    json.put("said", all);
    if (!answers.isEmpty()) {
      json.put("answers", new JsonArray(answers.stream().map(Answer::toJson).toList()));
    }
    return json.put(
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
    return new DesiredChange(
        index,
        json.getJsonArray("applications").stream()
            .map(each -> DesiredApplication.of((JsonObject) each))
            .toList(),
        json.getJsonArray("removed").stream().map(String.class::cast).toList(),
        said,
        json.getJsonArray("answers", new JsonArray()).stream().map(Answer::of).toList(),
        new Head(
            json.getLong("revision"),
            json.getLong("term"),
            json.getDouble("target_capacity"),
            Said.of(json.getJsonObject("said_capacity")),
            json.getString("file")));
  }
}
