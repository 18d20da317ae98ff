package dev.berth.desired;

import dev.berth.config.UpstreamOptions;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
import io.vertx.core.json.JsonObject;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * The upstreams of declared applications. An instance may have each only once.
 *
 * @param owners application and path of each upstream, by key
 */
record UpstreamOwners(Map<String, String> owners) {

  /**
   * An upstream that another application has.
   *
   * @param path of its url in the entry of its application
   */
  record UpstreamConflict(String path, String key, String expected) {
    @Override
    public String toString() {
      return "%s: %s (expected: %s)".formatted(path, key, expected);
    }
  }

  /**
   * Finds the upstreams of applications, in their wanted and in their serving configuration.
   *
   * @param stays whether an application of that name is not replaced or deleted
   */
  static UpstreamOwners of(DesiredState state, Predicate<String> stays) {
    Map<String, String> owners = new HashMap<>();
    for (DesiredApplication each : state.applications()) {
      if (stays.test(each.name())) {
        paths(each.serving()).forEach((key, at) -> owners.put(key, each.name() + ", " + at));
        paths(each.wanted()).forEach((key, at) -> owners.put(key, each.name() + ", " + at));
      }
    }
    return new UpstreamOwners(owners);
  }

  static Map<String, String> paths(ApplicationSpec spec) {
    return spec.config().contains("upstreams")
        ? UpstreamOptions.paths(new JsonObject(spec.config()).getMap())
        : Map.of();
  }

  /**
   * Returns the conflicts of further upstreams.
   *
   * @param paths of the further upstreams, by key
   */
  List<UpstreamConflict> conflicts(Map<String, String> paths) {
    return paths.entrySet().stream()
        .filter(each -> owners.containsKey(each.getKey()))
        .map(
            each ->
                new UpstreamConflict(
                    each.getValue() + ".url",
                    each.getKey(),
                    UpstreamOptions.uniqueExcept("application " + owners.get(each.getKey()))))
        .toList();
  }
}
