package dev.berth.config;

import dev.berth.config.keys.Key;
import dev.berth.config.keys.Section;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What the environment of the process sets over the file: the keys that name a variable. */
public final class Environment {
  private Environment() {}

  /**
   * A setting for each key of which a variable is set; of several, the one named first. They are to
   * stand before those of the command line, which win.
   *
   * @param variables by name; null or empty for one that is not set
   */
  public static List<Setting> settings(Function<String, @Nullable String> variables) {
    List<Setting> settings = new ArrayList<>();
    collect(ServeConfig.SECTION, "", variables, settings);
    return settings;
  }

  private static void collect(
      Section section,
      String path,
      Function<String, @Nullable String> variables,
      List<Setting> into) {
    for (Key<?> key : section.keys()) {
      if (key.type() instanceof Section inner) {
        collect(inner, path + key.name() + ".", variables, into);
      }
      for (String variable : key.variables()) {
        String value = variables.apply(variable);
        if (value != null && !value.isBlank()) {
          into.add(Setting.yaml(variable, path + key.name(), inUnitOf(key, value.strip())));
          break;
        }
      }
    }
  }

  /** Variables count seconds; what is no number is refused as it stands. */
  private static String inUnitOf(Key<?> key, String value) {
    try {
      return key.type().unit().equals("ms")
          ? new BigDecimal(value).movePointRight(3).stripTrailingZeros().toPlainString()
          : value;
    } catch (NumberFormatException noNumber) {
      return value;
    }
  }
}
