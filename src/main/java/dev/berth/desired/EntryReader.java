package dev.berth.desired;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
import dev.berth.view.CommandRejectedException;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads persisted entries for builds. Runs off the loop.
 *
 * @param file configuration that the instance was started with
 */
record EntryReader(DeclaredJarStore jars, ServeConfig file) {
  private static final Logger LOG = LoggerFactory.getLogger(EntryReader.class);

  /**
   * The result of reading the entry of a serving configuration.
   *
   * @param of configuration that was read; null when a start could not declare it
   * @param config parsed entry; null when it is invalid
   * @param problem reason when {@code config} is null; empty otherwise
   */
  record EntryReadResult(
      @Nullable ApplicationSpec of, @Nullable ApplicationConfig config, String problem) {
    static final EntryReadResult NONE =
        new EntryReadResult(null, null, "unknown (expected: known)");
  }

  /**
   * Parses the entry of an application.
   *
   * @throws ConfigException when it is not valid any longer
   * @throws CommandRejectedException when one of its jars is missing or damaged
   */
  ApplicationConfig read(String application, ApplicationSpec wanted) {
    return DeclaredEntry.read(application, wanted.config(), jars.paths(wanted.jars()), file);
  }

  /**
   * Reads the changed applications whose serving configuration is another.
   *
   * @param given parsed configurations that are wanted now, if available, by name
   * @param known earlier results, by name
   */
  Map<String, EntryReadResult> readAnew(
      Collection<DesiredApplication> changed,
      Map<String, ApplicationConfig> given,
      Map<String, EntryReadResult> known) {
    Map<String, EntryReadResult> anew = new HashMap<>();
    for (DesiredApplication each : changed) {
      ApplicationSpec serves = each.serving();
      ApplicationConfig config = given.get(each.name());
      boolean isGiven = config != null && serves.equals(each.wanted());
      if (isGiven || !serves.equals(known.getOrDefault(each.name(), EntryReadResult.NONE).of())) {
        anew.put(each.name(), reading(each.name(), serves, isGiven ? config : null));
      }
    }
    return anew;
  }

  private EntryReadResult reading(
      String application, ApplicationSpec serves, @Nullable ApplicationConfig given) {
    try {
      ApplicationConfig config =
          given == null ? read(application, serves) : given.withJars(jars.paths(serves.jars()));
      return new EntryReadResult(serves, config, "");
    } catch (ConfigException | CommandRejectedException refused) {
      LOG.error("state: application {}: {}", application, refused.getMessage());
      return new EntryReadResult(serves, null, String.valueOf(refused.getMessage()));
    }
  }
}
