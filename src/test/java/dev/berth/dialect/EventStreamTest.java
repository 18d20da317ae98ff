package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.buffer.Buffer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class EventStreamTest {
  private static final String ROLE =
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
  private static final String TEXT =
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"gr\u00fc\u00df \ud83d\ude00\"}}],\"usage\":null}\n\n";
  private static final String USAGE =
      "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":34,"
          + "\"total_tokens\":46,\"prompt_tokens_details\":{\"cached_tokens\":5}}}\n\n";
  private static final String DONE = "data: [DONE]\n\n";
  private static final String CHAT = ROLE + TEXT + USAGE + DONE;

  private static final String MESSAGES =
      """
      event: message_start
      data: {"type":"message_start","message":{"usage":{"input_tokens":25,\
      "cache_creation_input_tokens":3,"cache_read_input_tokens":7,"output_tokens":1}}}

      event: ping
      data: {"type": "ping"}

      event: content_block_delta
      data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"Hello"}}

      event: message_delta
      data: {"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":8}}

      event: message_delta
      data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}

      event: message_stop
      data: {"type":"message_stop"}

      """;
  private static final String RESPONSES =
      """
      event: response.created
      data: {"type":"response.created","response":{"usage":null},"sequence_number":0}

      event: response.output_text.delta
      data: {"type":"response.output_text.delta","delta":"Hi","sequence_number":1}

      event: response.completed
      data: {"type":"response.completed","response":{"output":[{"usage":{"input_tokens":9}}],\
      "usage":{"input_tokens":36,"input_tokens_details":{"cached_tokens":4},"output_tokens":87}},\
      "sequence_number":2}

      """;

  @Test
  void chatUsageIsReadWhileAllBytesPass() {
    EventStream stream = new EventStream(true, UsageMode.READ);

    assertThat(pass(stream, CHAT)).isEqualTo(CHAT);
    assertThat(stream.usage()).isEqualTo(new TokenUsage(12, 34));
    assertThat(stream.events()).isEqualTo(4);
  }

  @Test
  void injectedUsageEventIsDropped() {
    EventStream stream = new EventStream(true, UsageMode.INJECT);

    assertThat(pass(stream, CHAT)).isEqualTo(ROLE + TEXT + DONE);
    assertThat(stream.usage()).isEqualTo(new TokenUsage(12, 34));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "data: {\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n",
        "data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n",
        "data: {\"choices\":[],\"usage\":null}\n\n",
        "data: {\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}\n\n",
        ": keep-alive\n\n",
        "\n"
      })
  void otherEventsPassWhenUsageIsInjected(String event) {
    assertThat(pass(new EventStream(true, UsageMode.INJECT), event + DONE)).isEqualTo(event + DONE);
  }

  @ParameterizedTest
  @EnumSource(UsageMode.class)
  void eventSplitAtEveryPositionReadsTheSame(UsageMode mode) {
    for (String breaks : new String[] {"\n", "\r\n", "\r"}) {
      for (String text : new String[] {CHAT, MESSAGES, RESPONSES}) {
        byte[] bytes = text.replace("\n", breaks).getBytes(StandardCharsets.UTF_8);
        String whole = passAll(new EventStream(true, mode), bytes, 0);
        for (int cut = 1; cut < bytes.length; cut++) {
          assertThat(passAll(new EventStream(true, mode), bytes, cut))
              .as("cut at %d", cut)
              .isEqualTo(whole);
        }
      }
    }
  }

  @Test
  void characterSplitBetweenPiecesPasses() {
    byte[] bytes = TEXT.getBytes(StandardCharsets.UTF_8);
    int cut = TEXT.indexOf('\u00fc') + 1;
    EventStream stream = new EventStream(true, UsageMode.INJECT);

    Buffer out = stream.pass(Buffer.buffer(bytes).slice(0, cut));
    out = out.copy().appendBuffer(stream.pass(Buffer.buffer(bytes).slice(cut, bytes.length)));

    assertThat(out.toString()).isEqualTo(TEXT);
  }

  @ParameterizedTest
  @CsvSource({
    "'', true",
    "'data: x', false",
    "'data: x\\n', false",
    "'data: x\\n\\n', true",
    "'data: x\\r\\n', false",
    "'data: x\\r\\n\\r\\n', true",
    "'data: x\\r\\n\\r', true",
    "'data: x\\r\\r', true",
    "'data: x\\n\\r\\n', true",
    "'data: x\\r\\n\\n', true",
    "'data: x\\n\\n\\n', true",
    "'data: x\\n\\n:', false",
    "'data: x\\n\\ndata: y\\n', false",
    "': comment\\n\\n', true"
  })
  void boundaryIsBehindABlankLine(String text, boolean boundary) {
    for (UsageMode mode : new UsageMode[] {UsageMode.OFF, UsageMode.READ}) {
      EventStream stream = new EventStream(true, mode);
      pass(stream, text.replace("\\r", "\r").replace("\\n", "\n"));
      assertThat(stream.atBoundary()).isEqualTo(boundary);
    }
  }

  @Test
  void lineBreakBehindAnEventIsNotHeldBack() {
    EventStream stream = new EventStream(true, UsageMode.INJECT);

    assertThat(pass(stream, "data: x\r\n\r")).isEqualTo("data: x\r\n\r");
    assertThat(pass(stream, "\n")).isEqualTo("\n");
    assertThat(pass(stream, USAGE.replace("\n", "\r\n"))).isEmpty();
    assertThat(pass(stream, "data: y\r\n\r\n")).isEqualTo("data: y\r\n\r\n");
  }

  @Test
  void incompleteEventIsHeldBackUpToItsLimit() {
    EventStream stream = new EventStream(true, UsageMode.INJECT);
    String start = "data: " + "x".repeat(EventStream.MAX_HELD_BYTES - 6);

    assertThat(pass(stream, start)).isEmpty();
    assertThat(stream.atBoundary()).isTrue();
    assertThat(pass(stream, "y")).isEqualTo(start + "y");
    assertThat(stream.atBoundary()).isFalse();
    assertThat(pass(stream, "z\n")).isEqualTo("z\n");
    assertThat(pass(stream, "\n" + USAGE + DONE)).isEqualTo("\n" + DONE);
    assertThat(stream.atBoundary()).isFalse(); // no event follows the last one
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "data: [DONE]\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        "data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":1}}}\n\n"
      })
  void noEventFollowsTheLastOne(String last) {
    for (int split = 0; split < last.length(); split++) {
      EventStream stream = new EventStream(true, UsageMode.READ);
      pass(stream, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n");
      assertThat(stream.atBoundary()).isTrue();
      pass(stream, last.substring(0, split));
      pass(stream, last.substring(split));
      assertThat(stream.atBoundary()).as("split at %d", split).isFalse();
    }
  }

  @Test
  void longUsageEventPassesInParts() {
    EventStream stream = new EventStream(true, UsageMode.INJECT);
    String text = USAGE.replace("\"id\":\"c\"", "\"id\":\"" + "c".repeat(6_000) + "\"");

    String out = pass(stream, text.substring(0, 3_000)) + pass(stream, text.substring(3_000));

    assertThat(out).isEqualTo(text);
    assertThat(pass(new EventStream(true, UsageMode.INJECT), text)).isEqualTo(text);
    assertThat(stream.usage()).isEqualTo(new TokenUsage(12, 34));
  }

  @Test
  void endReturnsTheBytesThatAreHeldBack() {
    EventStream stream = new EventStream(true, UsageMode.INJECT);

    assertThat(pass(stream, TEXT + "data: {\"x\"")).isEqualTo(TEXT);
    assertThat(stream.end().toString()).isEqualTo("data: {\"x\"");
    assertThat(stream.end().length()).isZero();
  }

  @Test
  void anthropicUsageIsTheLastCumulativeCount() {
    EventStream stream = new EventStream(true, UsageMode.READ);

    assertThat(pass(stream, MESSAGES)).isEqualTo(MESSAGES);
    assertThat(stream.usage()).isEqualTo(new TokenUsage(35, 15));
  }

  @Test
  void outputOfAnthropicsFirstEventIsNotReported() {
    EventStream stream = new EventStream(true, UsageMode.READ);

    pass(stream, MESSAGES.substring(0, MESSAGES.indexOf("event: ping")));

    assertThat(stream.usage()).isEqualTo(new TokenUsage(35, TokenUsage.UNKNOWN));
  }

  @Test
  void laterInputOfAnthropicReplacesTheFirst() {
    EventStream stream = new EventStream(true, UsageMode.READ);

    pass(stream, MESSAGES);
    pass(stream, "data: {\"usage\":{\"input_tokens\":30,\"cache_read_input_tokens\":2}}\n\n");

    assertThat(stream.usage()).isEqualTo(new TokenUsage(32, 15));
  }

  @Test
  void responsesUsageIsReadFromTheCompletedResponse() {
    EventStream stream = new EventStream(true, UsageMode.READ);

    assertThat(pass(stream, RESPONSES)).isEqualTo(RESPONSES);
    assertThat(stream.usage()).isEqualTo(new TokenUsage(36, 87));
    assertThat(stream.events()).isEqualTo(3);
  }

  @Test
  void usageOfALongEventIsRead() {
    EventStream stream = new EventStream(true, UsageMode.READ);
    String text = "w".repeat(1_000_000);

    pass(stream, RESPONSES.replace("\"output\":[", "\"output\":[\"" + text + "\","));

    assertThat(stream.usage()).isEqualTo(new TokenUsage(36, 87));
  }

  @Test
  void repeatedUsageIsCountedOnce() {
    EventStream stream = new EventStream(true, UsageMode.READ);

    pass(stream, USAGE + USAGE.replace("34", "35") + DONE);

    assertThat(stream.usage()).isEqualTo(new TokenUsage(12, 35));
  }

  @Test
  void usageOverSeveralDataLinesIsRead() {
    EventStream stream = new EventStream(true, UsageMode.INJECT);

    assertThat(pass(stream, USAGE.replace("\"usage\":", "\"usage\":\ndata:"))).isEmpty();
    assertThat(stream.usage()).isEqualTo(new TokenUsage(12, 34));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}",
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"reasoning_content\":\"a\"}}]}",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0}]}}]}",
        "data: {\"choices\":[{\"text\":\"a\",\"index\":0}]}",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\"}",
        "data: {\"type\":\"response.function_call_arguments.delta\"}"
      })
  void generatedContentIsSeen(String event) {
    EventStream stream = new EventStream(true, UsageMode.READ);

    pass(stream, event + "\n");
    assertThat(stream.sawContent()).isFalse();
    pass(stream, "\n");
    assertThat(stream.sawContent()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[]},\"text\":\"\"}]}\n\n",
        "data: {\"type\":\"message_start\"}\n\n",
        "data: {\"type\":\"message_delta\"}\n\n",
        "data: {\"type\":\"response.created\",\"delta\":\"x\"}\n\n",
        "data: {\"x\":{\"type\":\"response.output_text.delta\"}}\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        ": {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        "data: [DONE]\n\n"
      })
  void otherEventsAreNoContent(String event) {
    EventStream stream = new EventStream(true, UsageMode.READ);

    pass(stream, event);

    assertThat(stream.sawContent()).isFalse();
  }

  @Test
  void nothingIsReadWhenUsageIsOff() {
    EventStream stream = new EventStream(true, UsageMode.OFF);

    assertThat(pass(stream, CHAT)).isEqualTo(CHAT);
    assertThat(stream.usage()).isEqualTo(TokenUsage.NONE);
    assertThat(stream.sawContent()).isFalse();
    assertThat(stream.events()).isEqualTo(4);
  }

  @Test
  void documentInPiecesReportsItsUsage() {
    EventStream stream = new EventStream(false, UsageMode.READ);

    assertThat(pass(stream, "{\"usage\":{\"prompt_tokens\":3,\n\n\"completion_tok"))
        .endsWith("completion_tok");
    pass(stream, "ens\":4}}");
    assertThat(stream.end().length()).isZero();
    assertThat(stream.usage()).isEqualTo(new TokenUsage(3, 4));
  }

  private static String pass(EventStream stream, String text) {
    return stream.pass(Buffer.buffer(text)).toString();
  }

  /** Bytes and readings, with one cut. */
  private static String passAll(EventStream stream, byte[] bytes, int cut) {
    Buffer all = Buffer.buffer(bytes);
    Buffer out =
        Buffer.buffer()
            .appendBuffer(stream.pass(all.slice(0, cut)))
            .appendBuffer(stream.pass(all.slice(cut, bytes.length)))
            .appendBuffer(stream.end());
    return out + " " + stream.usage() + stream.events() + stream.sawContent() + stream.atBoundary();
  }
}
