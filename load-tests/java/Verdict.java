import io.vertx.core.json.JsonObject;
import java.util.Optional;

/**
 * What came of one budget or aim.
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
    PASS("pass"),
    /** Missed by the median, but by no more than equal things differed by. */
    UNDECIDED("undecided: missed, within the A/A spread"),
    FAIL("FAIL"),
    /** An aim, and not a budget. */
    MET("met"),
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
