import io.vertx.core.json.JsonObject;
import java.util.Optional;

/**
 * What came of one budget, comparison or aim.
 *
 * @param measured the value as it is told
 * @param limit what it is held against, as it is told
 * @param noise what equal things differed by in the same rounds; empty when there are none
 * @param value what was measured as a number, if it is one
 */
record Verdict(
    String id,
    String what,
    String measured,
    String limit,
    String noise,
    State state,
    Optional<Spread> value) {
  enum State {
    MET("met"),
    MISSED("MISSED"),
    NOT_WORSE("not worse"),
    WORSE("WORSE"),
    NOT_ESTABLISHED("not established"),
    /** An aim, and not a budget. */
    NOT_MET("not met"),
    ELSEWHERE("elsewhere"),
    RECORDED("recorded"),
    NOT_MEASURED("not measured");

    final String text;

    State(String text) {
      this.text = text;
    }
  }

  static Verdict notMeasured(String id, String what, String limit, String why) {
    return new Verdict(id, what, why, limit, "", State.NOT_MEASURED, Optional.empty());
  }

  /** Whether the run fails by it. */
  boolean fails() {
    return state == State.MISSED || state == State.WORSE;
  }

  JsonObject json() {
    JsonObject json =
        new JsonObject()
            .put("id", id)
            .put("what", what)
            .put("measured", measured)
            .put("limit", limit)
            .put("noise", noise)
            .put("verdict", state.text);
    value.ifPresent(number -> json.put("value", number.json()));
    return json;
  }
}
