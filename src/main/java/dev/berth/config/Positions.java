package dev.berth.config;

import dev.berth.config.keys.Place;
import dev.berth.config.keys.Scalars;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/**
 * Where keys stand in the file that was written, for what an instance says of the text that was
 * made of it and sent: that has other lines, or none any more.
 *
 * @param root of the file, with what is set over it
 * @param top that names the file
 */
record Positions(Node root, Place top) {
  private static final String KEY = "[a-z_]+(?:\\[\\d+])?";

  /** A place in what was sent, and the path of a key; or at the start of a message such a path. */
  private static final Pattern TOLD =
      Pattern.compile(
          "(?:\\b%s:\\d+:\\d+: (?:warning: )?|(?<=^|\n|: |; ))(%s(?:\\.%s)*)(?=: )"
              .formatted(SubmittedConfig.SENT, KEY, KEY));

  /**
   * The same message, with places of the file.
   *
   * @param base what paths in it start from; empty for the top
   */
  String located(String message, String base) {
    return TOLD.matcher(message).replaceAll(told -> Matcher.quoteReplacement(located(told, base)));
  }

  private String located(MatchResult told, String base) {
    String path = told.group(1);
    boolean exact = told.group().equals(path);
    boolean whole = path.startsWith(ServeConfig.APPLICATIONS.name() + "[");
    Node there = find(whole ? path : base + path, exact);
    return there == null ? told.group() : top.where(there) + ": " + path;
  }

  /** Null when there is none; unless it is to be exact, it is the nearest mapping around it. */
  private @Nullable Node find(String path, boolean exact) {
    Node at = root;
    for (String segment : Overlay.segments(path)) {
      Node next =
          at instanceof SequenceNode list && segment.matches("\\d{1,9}")
              ? item(list, Integer.parseInt(segment))
              : Scalars.child(at, segment);
      if (next == null) {
        return exact ? null : at;
      }
      at = next;
    }
    return at;
  }

  private static @Nullable Node item(SequenceNode list, int index) {
    return index < list.getValue().size() ? list.getValue().get(index) : null;
  }
}
