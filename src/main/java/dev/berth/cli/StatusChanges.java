package dev.berth.cli;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Lines of what is other than when it was last looked at: {@code shop: RUNNING}, {@code shop/cart:
 * UPDATING, replicas 1/2 (1 starting), version 9f2c}. The first look tells of everything.
 */
final class StatusChanges {
  private Map<String, String> last = Map.of();

  /** What is new, in the order of the applications; what is gone, after it. */
  List<String> since(List<ServeStatus.Application> applications) {
    Map<String, String> now = new LinkedHashMap<>();
    for (ServeStatus.Application application : applications) {
      String name = StatusTable.oneLine(application.name());
      for (ServeStatus.Deployment each : application.deployments()) {
        now.put(
            name + "/" + StatusTable.oneLine(each.name()),
            StatusTable.oneLine(each.status())
                + ", replicas "
                + StatusTable.oneLine(each.replicas())
                + (each.version().isEmpty()
                    ? ""
                    : ", version " + StatusTable.oneLine(each.version()))
                + StatusTable.reason(each.message()));
      }
      now.put(
          name,
          StatusTable.oneLine(application.status()) + StatusTable.reason(application.message()));
    }
    List<String> lines = new ArrayList<>();
    now.forEach(
        (key, value) -> {
          if (!value.equals(last.get(key))) {
            lines.add(key + ": " + value);
          }
        });
    for (String key : last.keySet()) {
      if (!now.containsKey(key)) {
        lines.add(key + ": gone");
      }
    }
    last = now;
    return lines;
  }
}
