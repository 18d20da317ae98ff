package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/**
 * Streams of any events in any pieces, beside a reader of the whole text. A failure prints a seed.
 */
class EventStreamPropertiesTest {
  private static final Pattern EVENT =
      Pattern.compile("(?:[^\r\n]++(?:\r\n|[\r\n]))*+(?:\r\n|[\r\n])");
  private static final String[] LINES = {
    "",
    "",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"gr\u00fc\u00df\"}}],\"usage\":null}",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":34}}",
    "data:{\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":6}}",
    "data: {\"choices\":[],",
    "data: \"usage\":{\"prompt_tokens\":7,\"completion_tokens\":8}}",
    "data: {\"choices\":[]}",
    "data: [DONE]",
    "data",
    "dat: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}",
    "event: message",
    ": comment"
  };
  private static final String[] BREAKS = {"\n", "\r\n", "\r"};

  @Property(tries = 20_000)
  void piecesDecideNothing(@ForAll long seed) {
    Random random = new Random(seed);
    Buffer text = Buffer.buffer(text(random));
    for (UsageMode mode : UsageMode.values()) {
      Result whole = new Result(mode);
      whole.pass(text);
      Result cut = new Result(mode);
      for (int at = 0; at < text.length(); ) {
        int next = Math.min(text.length(), at + random.nextInt(1 + random.nextInt(40)));
        cut.pass(text.slice(at, next));
        at = next;
      }
      assertThat(cut.readings()).isEqualTo(whole.readings());
    }
  }

  @Property(tries = 20_000)
  void eventsAreReadAsByAParserOfTheWholeText(@ForAll long seed) {
    String text = text(new Random(seed));
    Result read = new Result(UsageMode.READ);
    Result injected = new Result(UsageMode.INJECT);
    read.pass(Buffer.buffer(text));
    injected.pass(Buffer.buffer(text));

    Expected expected = new Expected(text);

    assertThat(read.out.toString()).isEqualTo(text);
    assertThat(read.stream.usage()).isEqualTo(expected.usage);
    assertThat(read.stream.atBoundary()).isEqualTo(expected.rest.isEmpty() && !ends(text));
    assertThat(injected.out.toString()).isEqualTo(expected.passed.toString());
    assertThat(injected.stream.atBoundary()).isEqualTo(!ends(expected.passed.toString()));
    assertThat(injected.stream.end().toString()).isEqualTo(expected.rest);
  }

  private static boolean ends(String text) {
    return text.stripTrailing().endsWith("[DONE]");
  }

  /** Any bytes pass as they are: none fails, is lost or is sent twice. */
  @Property(tries = 5_000)
  void otherBytesPass(@ForAll byte[] bytes) {
    for (UsageMode mode : UsageMode.values()) {
      Result result = new Result(mode);
      result.pass(Buffer.buffer(bytes));
      result.out.appendBuffer(result.stream.end());
      assertThat(result.out.getBytes()).isEqualTo(bytes);
    }
  }

  private static String text(Random random) {
    StringBuilder text = new StringBuilder();
    String lineBreak = BREAKS[random.nextInt(BREAKS.length)];
    for (int left = random.nextInt(14); left > 0; left--) {
      text.append(LINES[random.nextInt(LINES.length)]);
      text.append(random.nextInt(6) == 0 ? BREAKS[random.nextInt(BREAKS.length)] : lineBreak);
    }
    return text.substring(0, text.length() - random.nextInt(1 + Math.min(3, text.length())));
  }

  /** A stream with the bytes it passed on. */
  private static final class Result {
    private final EventStream stream;
    private final Buffer out = Buffer.buffer();

    Result(UsageMode mode) {
      stream = new EventStream(true, mode);
    }

    void pass(Buffer piece) {
      out.appendBuffer(stream.pass(piece));
    }

    String readings() {
      return out
          + " "
          + stream.usage()
          + stream.events()
          + stream.sawContent()
          + stream.atBoundary();
    }
  }

  /** The same by other means: expressions over the whole text, and trees of its JSON. */
  private static final class Expected {
    private final StringBuilder passed = new StringBuilder();
    private final String rest;
    private TokenUsage usage = TokenUsage.NONE;

    Expected(String text) {
      Matcher events = EVENT.matcher(text);
      int end = 0;
      while (events.find() && events.start() == end) {
        end = events.end();
        if (!reportsOnly(events.group())) {
          passed.append(events.group());
        }
      }
      rest = text.substring(end);
    }

    private boolean reportsOnly(String event) {
      try {
        JsonObject data =
            new JsonObject(
                event
                    .lines()
                    .filter(line -> line.startsWith("data:"))
                    .map(line -> line.substring(5))
                    .collect(Collectors.joining("\n")));
        JsonObject reported = data.getJsonObject("usage");
        if (reported == null) {
          return false;
        }
        usage =
            new TokenUsage(
                reported.getLong("prompt_tokens"), reported.getLong("completion_tokens"));
        return new JsonArray().equals(data.getValue("choices"));
      } catch (DecodeException broken) {
        return false;
      }
    }
  }
}
