package dev.berth.config;

import dev.berth.config.keys.Problem;
import dev.berth.config.keys.Scalar;
import dev.berth.config.keys.Scalars;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.common.Anchor;
import org.snakeyaml.engine.v2.composer.Composer;
import org.snakeyaml.engine.v2.events.AliasEvent;
import org.snakeyaml.engine.v2.events.CollectionStartEvent;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.events.NodeEvent;
import org.snakeyaml.engine.v2.events.ScalarEvent;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.Tag;
import org.snakeyaml.engine.v2.parser.Parser;
import org.snakeyaml.engine.v2.parser.ParserImpl;
import org.snakeyaml.engine.v2.scanner.StreamReader;
import org.snakeyaml.engine.v2.schema.CoreSchema;

/**
 * Ends a text that is too much before a tree is made of it: too deep, too many values, or too many
 * characters in them. An alias counts as what it stands for, since that is what reading it takes.
 */
final class BoundedParser implements Parser {

  /** Of a file, or of what is submitted; a thousand applications have some hundred thousand. */
  static final int MOST_BYTES = 4 << 20;

  /** Of the parser's, which may name what it found; in characters. */
  private static final int LONGEST_MESSAGE = 200;

  private static final String WELL_FORMED = "one well-formed YAML or JSON document";

  /** Levels; what reads a tree recurses into it. */
  private static final int DEEPEST = 100;

  /** Keys and values; a thousand applications of some deployments each have a hundred thousand. */
  static final int MOST_VALUES = 200_000;

  /** Names for aliases; each takes several times what its value does. */
  static final int MOST_ANCHORS = 10_000;

  private static final String NON_SPECIFIC = "!"; // which is none

  /** What is inside: so many keys and values, with so many characters. */
  private record Size(long values, long chars) {}

  /** A mapping or list that has not ended, and what there was before it. */
  private record Open(Optional<Anchor> anchor, Size before) {}

  private final String name;
  private final Parser parser;
  private final Deque<Open> open = new ArrayDeque<>();
  private final Map<Anchor, @Nullable Size> anchored = new HashMap<>(); // null while it is open
  private Size all = new Size(0, 0);

  /**
   * @param name of the text, for its problems
   */
  BoundedParser(String name, Parser parser) {
    this.name = name;
    this.parser = parser;
  }

  @Override
  public boolean hasNext() {
    return parser.hasNext();
  }

  @Override
  public boolean checkEvent(Event.ID id) {
    return parser.checkEvent(id);
  }

  @Override
  public Event peekEvent() {
    return parser.peekEvent();
  }

  @Override
  public Event next() {
    Event event = parser.next();
    switch (event.getEventId()) {
      case Scalar -> {
        Optional<Anchor> anchor = ((ScalarEvent) event).getAnchor();
        Size scalar = new Size(1, ((ScalarEvent) event).getValue().length());
        anchor.ifPresent(each -> name(each, scalar, event));
        add(scalar, event);
      }
      case SequenceStart, MappingStart -> {
        requireNoTag((CollectionStartEvent) event);
        Optional<Anchor> anchor = ((NodeEvent) event).getAnchor();
        anchor.ifPresent(each -> name(each, null, event));
        open.push(new Open(anchor, all));
        add(new Size(1, 0), event);
        require(open.size() <= DEEPEST, event, "levels", DEEPEST);
      }
      case SequenceEnd, MappingEnd -> {
        Open ended = open.pop();
        Size before = ended.before();
        Size inside = new Size(all.values - before.values, all.chars - before.chars);
        ended.anchor().ifPresent(each -> anchored.put(each, inside));
      }
      case Alias -> {
        Anchor anchor = ((AliasEvent) event).getAlias();
        Size size = anchored.get(anchor);
        if (size != null) {
          add(size, event);
        } else if (anchored.containsKey(anchor)) {
          throw refusal(
              event,
              "*" + Scalars.shorten(anchor.getValue()) + " inside what it names",
              "no mapping or list in itself");
        }
      }
      default -> {} // of no size
    }
    return event;
  }

  private void name(Anchor anchor, @Nullable Size size, Event event) {
    anchored.put(anchor, size);
    require(anchored.size() <= MOST_ANCHORS, event, "anchors", MOST_ANCHORS);
  }

  private void add(Size size, Event event) {
    all = new Size(all.values + size.values, all.chars + size.chars);
    require(all.values <= MOST_VALUES, event, "keys and values", MOST_VALUES);
    require(all.chars <= MOST_BYTES, event, "characters", MOST_BYTES);
  }

  private void require(boolean within, Event event, String what, int most) {
    if (!within) {
      throw refusal(event, "more " + what + " than that", "at most " + most + " " + what);
    }
  }

  /** One of its own kind says nothing; any other asks for a type that nothing here has. */
  private void requireNoTag(CollectionStartEvent event) {
    Tag kind = event.getEventId() == Event.ID.MappingStart ? Tag.MAP : Tag.SEQ;
    String tag = event.getTag().orElse(NON_SPECIFIC);
    if (!tag.equals(NON_SPECIFIC) && !tag.equals(kind.getValue())) {
      String what = kind == Tag.MAP ? "a mapping" : "a list";
      throw refusal(event, what + ", tagged " + Scalars.shorten(tag), what + " without a tag");
    }
  }

  private ConfigException refusal(Event event, String value, String expected) {
    return refusal(name, event.getStartMark(), value, expected);
  }

  /** The one document of a text; empty for none. */
  static Optional<Node> compose(String name, String text) {
    LoadSettings settings =
        LoadSettings.builder()
            .setLabel(name)
            .setSchema(new CoreSchema())
            .setAllowNonScalarKeys(true) // refused later, with their place
            .setCodePointLimit(MOST_BYTES)
            .setBufferSize(text.length() + 1) // a long scalar is copied once for each buffer
            .setMaxAliasesForCollections(Integer.MAX_VALUE) // what they stand for is bounded
            .build();
    try {
      return new Composer(
              settings,
              new BoundedParser(name, new ParserImpl(settings, new StreamReader(settings, text))))
          .getSingleNode();
    } catch (MarkedYamlEngineException malformed) {
      throw refusal(name, malformed.getProblemMark(), oneLine(malformed.getProblem()), WELL_FORMED);
    } catch (YamlEngineException malformed) {
      throw unreadable(name, oneLine(malformed.getMessage()), WELL_FORMED);
    }
  }

  private static String oneLine(@Nullable String message) {
    if (message == null) {
      return "malformed";
    }
    String line = message.replaceAll("\\s+", " ").strip();
    return line.length() <= LONGEST_MESSAGE ? line : line.substring(0, LONGEST_MESSAGE) + "...";
  }

  /** Of a text as a whole. */
  static ConfigException unreadable(String name, String value, String expected) {
    return refusal(name, Optional.empty(), value, expected);
  }

  /** Of a text that is wrong at a mark, whatever key that is. */
  static ConfigException refusal(String name, Optional<Mark> mark, String value, String expected) {
    int line = mark.map(at -> at.getLine() + 1).orElse(0);
    int column = mark.map(at -> at.getColumn() + 1).orElse(0);
    return new ConfigException(List.of(new Problem(name, line, column, "", value, expected)));
  }
}
