package dev.berth.config.edge;

import dev.berth.api.Deployment;
import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** {@code berth.cost} of a deployment: the number of slots that an HTTP request takes. */
public final class CostOptions {
  private static final Keys KEYS = new Keys(ChangeReach.ROUTER);

  public static final ConfigKey<String> HEADER =
      KEYS.optional("header", Types.HEADER_NAME)
          .means("Header with the number of slots, such as X-Cost.");
  public static final ConfigKey<Integer> BODY_BYTES_PER_SLOT =
      KEYS.optional("body_bytes_per_slot", Types.integer(1, Integer.MAX_VALUE, "bytes"))
          .means(
              "Bytes of the body for each slot. A request takes at least one; a body of unknown"
                  + " length is read whole before its request takes slots.");
  public static final ConfigKey<String> JSON_FIELD =
      KEYS.optional(
              "json_field",
              Types.string("1 to 128 characters on one line", "^[^\\x00-\\x1f\\x7f]{1,128}$"))
          .means(
              "Top-level member of the JSON body with a number, such as max_tokens. Bodies are read"
                  + " whole, up to 64 MiB.");
  public static final ConfigKey<Integer> PER_SLOT =
      KEYS.key("per_slot", Types.integer(1, Integer.MAX_VALUE, ""), 1)
          .means(
              "Value of json_field for each slot, such as 512 tokens. The result is rounded up.");
  public static final ConfigKey<Integer> DEFAULT =
      KEYS.optional("default", Types.integer(1, Deployment.MAX_ONGOING_REQUESTS_LIMIT, "slots"))
          .means(
              "Slots of a request without the header or the member, such as a GET. By default it"
                  + " gets 400.");

  public static final Section SECTION = KEYS.section().check(CostOptions::check);

  private static final List<ConfigKey<?>> FORMS = List.of(HEADER, BODY_BYTES_PER_SLOT, JSON_FIELD);

  private CostOptions() {}

  /**
   * Requires that the slots of the largest replica are enough for the default.
   *
   * @throws IllegalArgumentException when the cost comes from code or from several sources
   */
  public static void requireSlots(@Nullable Settings cost, int slots) {
    Integer usual = cost == null ? null : cost.find(DEFAULT);
    if (cost != null && usual != null && usual > slots) {
      cost.problem(DEFAULT, usual.toString(), "at most max_ongoing_requests, " + slots);
    }
  }

  private static void check(Settings cost) {
    List<ConfigKey<?>> given = FORMS.stream().filter(cost::gives).toList();
    if (given.size() != 1) {
      cost.problem(
          given.isEmpty() ? HEADER : given.get(1),
          given.isEmpty() ? "missing" : "with " + given.get(0).name(),
          "exactly one of header, body_bytes_per_slot and json_field");
    } else if (cost.gives(PER_SLOT) && !cost.gives(JSON_FIELD)) {
      cost.problem(PER_SLOT, "without json_field", "json_field too, or leave it out");
    } else if (cost.gives(DEFAULT) && cost.gives(BODY_BYTES_PER_SLOT)) {
      cost.problem(DEFAULT, "with body_bytes_per_slot", "leave it out: each body has a size");
    }
  }
}
