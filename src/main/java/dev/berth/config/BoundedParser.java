package dev.berth.config;

import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.YamlScalars;
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
 * A YAML parser that rejects an excessive text before a tree is built: too deep, too many values,
 * or too many characters. An alias counts as the value it refers to, because reading it costs as
 * much.
 */
final class BoundedParser implements Parser {

  /**
   * Maximum size of a file or a submitted text in bytes. A thousand applications take some hundred
   * thousand bytes.
   */
  static final int MAX_BYTES = 4 << 20;

  /** Maximum length of a message of the parser, which may quote its input, in characters. */
  private static final int MAX_MESSAGE_CHARS = 200;

  private static final String WELL_FORMED = "one well-formed YAML or JSON document";

  /** Maximum depth in levels, because readers of the tree are recursive. */
  private static final int MAX_DEPTH = 100;

  /**
   * Maximum number of keys and values. A thousand applications with several deployments each have a
   * hundred thousand.
   */
  static final int MAX_VALUES = 200_000;

  /** Maximum number of anchors; each takes several times the memory of its value. */
  static final int MAX_ANCHORS = 10_000;

  private static final String NON_SPECIFIC = "!"; // a tag without effect

  /** The size of a subtree: its keys and values, and their characters. */
  private record SubtreeSize(long values, long chars) {}

  /** An unfinished mapping or list, and the total size before it. */
  private record OpenCollection(Optional<Anchor> anchor, SubtreeSize before) {}

  private final String name;
  private final Parser parser;
  private final Deque<OpenCollection> open = new ArrayDeque<>();
  private final Map<Anchor, @Nullable SubtreeSize> anchored =
      new HashMap<>(); // null until its node ends
  private SubtreeSize all = new SubtreeSize(0, 0);

  /**
   * Creates a parser of one text.
   *
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
        SubtreeSize scalar = new SubtreeSize(1, ((ScalarEvent) event).getValue().length());
        anchor.ifPresent(each -> name(each, scalar, event));
        add(scalar, event);
      }
      case SequenceStart, MappingStart -> {
        requireNoTag((CollectionStartEvent) event);
        Optional<Anchor> anchor = ((NodeEvent) event).getAnchor();
        anchor.ifPresent(each -> name(each, null, event));
        open.push(new OpenCollection(anchor, all));
        add(new SubtreeSize(1, 0), event);
        require(open.size() <= MAX_DEPTH, event, "levels", MAX_DEPTH);
      }
      case SequenceEnd, MappingEnd -> {
        OpenCollection ended = open.pop();
        SubtreeSize before = ended.before();
        SubtreeSize inside = new SubtreeSize(all.values - before.values, all.chars - before.chars);
        ended.anchor().ifPresent(each -> anchored.put(each, inside));
      }
      case Alias -> {
        Anchor anchor = ((AliasEvent) event).getAlias();
        SubtreeSize size = anchored.get(anchor);
        if (size != null) {
          add(size, event);
        } else if (anchored.containsKey(anchor)) {
          throw refusal(
              event,
              "*" + YamlScalars.shorten(anchor.getValue()) + " inside its own anchor",
              "no mapping or list in itself");
        }
      }
      default -> {} // has no size
    }
    return event;
  }

  private void name(Anchor anchor, @Nullable SubtreeSize size, Event event) {
    anchored.put(anchor, size);
    require(anchored.size() <= MAX_ANCHORS, event, "anchors", MAX_ANCHORS);
  }

  private void add(SubtreeSize size, Event event) {
    all = new SubtreeSize(all.values + size.values, all.chars + size.chars);
    require(all.values <= MAX_VALUES, event, "keys and values", MAX_VALUES);
    require(all.chars <= MAX_BYTES, event, "characters", MAX_BYTES);
  }

  private void require(boolean within, Event event, String what, int most) {
    if (!within) {
      throw refusal(event, "more " + what + " than allowed", "at most " + most + " " + what);
    }
  }

  /**
   * Rejects tags of collections, because no key has such a type; the standard tags are permitted.
   */
  private void requireNoTag(CollectionStartEvent event) {
    Tag kind = event.getEventId() == Event.ID.MappingStart ? Tag.MAP : Tag.SEQ;
    String tag = event.getTag().orElse(NON_SPECIFIC);
    if (!tag.equals(NON_SPECIFIC) && !tag.equals(kind.getValue())) {
      String what = kind == Tag.MAP ? "a mapping" : "a list";
      throw refusal(event, what + ", tagged " + YamlScalars.shorten(tag), what + " without a tag");
    }
  }

  private ConfigException refusal(Event event, String value, String expected) {
    return refusal(name, event.getStartMark(), value, expected);
  }

  /** Parses the single document of a text; empty for an empty text. */
  static Optional<Node> compose(String name, String text) {
    LoadSettings settings =
        LoadSettings.builder()
            .setLabel(name)
            .setSchema(new CoreSchema())
            .setAllowNonScalarKeys(true) // rejected later with a position
            .setCodePointLimit(MAX_BYTES)
            .setBufferSize(text.length() + 1) // a smaller buffer copies long scalars repeatedly
            .setMaxAliasesForCollections(Integer.MAX_VALUE) // this parser bounds their size
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
    return line.length() <= MAX_MESSAGE_CHARS ? line : line.substring(0, MAX_MESSAGE_CHARS) + "...";
  }

  /** Returns the refusal of a text as a whole. */
  static ConfigException unreadable(String name, String value, String expected) {
    return refusal(name, Optional.empty(), value, expected);
  }

  /** Returns the refusal of a text for a problem at a mark, independent of any key. */
  static ConfigException refusal(String name, Optional<Mark> mark, String value, String expected) {
    int line = mark.map(at -> at.getLine() + 1).orElse(0);
    int column = mark.map(at -> at.getColumn() + 1).orElse(0);
    return new ConfigException(List.of(new ConfigProblem(name, line, column, "", value, expected)));
  }
}
