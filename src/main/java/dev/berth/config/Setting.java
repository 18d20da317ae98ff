package dev.berth.config;

import org.jspecify.annotations.Nullable;

/**
 * A value from the command line or the environment that overrides the file.
 *
 * @param option its source, as in {@code --set}, which replaces the file in its problems
 * @param key path of names joined by dots. An entry of a list is addressed by its name or its
 *     index, as in {@code applications.shop.deployments.cart.num_replicas} or {@code
 *     applications[0].name}. A name that contains a dot is written in brackets.
 * @param value YAML, or any text when {@code verbatim}; null when missing, which is reported when
 *     the setting is applied
 * @param verbatim whether the value is a string that is not parsed
 */
public record Setting(String option, String key, @Nullable String value, boolean verbatim) {

  /** Creates a setting with a value in YAML. */
  public static Setting yaml(String option, String key, String value) {
    return new Setting(option, key, value, false);
  }

  /** Creates a setting with a string. */
  public static Setting text(String option, String key, String value) {
    return new Setting(option, key, value, true);
  }

  /** Parses {@code key=value}, the value in YAML. */
  public static Setting parse(String option, String assignment) {
    int equals = assignment.indexOf('=');
    return equals < 0
        ? new Setting(option, assignment, null, false)
        : yaml(option, assignment.substring(0, equals), assignment.substring(equals + 1));
  }
}
