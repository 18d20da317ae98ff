package dev.berth.ingress;

import dev.berth.config.CostOptions;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.UpstreamOptions;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.YamlScalars;
import dev.berth.dialect.DialectProblem;
import dev.berth.dialect.MemberScanner;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Rule for the number of slots that a request takes: {@code berth.cost}. Exactly one of the first
 * three properties is set. Immutable.
 *
 * @param header name of the header with the number of slots; null for another form
 * @param bytesPerSlot bytes of the body for each slot; 0 for another form
 * @param field top-level member of the JSON body; null for another form
 * @param perSlot value of the member for each slot
 * @param otherwise slots of a request without the header or the member; 0 to refuse it
 * @param maxSlots slots of the largest replica
 */
public record CostRule(
    @Nullable String header,
    int bytesPerSlot,
    @Nullable String field,
    int perSlot,
    int otherwise,
    int maxSlots) {
  private static final String CODE = "invalid_cost";
  private static final Pattern NUMBER = Pattern.compile("[1-9][0-9]{0,14}");

  /** Returns the rule in the settings of a deployment; null if each request takes one slot. */
  public static @Nullable CostRule of(Settings deployment) {
    Settings cost = deployment.find(DeploymentConfig.COST);
    if (cost == null) {
      return null;
    }
    int most =
        UpstreamOptions.byKey(deployment).values().stream()
            .mapToInt(each -> each.get(UpstreamOptions.MAX_ONGOING_REQUESTS))
            .max()
            .orElse(deployment.get(DeploymentConfig.MAX_ONGOING_REQUESTS));
    return new CostRule(
        cost.find(CostOptions.HEADER),
        orZero(cost, CostOptions.BODY_BYTES_PER_SLOT),
        cost.find(CostOptions.JSON_FIELD),
        cost.get(CostOptions.PER_SLOT),
        orZero(cost, CostOptions.DEFAULT),
        most);
  }

  private static int orZero(Settings cost, ConfigKey<Integer> key) {
    Integer value = cost.find(key);
    return value == null ? 0 : value;
  }

  /** Returns whether the rule reads the bytes of bodies. */
  boolean readsBody() {
    return field != null;
  }

  /** Returns whether the rule needs the end of the body: its bytes, or its length. */
  boolean needsBody(MultiMap headers) {
    return field != null || bytesPerSlot > 0 && !headers.contains(HttpHeaders.CONTENT_LENGTH);
  }

  /**
   * Returns the slots of a request.
   *
   * @param bytes length of the body
   * @param body whole, if the rule reads it; then the method is thread-safe
   * @throws DialectProblem for a request without a permitted number
   */
  int slots(MultiMap headers, long bytes, Buffer body) {
    if (field != null) {
      return slots(CostOptions.JSON_FIELD, field, member(field, body));
    } else if (header != null) {
      List<String> values = headers.getAll(header);
      return slots(CostOptions.HEADER, header, values.isEmpty() ? null : String.join(", ", values));
    }
    long slots = Math.max(1, bytes / bytesPerSlot + (bytes % bytesPerSlot == 0 ? 0 : 1));
    if (slots > maxSlots) {
      throw problem(
          CostOptions.BODY_BYTES_PER_SLOT,
          "body: " + bytes + " bytes",
          "at most " + (long) maxSlots * bytesPerSlot,
          null);
    }
    return (int) slots;
  }

  private static @Nullable String member(String name, Buffer body) {
    try {
      return body.length() == 0 ? null : MemberScanner.scan(body, name);
    } catch (DialectProblem broken) {
      String words = key(CostOptions.JSON_FIELD) + broken.response().message();
      throw new DialectProblem(400, CODE, words, name);
    }
  }

  private int slots(ConfigKey<?> key, String name, @Nullable String value) {
    if (value == null && otherwise > 0) {
      if (otherwise <= maxSlots) {
        return otherwise;
      }
      throw problem(
          CostOptions.DEFAULT, name + ": missing, " + otherwise, "1 to " + maxSlots, name);
    }
    long most = (long) maxSlots * perSlot;
    long number = value != null && NUMBER.matcher(value).matches() ? Long.parseLong(value) : 0;
    if (number == 0 || number > most) {
      String shown = value == null ? "missing" : YamlScalars.shorten(value);
      throw problem(key, name + ": " + shown, "a whole number from 1 to " + most, name);
    }
    return (int) ((number - 1) / perSlot + 1);
  }

  private static DialectProblem problem(
      ConfigKey<?> key, String found, String expected, @Nullable String param) {
    return new DialectProblem(400, CODE, key(key) + found + " (expected: " + expected + ")", param);
  }

  private static String key(ConfigKey<?> key) {
    return "berth.cost." + key.name() + ": ";
  }
}
