package dev.berth.desired;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.desired.DesiredApplication.Wanted;
import dev.berth.view.CommandRefused;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads what is declared again, for those who build it. Off the loop.
 *
 * @param file what the instance was started with
 */
record EntryReader(KeptJars jars, ServeConfig file) {
  private static final Logger LOG = LoggerFactory.getLogger(EntryReader.class);

  /**
   * An entry that was read, of what is to run.
   *
   * @param of what; null when a start could not declare it
   * @param config null when it cannot be read
   * @param problem why not, else empty
   */
  record Reading(@Nullable Wanted of, @Nullable ApplicationConfig config, String problem) {
    static final Reading NONE = new Reading(null, null, "unknown (expected: known)");
  }

  /** What an application is a part of. */
  ServeConfig around(@Nullable Double targetCapacity) {
    return file.with(ServeConfig.TARGET_CAPACITY, targetCapacity);
  }

  /**
   * @throws ConfigException when it is no longer allowed
   * @throws CommandRefused when a jar of it is missing or damaged
   */
  ApplicationConfig read(String application, Wanted wanted) {
    return DeclaredEntry.read(application, wanted.config(), jars.paths(wanted.jars()), file);
  }

  /**
   * Of applications that are different, those of which something else is to run.
   *
   * @param given configurations of what is wanted now, as far as they were read already, by name
   * @param known what was read before, by name
   */
  Map<String, Reading> readAnew(
      Collection<DesiredApplication> changed,
      Map<String, ApplicationConfig> given,
      Map<String, Reading> known) {
    Map<String, Reading> anew = new HashMap<>();
    for (DesiredApplication each : changed) {
      Wanted serves = each.serving();
      ApplicationConfig config = given.get(each.name());
      boolean isGiven = config != null && serves.equals(each.wanted());
      if (isGiven || !serves.equals(known.getOrDefault(each.name(), Reading.NONE).of())) {
        anew.put(each.name(), reading(each.name(), serves, isGiven ? config : null));
      }
    }
    return anew;
  }

  private Reading reading(String application, Wanted serves, @Nullable ApplicationConfig given) {
    try {
      ApplicationConfig config =
          given == null ? read(application, serves) : given.withJars(jars.paths(serves.jars()));
      return new Reading(serves, config, "");
    } catch (ConfigException | CommandRefused refused) {
      LOG.error("state: application {}: {}", application, refused.getMessage());
      return new Reading(serves, null, String.valueOf(refused.getMessage()));
    }
  }
}
