package dev.berth.ingress.edge;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.edge.CostOptions;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.YamlScalars;
import dev.berth.dialect.DialectProblem;
import dev.berth.dialect.MemberScanner;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import java.util.Collections;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Rule for the number of slots that a request takes: {@code berth.cost}. Immutable.
 *
 * @param form key of the rule: {@code header}, {@code body_bytes_per_slot} or {@code json_field}
 * @param name of the header or the member
 * @param perSlot value for each slot
 * @param otherwise slots of a request without a value; 0 to refuse it
 * @param maxSlots slots of the largest replica
 */
public record CostRule(ConfigKey<?> form, String name, int perSlot, int otherwise, int maxSlots) {
  private static final Pattern NUMBER = Pattern.compile("[1-9][0-9]{0,17}");

  /** Returns the rule in the settings of a deployment; null if each request takes one slot. */
  public static @Nullable CostRule of(Settings deployment) {
    Settings cost = deployment.find(DeploymentConfig.COST);
    if (cost == null) {
      return null;
    }
    int most = Collections.max(ApplicationConfig.slots(deployment));
    int otherwise = Objects.requireNonNullElse(cost.find(CostOptions.DEFAULT), 0);
    Integer bytes = cost.find(CostOptions.BODY_BYTES_PER_SLOT);
    if (bytes != null) {
      return new CostRule(CostOptions.BODY_BYTES_PER_SLOT, "bytes", bytes, otherwise, most);
    }
    ConfigKey<String> form =
        cost.gives(CostOptions.HEADER) ? CostOptions.HEADER : CostOptions.JSON_FIELD;
    return new CostRule(form, cost.get(form), cost.get(CostOptions.PER_SLOT), otherwise, most);
  }

  /** Returns whether the rule reads the bytes of bodies. */
  public boolean readsBody() {
    return form == CostOptions.JSON_FIELD;
  }

  /** Returns whether the rule needs the end of the body: its bytes, or its length. */
  public boolean needsBody(MultiMap headers) {
    return readsBody()
        || form == CostOptions.BODY_BYTES_PER_SLOT && !headers.contains(HttpHeaders.CONTENT_LENGTH);
  }

  /**
   * Returns the slots of a request.
   *
   * @param bytes length of a whole body; negative for that in the headers
   * @param body whole, if the rule reads it; then the method is thread-safe
   * @throws DialectProblem for a request without a permitted value
   */
  public int slots(MultiMap headers, long bytes, Buffer body) {
    String value;
    if (readsBody()) {
      value = member(body);
    } else if (form == CostOptions.HEADER) {
      value = headers.contains(name) ? String.join(", ", headers.getAll(name)) : null;
    } else {
      String length = bytes < 0 ? headers.get(HttpHeaders.CONTENT_LENGTH) : String.valueOf(bytes);
      value = "0".equals(length) ? "1" : length;
    }
    return value == null && otherwise > 0
        ? slots(CostOptions.DEFAULT, String.valueOf(otherwise), 1)
        : slots(form, value, perSlot);
  }

  private @Nullable String member(Buffer body) {
    try {
      return body.length() == 0 ? null : MemberScanner.scan(body, name);
    } catch (DialectProblem broken) {
      throw problem(form, broken.response().message());
    }
  }

  private int slots(ConfigKey<?> key, @Nullable String value, int perSlot) {
    long most = (long) maxSlots * perSlot;
    boolean plain = value != null && NUMBER.matcher(value).matches();
    long number = plain ? Long.parseLong(value) : 0;
    if (number == 0 || number > most) {
      String shown = value == null ? "missing" : YamlScalars.shorten(value);
      throw problem(
          key, name + ": " + shown + " (expected: a whole number from 1 to " + most + ")");
    }
    return (int) ((number - 1) / perSlot + 1);
  }

  private DialectProblem problem(ConfigKey<?> key, String words) {
    String text = "berth.cost." + key.name() + ": " + words;
    return new DialectProblem(400, "invalid_cost", text, readsBody() ? name : null);
  }
}
