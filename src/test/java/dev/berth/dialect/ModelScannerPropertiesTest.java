package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.jspecify.annotations.Nullable;

/** The scanner beside a full parse of the same bytes. A failure prints its seed. */
class ModelScannerPropertiesTest {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
  private static final ObjectMapper UNIQUE =
      JSON.copy().enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION);

  @Property(tries = 20_000)
  void scanAgreesWithAFullParse(@ForAll long seed) {
    Buffer body = Buffer.buffer(new RandomJson(seed).body());
    compare(body, Objects.requireNonNull(parse(JSON, body)));
  }

  /** The scanner may accept errors below the top level; it refuses no valid body. */
  @Property(tries = 20_000)
  void scanOfADamagedBodyAgreesIfTheParseSucceeds(@ForAll long seed) {
    RandomJson random = new RandomJson(seed);
    Buffer body = Buffer.buffer(random.damage(random.body()));

    JsonNode parsed = parse(JSON, body);

    if (parsed != null && parsed.isObject()) {
      compare(body, parsed);
    } else {
      scan(body); // fails with nothing but a DialectProblem
    }
  }

  private static void compare(Buffer body, JsonNode parsed) {
    ScannedBody scanned = scan(body);
    boolean isRepeated = parse(UNIQUE, body) == null;
    if (!isAccepted(parsed)) {
      assertThat(scanned).isNull();
    } else if (scanned == null) {
      assertThat(isRepeated).isTrue();
    } else if (!isRepeated) {
      assertThat(scanned.model()).isEqualTo(parsed.get("model").textValue());
      assertThat(scanned.stream()).isEqualTo(isTrue(parsed, "stream"));
      assertThat(scanned.stores()).isEqualTo(isTrue(parsed, "store"));
      assertThat(scanned.background()).isEqualTo(isTrue(parsed, "background"));
      assertThat(scanned.continues())
          .isEqualTo(
              parsed.hasNonNull("previous_response_id") || parsed.hasNonNull("conversation"));
      compareModel(body, scanned);
      compareUsage(body, scanned, (ObjectNode) parsed);
    }
  }

  private static boolean isAccepted(JsonNode parsed) {
    String model = parsed.path("model").textValue();
    JsonNode stream = parsed.get("stream");
    for (String name : (Iterable<String>) parsed::fieldNames) {
      if (name.equalsIgnoreCase("model") && !name.equals("model")) {
        return false; // the same name for some servers
      }
    }
    return model != null
        && !model.isEmpty()
        && model.length() <= 256
        && (stream == null || stream.isBoolean() || stream.isNull());
  }

  private static boolean isTrue(JsonNode parsed, String name) {
    return parsed.path(name).booleanValue();
  }

  private static void compareModel(Buffer body, ScannedBody scanned) {
    Buffer model = body.slice(scanned.modelStart() - 1, scanned.modelEnd() + 1);
    assertThat(parse(JSON, model)).isNotNull();
    assertThat(parse(JSON, model).textValue()).isEqualTo(scanned.model());
  }

  /** An added request for usage changes that member alone, and the scan of it needs no edit. */
  private static void compareUsage(Buffer body, ScannedBody scanned, ObjectNode parsed) {
    JsonNode options = parsed.path("stream_options");
    JsonNode usage = options.path("include_usage");
    boolean mayEdit = options.isMissingNode() || options.isNull() || options.isObject();
    boolean refuses =
        usage.isMissingNode() || usage.isNull() || usage.equals(JSON.valueToTree(false));
    assertThat(scanned.usageEdit() != null).isEqualTo(scanned.stream() && mayEdit && refuses);
    BodyEdit edit = scanned.usageEdit();
    if (edit != null) {
      Buffer edited = edit.apply(body);
      ScannedBody again = ModelScanner.scan(edited);
      assertThat(again.usageEdit()).isNull();
      assertThat(again.modelStart()).isEqualTo(edit.shift(scanned.modelStart()));
      assertThat(again.modelEnd()).isEqualTo(edit.shift(scanned.modelEnd()));
      parsed.withObject("stream_options").put("include_usage", true);
      assertThat(parse(JSON, edited)).isEqualTo(parsed);
    }
  }

  @Property(tries = 2_000)
  void partsOfABodyHaveNoEffect(@ForAll long seed, @ForAll @IntRange(min = 1, max = 40) int size) {
    RandomJson random = new RandomJson(seed);
    Buffer body = Buffer.buffer(random.damage(random.body()));
    List<ByteBuf> parts = new ArrayList<>();
    for (int from = 0; from < body.length(); from += size) {
      byte[] part = body.getBytes(from, Math.min(body.length(), from + size));
      parts.add(Unpooled.wrappedBuffer(part));
    }
    ByteBuf all = Unpooled.wrappedBuffer(parts.size() + 1, parts.toArray(ByteBuf[]::new));
    assertThat(scan(BufferInternal.buffer(all))).isEqualTo(scan(body));
  }

  /** Bytes that are read, not time: a word counts once, and each byte is in few of them. */
  @Property(tries = 300)
  void timeIsLinear(@ForAll long seed) {
    RandomJson random = new RandomJson(seed);
    byte[] part = random.damage(random.value(3));
    byte[] bytes = new byte[16 * 1024];
    for (int at = 0; at < bytes.length; at++) {
      bytes[at] = part[at % part.length];
    }
    Buffer whole = Buffer.buffer("{\"model\":\"smol\",\"messages\":[").appendBytes(bytes);
    assertLinear(whole);
    assertLinear(Buffer.buffer(bytes));
  }

  /** Patterns that make a careless scanner read the same bytes again. */
  @Property(tries = 16)
  void timeIsLinearForPatterns(@ForAll byte other) {
    for (String pattern :
        new String[] {"\\", "\\\"", "\"", "[", "{", "\"\":0,", "0", " ", ",", "\\\\\"", "e"}) {
      for (String start : new String[] {"", "{\"", "{\"model\":\"", "{\"a\":", "{\"a\":[\"", "{"}) {
        byte[] bytes =
            (start + pattern.repeat(16 * 1024 / pattern.length())).getBytes(StandardCharsets.UTF_8);
        assertLinear(Buffer.buffer(bytes));
        bytes[bytes.length - 1] = other;
        assertLinear(Buffer.buffer(bytes));
      }
    }
  }

  private static void assertLinear(Buffer body) {
    ModelScanner scanner = new ModelScanner(body);
    try {
      scanner.scan();
    } catch (DialectProblem expected) {
      assertThat(expected.response().status()).isEqualTo(400);
    }
    assertThat(scanner.reads)
        .as("reads of %d bytes, %s…", body.length(), Arrays.toString(body.getBytes(0, 16)))
        .isLessThan(4L * body.length() + 64);
  }

  private static @Nullable ScannedBody scan(Buffer body) {
    try {
      return ModelScanner.scan(body);
    } catch (DialectProblem problem) {
      assertThat(problem.response().status()).isEqualTo(400);
      return null;
    }
  }

  /** Null for bytes that are not one JSON value in UTF-8. */
  private static @Nullable JsonNode parse(ObjectMapper parser, Buffer body) {
    try {
      ByteBuffer bytes = ByteBuffer.wrap(body.getBytes());
      return parser.readTree(StandardCharsets.UTF_8.newDecoder().decode(bytes).toString());
    } catch (CharacterCodingException | JsonProcessingException broken) {
      return null;
    }
  }
}
