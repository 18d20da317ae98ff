package dev.berth.desired;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ServeConfig;
import dev.berth.desired.DesiredApplication.Wanted;
import io.vertx.core.json.Json;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Makes a state of this version of one that an earlier version kept. That knew one digest of the
 * whole file that was declared last, with the paths of jars in it, and told jars by the names,
 * sizes and checksums of what is in them. May block.
 */
final class EarlierState {

  /** In the place of what the file of an earlier version said of an item: nobody knows. */
  private static final String UNKNOWN = "unknown";

  private EarlierState() {}

  /**
   * @param state of an earlier version
   * @param says what the file says now, by application; null when not all of it can be read
   * @param jars that are kept
   */
  static DesiredChange renew(
      DesiredState state, ServeConfig file, @Nullable Map<String, Wanted> says, KeptJars jars)
      throws IOException {
    String earlier = Objects.requireNonNull(state.earlier());
    Map<String, Said> said = new LinkedHashMap<>();
    boolean same = says != null && !says.isEmpty() && earlier.equals(digest(file));
    String unknown = same || earlier.isEmpty() ? null : UNKNOWN;
    for (DesiredApplication each : state.applications()) {
      said.put(each.name(), new Said(unknown, null, digest(each.wanted(), jars)));
    }
    if (same) {
      says.forEach((name, what) -> said.put(name, new Said(what.digest(), null, what.digest())));
    }
    Double wanted = state.targetCapacity();
    Double capacity =
        same && file.find(ServeConfig.TARGET_CAPACITY) != null
            ? file.find(ServeConfig.TARGET_CAPACITY)
            : wanted;
    String last = capacity == null ? null : capacity.toString();
    String start = !same ? unknown : file.find(ServeConfig.TARGET_CAPACITY) == null ? null : last;
    return state.renewed(each -> digest(each, jars), said, new Said(start, null, last));
  }

  private static String digest(Wanted wanted, KeptJars jars) {
    try {
      return DeclaredEntry.digest(wanted.config(), jars.identify(jars.paths(wanted.jars())));
    } catch (IOException missing) { // it cannot run, and is equal to nothing
      return wanted.digest();
    }
  }

  /** Of the whole file, as an earlier version made it. */
  private static String digest(ServeConfig file) throws IOException {
    StringBuilder all = new StringBuilder(String.valueOf(file.find(ServeConfig.TARGET_CAPACITY)));
    for (ApplicationConfig application : file.applications()) {
      List<@Nullable Object> one = new ArrayList<>();
      one.add(application.name());
      one.add(DeclaredEntry.sorted(application.entry()));
      for (Path jar : application.jars()) {
        one.add(JarStore.digestAsBefore(jar));
      }
      all.append(' ').append(DeclaredEntry.digest(Json.encode(one)));
    }
    return DeclaredEntry.digest(all.toString());
  }
}
