package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.management.ThreadMXBean;
import io.netty.buffer.Unpooled;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import io.vertx.core.json.JsonObject;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ModelScannerTest {
  private static final int NINE_MEGABYTES = 9 * 1024 * 1024;

  @Test
  void modelIsFoundWithItsRange() {
    String body = "{\"messages\":[],\"model\" : \"smol\", \"temperature\":0.5}";

    ScannedBody scanned = scan(body);

    assertThat(scanned.model()).isEqualTo("smol");
    assertThat(body.substring(scanned.modelStart(), scanned.modelEnd())).isEqualTo("smol");
    assertThat(scanned.stream()).isFalse();
    assertThat(scanned.stores()).isFalse();
    assertThat(scanned.continues()).isFalse();
    assertThat(scanned.background()).isFalse();
    assertThat(scanned.usageEdit()).isNull();
  }

  @Test
  void modelBehindNineMegabytesIsFound() {
    String text = "say \\\"hello\\\" \\\\ ".repeat(NINE_MEGABYTES / 16);
    String body = "{\"messages\":[{\"content\":\"" + text + "\"}],\"model\":\"smol\"}";

    ScannedBody scanned = scan(body);

    assertThat(body.length()).isGreaterThan(NINE_MEGABYTES);
    assertThat(body.substring(scanned.modelStart(), scanned.modelEnd())).isEqualTo("smol");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"mo\\u0064el\":\"smol\"}",
        "{\"\\u006dodel\":\"smol\"}",
        "{\"\\u006D\\u006F\\u0064\\u0065\\u006C\":\"smol\"}"
      })
  void escapedNameIsTheModel(String body) {
    assertThat(scan(body).model()).isEqualTo("smol");
  }

  @Test
  void escapedModelIsDecoded() {
    String body = "{\"model\":\"gpt\\u002d4o\\/mini\\ud83d\\ude00\"}";

    ScannedBody scanned = scan(body);

    assertThat(scanned.model()).isEqualTo("gpt-4o/mini\ud83d\ude00");
    assertThat(body.substring(scanned.modelStart(), scanned.modelEnd()))
        .isEqualTo("gpt\\u002d4o\\/mini\\ud83d\\ude00");
  }

  @Test
  void nestedModelIsIgnored() {
    String nested =
        "{\"metadata\":{\"model\":\"a\"},\"tools\":[{\"model\":\"b\"}],\"text\":\"\\\"model\\\":\","
            + "\"stream_options\":{\"model\":\"c\"}";

    assertThat(scan(nested + ",\"model\":\"smol\"}").model()).isEqualTo("smol");
    assertRefused(nested + "}", "missing_required_parameter", "model: missing");
  }

  @Test
  void bodyWithoutModelIsRefused() {
    DialectProblem problem = refused("{\"messages\":[]}");

    assertThat(problem.response().status()).isEqualTo(400);
    assertThat(problem.response().code()).isEqualTo("missing_required_parameter");
    assertThat(problem.param()).isEqualTo("model");
    assertThat(problem).hasMessage("model: missing (expected: the name of a model)");
    assertThat(problem.getStackTrace()).isEmpty();
    assertRefused("{}", "missing_required_parameter", "model: missing");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"model\":\"a\",\"model\":\"a\"}    | duplicate_parameter | model: present twice",
        "{\"model\":\"a\",\"mo\\u0064el\":1}  | duplicate_parameter | model: present twice",
        "{\"model\":null}                     | invalid_type        | model: not a string",
        "{\"model\":7}                        | invalid_type        | model: not a string",
        "{\"model\":{\"model\":\"a\"}}        | invalid_type        | model: not a string",
        "{\"model\":[\"a\"]}                  | invalid_type        | model: not a string",
        "{\"model\":\"\"}                     | invalid_value       | model: 0 bytes",
      })
  void unusableModelIsRefused(String body, String code, String message) {
    assertRefused(body, code, message);
    assertThat(refused(body).param()).isEqualTo("model");
  }

  @Test
  void modelIsBounded() {
    assertThat(scan("{\"model\":\"" + "m".repeat(256) + "\"}").model()).hasSize(256);
    assertThat(scan("{\"model\":\"" + "\\u00e4".repeat(256) + "\"}").model()).hasSize(256);
    assertRefused("{\"model\":\"" + "m".repeat(257) + "\"}", "invalid_value", "model: 257 bytes");
    assertRefused("{\"model\":\"" + "m".repeat(5_000) + "\"}", "invalid_value", "model: 5000");
  }

  @Test
  void longNamesAreSkipped() {
    String name = "n".repeat(100_000);

    assertThat(scan("{\"" + name + "\":{},\"model\":\"smol\"}").model()).isEqualTo("smol");
  }

  @ParameterizedTest
  @CsvSource({"true, true", "false, false", "null, false"})
  void streamIsABoolean(String value, boolean stream) {
    assertThat(scan("{\"stream\":" + value + ",\"model\":\"smol\"}").stream()).isEqualTo(stream);
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"yes\"", "\"true\"", "1", "{}", "[true]"})
  void streamOfAnotherTypeIsRefused(String value) {
    DialectProblem problem = refused("{\"model\":\"smol\",\"stream\":" + value + "}");

    assertThat(problem.response().status()).isEqualTo(400);
    assertThat(problem.response().code()).isEqualTo("invalid_type");
    assertThat(problem.param()).isEqualTo("stream");
    assertThat(problem).hasMessage("stream: not a boolean (expected: true or false)");
  }

  @Test
  void streamPresentTwiceIsRefused() {
    assertRefused(
        "{\"model\":\"a\",\"stream\":true,\"stream\":false}",
        "duplicate_parameter",
        "stream: present twice");
  }

  @Test
  void membersOfStoredResponsesAreFound() {
    assertThat(scan("{\"model\":\"a\",\"store\":true}").stores()).isTrue();
    assertThat(scan("{\"model\":\"a\",\"store\":false}").stores()).isFalse();
    assertThat(scan("{\"model\":\"a\",\"store\":true,\"store\":false}").stores()).isTrue();
    assertThat(scan("{\"model\":\"a\",\"background\":true}").background()).isTrue();
    assertThat(scan("{\"model\":\"a\",\"background\":null}").background()).isFalse();
    assertThat(scan("{\"model\":\"a\",\"previous_response_id\":\"r\"}").continues()).isTrue();
    assertThat(scan("{\"model\":\"a\",\"previous_response_id\":null}").continues()).isFalse();
    assertThat(scan("{\"model\":\"a\",\"conversation\":{\"id\":\"c\"}}").continues()).isTrue();
    assertThat(scan("{\"model\":\"a\",\"conversation\":null}").continues()).isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\'',
      value = {
        "''                                  | 0",
        "'  '                                | 2",
        "null                                | 0",
        "[\"model\"]                         | 0",
        "\"model\"                           | 0",
        "{                                   | 1",
        "{\"model\"                          | 8",
        "{\"model\":                         | 9",
        "{\"model\":\"smol                   | 14",
        "{\"model\":\"smol\\\"}              | 17",
        "{\"model\":\"smol\"                 | 15",
        "{\"model\":\"smol\",}               | 16",
        "{,\"model\":\"smol\"}               | 1",
        "{\"model\":\"smol\"}}               | 16",
        "{\"model\":\"smol\"} x              | 17",
        "{\"model\" \"smol\"}                | 9",
        "{model:\"smol\"}                    | 1",
        "{\"model\":\"smol\" \"n\":1}        | 16",
        "{\"model\":\"smol\",\"n\":tru}      | 20",
        "{\"model\":\"smol\",\"n\":01}       | 20",
        "{\"model\":\"smol\",\"n\":1.}       | 20",
        "{\"model\":\"smol\",\"n\":}         | 20",
        "{\"model\":\"smol\",\"n\":[1}       | 23",
        "{\"model\":\"smol\",\"n\":[\"1]}    | 25",
        "{\"model\":\"smol\",\"n\\x\":1}     | 16",
        "{\"model\":\"sm\\ol\"}              | 9",
      })
  void brokenJsonIsRefusedWithItsPlace(String body, int at) {
    assertRefused(
        body, "invalid_json", "body: broken JSON at byte " + at + " (expected: one JSON object)");
    assertThat(refused(body).param()).isNull();
  }

  @Test
  void byteOrderMarkIsRefused() {
    assertRefused("\ufeff{\"model\":\"a\"}", "invalid_json", "body: broken JSON at byte 0");
    assertThat(refusal(Buffer.buffer("{\"model\":\"a\"}", "UTF-16LE")).response().code())
        .isEqualTo("invalid_json");
  }

  @Test
  void modelCutInsideACharacterIsRefused() {
    byte[] whole = "{\"model\":\"\u00e4\"}".getBytes(StandardCharsets.UTF_8);
    byte[] cut = "{\"model\":\"x\"}".getBytes(StandardCharsets.UTF_8);
    cut[10] = whole[10]; // the first of two bytes

    assertThat(refusal(Buffer.buffer(cut)))
        .hasMessage("body: broken JSON at byte 9 (expected: one JSON object)");
  }

  @ParameterizedTest
  @ValueSource(strings = {"-0", "0.5e-7", "1E+9", "123456789012345678901234567890", "true"})
  void literalsAreSkipped(String literal) {
    assertThat(scan("{\"n\":" + literal + " ,\"model\":\"smol\"}").model()).isEqualTo("smol");
  }

  @Test
  void bodyInDirectOrCompositeMemoryIsScanned() {
    byte[] bytes = "{\"messages\":[1,2,3],\"model\":\"smol\"}".getBytes(StandardCharsets.UTF_8);

    Buffer direct = BufferInternal.buffer(Unpooled.directBuffer().writeBytes(bytes));
    Buffer composite =
        BufferInternal.buffer(
            Unpooled.wrappedBuffer(
                Unpooled.copiedBuffer(bytes, 0, 7),
                Unpooled.copiedBuffer(bytes, 7, bytes.length - 7)));

    assertThat(ModelScanner.scan(direct)).isEqualTo(scan(new String(bytes)));
    assertThat(ModelScanner.scan(composite)).isEqualTo(scan(new String(bytes)));
    assertThat(ModelScanner.scan(Buffer.buffer("xx").appendBytes(bytes).slice(2, bytes.length + 2)))
        .isEqualTo(scan(new String(bytes)));
  }

  @Test
  void memoryDoesNotGrowWithTheBody() {
    Buffer small = Buffer.buffer("{\"messages\":[\"" + "x".repeat(10) + "\"],\"model\":\"smol\"}");
    Buffer large =
        Buffer.buffer("{\"messages\":[\"" + "x".repeat(NINE_MEGABYTES) + "\"],\"model\":\"smol\"}");
    ModelScanner.scan(small); // loads the classes

    assertThat(allocated(large)).isLessThan(allocated(small) + 4_096);
  }

  private static long allocated(Buffer body) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    ModelScanner.scan(body);
    return threads.getCurrentThreadAllocatedBytes() - before;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"stream\":true,\"model\":\"a\"} "
            + "| {\"stream_options\":{\"include_usage\":true},\"stream\":true,\"model\":\"a\"}",
        " {\"model\":\"a\",\"stream\":true,\"stream_options\":null}"
            + "| {\"model\":\"a\",\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
        "{\"stream_options\":{\"x\":1},\"model\":\"a\",\"stream\":true}"
            + "| {\"stream_options\":{\"x\":1,\"include_usage\":true},\"model\":\"a\",\"stream\":true}",
        "{\"stream_options\":{\"include_usage\":false},\"model\":\"a\",\"stream\":true}"
            + "| {\"stream_options\":{\"include_usage\":true},\"model\":\"a\",\"stream\":true}",
        "{\"stream_options\":{\"include_usage\":null,\"y\":\"\u00e4\"},\"model\":\"a\",\"stream\":true}"
            + "| {\"stream_options\":{\"include_usage\":true,\"y\":\"\u00e4\"},\"model\":\"a\",\"stream\":true}",
      })
  void usageRequestIsAdded(String body, String expected) {
    Buffer before = Buffer.buffer(body);

    ScannedBody scanned = ModelScanner.scan(before);
    BodyEdit edit = scanned.usageEdit();

    assertThat(edit.apply(before).toString()).isEqualTo(expected);
    assertThat(edit.shift(scanned.modelStart())).isEqualTo(scan(expected).modelStart());
    assertThat(before.toString()).isEqualTo(body);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"model\":\"a\"}",
        "{\"model\":\"a\",\"stream\":false,\"stream_options\":{}}",
        "{\"model\":\"a\",\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
        "{\"model\":\"a\",\"stream\":true,\"stream_options\":{\"include_usage\":\"yes\"}}",
        "{\"model\":\"a\",\"stream\":true,\"stream_options\":[1]}",
        "{\"model\":\"a\",\"stream\":true,\"stream_options\":true}"
      })
  void otherBodiesStayAsTheyAre(String body) {
    assertThat(scan(body).usageEdit()).isNull();
  }

  @Test
  void hugeStreamOptionsStayAsTheyAre() {
    String options = new JsonObject().put("x", "y".repeat(5_000)).encode();

    assertThat(scan("{\"model\":\"a\",\"stream\":true,\"stream_options\":" + options + "}"))
        .extracting(ScannedBody::usageEdit)
        .isNull();
  }

  private static ScannedBody scan(String body) {
    return ModelScanner.scan(Buffer.buffer(body));
  }

  private static DialectProblem refused(String body) {
    return refusal(Buffer.buffer(body));
  }

  private static DialectProblem refusal(Buffer body) {
    return catchThrowableOfType(DialectProblem.class, () -> ModelScanner.scan(body));
  }

  private static void assertRefused(String body, String code, String message) {
    DialectProblem problem = refused(body);
    assertThat(problem).as(body).isNotNull().hasMessageStartingWith(message);
    assertThat(problem.response().code()).isEqualTo(code);
    assertThat(problem.response().status()).isEqualTo(400);
    assertThat(problem.response().detail()).isEqualTo("The request did not run.");
  }
}
