package dev.berth.config;

import dev.berth.config.keys.ParseContext;
import dev.berth.config.keys.YamlScalars;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/**
 * Positions of keys in the original file. They replace the positions in an instance's messages
 * about a submitted text, whose lines differ from the file's.
 *
 * @param root the tree of the file with all settings applied
 * @param top the top of the file, which holds its name
 */
record Positions(Node root, ParseContext top) {
  private static final String KEY = "[a-z_]+(?:\\[\\d+])?";

  /**
   * Pattern of a position in the submitted text with the path of a key, or of such a path alone at
   * the start of a message.
   */
  private static final Pattern TOLD =
      Pattern.compile(
          "(?:\\b%s:\\d+:\\d+: (?:warning: )?|(?<=^|\n|: |; ))(%s(?:\\.%s)*)(?=: )"
              .formatted(SubmittedConfig.SENT, KEY, KEY));

  /**
   * Returns the message with positions of the file.
   *
   * @param base prefix of the paths in the message; empty for the top
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

  /**
   * Returns the node of a path. When it is missing: null if {@code exact}, else the nearest node
   * above it.
   */
  private @Nullable Node find(String path, boolean exact) {
    Node at = root;
    for (String segment : Overlay.segments(path)) {
      Node next =
          at instanceof SequenceNode list && segment.matches("\\d{1,9}")
              ? item(list, Integer.parseInt(segment))
              : YamlScalars.child(at, segment);
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
