package dev.berth.config;

import org.jspecify.annotations.Nullable;

/**
 * One value that the command line gives over the file.
 *
 * @param option that it comes from, as in {@code --set}; its problems are told with it in place of
 *     the file
 * @param key where it goes: names joined by dots; an entry of a list by its name or its index, as
 *     in {@code applications.shop.deployments.cart.num_replicas}, or {@code applications[0].name}.
 *     A name with a dot stands in brackets
 * @param value YAML, or any text when {@code verbatim}; null when it is missing, which is told when
 *     the setting is applied
 * @param verbatim whether the value is a string just as it stands
 */
public record Setting(String option, String key, @Nullable String value, boolean verbatim) {

  /** A value in YAML. */
  public static Setting yaml(String option, String key, String value) {
    return new Setting(option, key, value, false);
  }

  /** A string. */
  public static Setting text(String option, String key, String value) {
    return new Setting(option, key, value, true);
  }

  /** From {@code key=value}, the value in YAML. */
  public static Setting parse(String option, String assignment) {
    int equals = assignment.indexOf('=');
    return equals < 0
        ? new Setting(option, assignment, null, false)
        : yaml(option, assignment.substring(0, equals), assignment.substring(equals + 1));
  }
}
