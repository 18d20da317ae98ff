package dev.berth.admin.live;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A subject of the feed.
 *
 * @param name as in the request: a kind, which may be followed by {@code :APP#NAME}
 * @param filters filters of log lines by parameter; empty for other kinds
 */
record LiveTopic(String name, Map<String, List<String>> filters) {
  static final List<String> KINDS =
      List.of(
          ("overview deployment requests traffic autoscaling ledger reservations nodes log"
                  + " upstreams batches")
              .split(" "));

  private static final int SHOWN_CHARS = 80;

  /** Returns the begin of a text that a client chose. */
  static String shorten(@Nullable Object text) {
    String whole = String.valueOf(text);
    return whole.length() <= SHOWN_CHARS ? whole : whole.substring(0, SHOWN_CHARS) + "...";
  }

  String kind() {
    return name.contains(":") ? name.substring(0, name.indexOf(':')) : name;
  }

  /** Returns the application of the topic; empty for none. */
  String application() {
    return target(0);
  }

  /** Returns the deployment of the topic; empty for none. */
  String deployment() {
    return target(1);
  }

  private String target(int part) {
    String[] parts = name.substring(name.indexOf(':') + 1).split("#", -1);
    return name.contains(":") && parts.length == 2 ? parts[part] : "";
  }

  /**
   * Returns whether the name has the right form: only a deployment and a decision have a target.
   */
  boolean isValid() {
    boolean hasTarget = !application().isEmpty() && !deployment().isEmpty();
    return KINDS.contains(kind())
        && (hasTarget
            ? kind().equals("deployment") || kind().equals("autoscaling")
            : !name.contains(":") && !kind().equals("deployment"));
  }
}
