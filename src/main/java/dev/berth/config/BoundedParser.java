package dev.berth.config;

import dev.berth.config.keys.Scalar;
import dev.berth.config.keys.Scalars;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.common.Anchor;
import org.snakeyaml.engine.v2.events.AliasEvent;
import org.snakeyaml.engine.v2.events.CollectionStartEvent;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.events.NodeEvent;
import org.snakeyaml.engine.v2.events.ScalarEvent;
import org.snakeyaml.engine.v2.nodes.Tag;
import org.snakeyaml.engine.v2.parser.Parser;

/**
 * Ends a text that is too much before a tree is made of it: too deep, too many values, or too many
 * characters in them. An alias counts as what it stands for, since that is what reading it takes.
 */
final class BoundedParser implements Parser {

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
    require(all.chars <= ConfigReader.MOST_BYTES, event, "characters", ConfigReader.MOST_BYTES);
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
    return ConfigReader.refusal(name, event.getStartMark(), value, expected);
  }
}
