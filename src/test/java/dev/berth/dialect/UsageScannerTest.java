package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class UsageScannerTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}",
        "{\"usage\":{\"completion_tokens\":0,\"prompt_tokens\" : 0 } , \"id\":\"x\"}",
        "{\"data\":[{\"embedding\":[0.1,-2e3]}],\"usage\":{\"prompt_tokens\":7}}",
        "{\"type\":\"message\",\"usage\":{\"input_tokens\":9,\"output_tokens\":8}}",
        "{\"usage\":{\"input_tokens\":9,\"cache_read_input_tokens\":2,"
            + "\"cache_creation\":{\"input_tokens\":50},\"output_tokens\":8}}",
        "{\"usage\":{\"output_tokens\":8,\"cache_read_input_tokens\":2}}",
        "{\"usage\":{\"prompt_tokens\":3},\"usage\":{\"prompt_tokens\":5}}",
        "{\"response\":{\"id\":\"r\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}",
        "{\"message\":{\"usage\":{\"input_tokens\":3}}}",
        "{\"message\":{\"message\":{\"usage\":{\"input_tokens\":3}}}}",
        "",
        "not JSON",
        "{\"usage\":null}",
        "{\"usage\":{}}",
        "{\"usage\":7}",
        "{\"input_tokens\":7}",
        "[{\"usage\":{\"prompt_tokens\":3}}]",
        "{\"usage\":[{\"prompt_tokens\":3}]}",
        "{\"x\":{\"usage\":{\"prompt_tokens\":3}}}",
        "{\"x\":\"\\\"usage\\\":{\\\"prompt_tokens\\\":3}\"}",
        "{\"usage\":{\"prompt_tokens\":\"3\"}}",
        "{\"usage\":{\"prompt_tokens\":-3}}",
        "{\"usage\":{\"prompt_tokens\":3.0}}",
        "{\"usage\":{\"prompt_tokens\":99999999999999999999}}",
        "{\"usage\":{\"prompt_tokens\":null}}",
        "{\"usage\":{\"prompt_tokens\":3",
        "{\"usage\":{\"prompt_tokens\":3]}",
        "}{\"usage\":{\"prompt_tokens\":3}}",
      })
  void usageOfAWholeResponseEqualsThatOfItsPieces(String body) {
    EventStream pieces = new EventStream(false, UsageMode.READ);
    for (int i = 0; i < body.length(); i++) {
      pieces.pass(Buffer.buffer(body.substring(i, i + 1)));
    }
    pieces.end();

    assertThat(UsageScanner.scan(Buffer.buffer(body))).isEqualTo(pieces.usage());
  }

  @Test
  void partsOfABodyAreReadInPlace() {
    ByteBuf all =
        Unpooled.copiedBuffer(
            "....{\"a\":\"0123456789\",\"usage\":{\"prompt_tokens\":42}}",
            StandardCharsets.US_ASCII);
    ByteBuf direct = Unpooled.directBuffer().writeBytes(all, 20, all.readableBytes() - 20);
    Buffer body =
        BufferInternal.buffer(
            Unpooled.wrappedBuffer(all.slice(4, 9), all.slice(13, 7), direct.asReadOnly()));

    assertThat(UsageScanner.scan(body)).isEqualTo(new TokenUsage(42, TokenUsage.UNKNOWN));
  }
}
