package dev.berth.config;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Section;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Environment variables of the process that override the file. */
public final class Environment {
  private Environment() {}

  /**
   * Returns one setting for each key with a set variable. Of several variables of a key, the first
   * in its declaration applies. Place the result before the settings of the command line, which
   * override it.
   *
   * @param variables by name; null or empty for a variable that is not set
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
    for (ConfigKey<?> key : section.keys()) {
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

  /**
   * Converts seconds, the unit of the variables, to the unit of the key. Returns a text that is not
   * a number unchanged; reading then refuses it.
   */
  private static String inUnitOf(ConfigKey<?> key, String value) {
    try {
      return key.type().unit().equals("ms")
          ? new BigDecimal(value).movePointRight(3).stripTrailingZeros().toPlainString()
          : value;
    } catch (NumberFormatException noNumber) {
      return value;
    }
  }
}
