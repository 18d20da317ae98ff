package dev.berth.admin;

import dev.berth.view.LogLine;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Filter of log lines. The application, deployment and replica of a line are those of its fields.
 * Without such fields they are derived from the replica id, or from the logger, {@code
 * application.deployment}.
 *
 * @param applications allowed values; empty for all
 * @param deployments allowed values; empty for all
 * @param replicas allowed values; empty for all
 * @param level lowest level
 */
record LogFilter(
    List<String> applications, List<String> deployments, List<String> replicas, String level)
    implements Predicate<LogLine> {
  static final List<String> LEVELS = List.of("TRACE", "DEBUG", "INFO", "WARN", "ERROR");

  @Override
  public boolean test(LogLine line) {
    if (LEVELS.indexOf(line.level()) < LEVELS.indexOf(level)) {
      return false;
    }
    String replica = line.fields().get("replica");
    return (replicas.isEmpty() || (replica != null && replicas.contains(replica)))
        && (applications.isEmpty() || isOfApplication(line, replica))
        && (deployments.isEmpty() || isOfDeployment(line, replica));
  }

  private boolean isOfApplication(LogLine line, @Nullable String replica) {
    String app = line.fields().getOrDefault("app", part(replica, 0));
    String named = line.fields().getOrDefault("application", app);
    return named != null
        ? applications.contains(named)
        : applications.stream().anyMatch(name -> line.logger().startsWith(name + "."));
  }

  private boolean isOfDeployment(LogLine line, @Nullable String replica) {
    String named = line.fields().getOrDefault("deployment", part(replica, 1));
    return named != null
        ? deployments.contains(named)
        : !line.logger().startsWith("dev.berth.")
            && deployments.stream().anyMatch(name -> line.logger().endsWith("." + name));
  }

  /** Returns a part of {@code application#deployment#suffix}; null for another form. */
  private static @Nullable String part(@Nullable String replica, int index) {
    String[] parts = replica == null ? new String[0] : replica.split("#", -1);
    return parts.length == 3 ? parts[index] : null;
  }
}
