package dev.berth.config.builtin;

import dev.berth.api.Deployment;
import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Schema;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.Types;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** {@code berth.mcp} of the deployment of an application {@code berth:mcp}. */
public final class McpOptions {
  private static final String TOOL = "^[A-Za-z0-9_./-]{1,128}$";
  private static final String LIMIT = "max_ongoing_requests";

  private static final Type<Map<String, @Nullable Object>> TOOL_LIMITS =
      new Type.RestrictedType<>(
          Types.FREE_MAP,
          map -> map.entrySet().stream().allMatch(each -> isLimit(each.getKey(), each.getValue())),
          "a mapping of names of tools to {max_ongoing_requests: 1 to 65535}",
          "with another name or value",
          Schema.of("object"));

  private static final Keys KEYS = new Keys(ChangeReach.REPLICA_LIVE);

  public static final ConfigKey<List<String>> ORIGINS =
      KEYS.key(
              "origins",
              Types.list(
                  Types.string("an origin such as https://app.example", "^https?://[!-.0-~]+$")),
              List.of())
          .means(
              "Values of Origin, exact, of web pages that may send requests. A request with another"
                  + " Origin is refused with 403; clients that are no browsers send none.");
  public static final ConfigKey<Integer> MAX_STREAMS =
      KEYS.key("max_streams", Types.integer(0, 65_000, "streams"), 1_024)
          .means(
              "Maximum of open streams of one upstream that take no slot: one GET per session,"
                  + " resumed streams, and subscriptions/listen. 64 messages that take no slot may"
                  + " be in flight beside them.");
  public static final ConfigKey<Duration> RESUME_S =
      KEYS.key("resume_s", Types.SECONDS_OR_ZERO, Duration.ofSeconds(60))
          .means(
              "Time that a call whose events have ids is read on after its client has left."
                  + " Then notifications/cancelled is sent to its upstream.");
  public static final ConfigKey<Map<String, @Nullable Object>> TOOLS =
      KEYS.key("tools", TOOL_LIMITS, Map.of())
          .means(
              "Limits of single tools by name, as in search: {max_ongoing_requests: 2}: maximum of"
                  + " concurrent calls of the tool at one upstream. A call beyond it goes to another"
                  + " upstream, or waits in the queue.");

  public static final Section SECTION = KEYS.section();

  private McpOptions() {}

  private static boolean isLimit(String name, @Nullable Object value) {
    return name.matches(TOOL)
        && value instanceof Map<?, ?> limit
        && limit.size() == 1
        && limit.get(LIMIT) instanceof Integer most
        && most >= 1
        && most <= Deployment.MAX_ONGOING_REQUESTS_LIMIT;
  }

  /** Returns the limits of the tools by their names. */
  public static Map<String, Integer> limits(Settings mcp) {
    Map<String, Integer> limits = new LinkedHashMap<>();
    mcp.get(TOOLS)
        .forEach((name, value) -> limits.put(name, (Integer) ((Map<?, ?>) value).get(LIMIT)));
    return limits;
  }

  /** Reads the settings in the {@code user_config} of a replica. */
  public static Settings fromMap(Map<?, ?> json) {
    return SECTION.fromMap(json);
  }
}
