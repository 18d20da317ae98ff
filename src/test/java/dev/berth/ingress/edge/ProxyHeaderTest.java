package dev.berth.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.CorruptedFrameException;
import java.nio.charset.StandardCharsets;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ProxyHeaderTest {
  private static final String SIGNATURE = "0d0a0d0a000d0a515549540a";

  private static byte[] v1(String line) {
    return line.replace("_", "\r\n").getBytes(StandardCharsets.ISO_8859_1);
  }

  private static byte[] v2(String hex) {
    return ByteBufUtil.decodeHexDump(SIGNATURE + hex.replace(" ", ""));
  }

  private static @Nullable ProxyHeader read(byte[] bytes, int length) {
    ByteBuf in = Unpooled.wrappedBuffer(bytes, 0, length);
    return ProxyHeader.read(in);
  }

  /** Reads a header in front of other bytes; no part of it is a header, and none is refused. */
  private static void assertClient(byte[] header, String client) {
    for (int length = 0; length < header.length; length++) {
      assertThat(read(header, length)).as("%d bytes", length).isNull();
    }
    byte[] more = java.util.Arrays.copyOf(header, header.length + 30);
    ProxyHeader found = read(more, more.length);
    assertThat(found).isNotNull();
    assertThat(found.length()).isEqualTo(header.length);
    String named =
        found.client() == null
            ? "none"
            : ForwardedWalk.text(found.client()) + " " + found.client().getPort();
    assertThat(named).isEqualTo(client);
  }

  @ParameterizedTest
  @CsvSource({
    "PROXY TCP4 192.0.2.1 10.0.0.1 56324 443_, 192.0.2.1 56324",
    "PROXY TCP6 2001:db8::1 ::1 65535 0_, 2001:db8::1 65535",
    "PROXY UNKNOWN_, none",
    "PROXY UNKNOWN ffff::1 ffff::1 1 2_, none",
  })
  void versionOneNamesTheClient(String line, String client) {
    assertClient(v1(line), client);
  }

  @ParameterizedTest
  @CsvSource({
    "21 11 000c c0000201 0a000001 dc04 01bb, 192.0.2.1 56324",
    "21 12 000f c0000201 0a000001 dc04 01bb 030000, 192.0.2.1 56324",
    "21 21 0024 20010db8000000000000000000000001 00000000000000000000000000000001 0001 0002, 2001:db8::1 1",
    "20 00 0000, none",
    "20 11 000c c0000201 0a000001 dc04 01bb, none",
    "21 00 0000, none",
    "21 31 0002 0102, none",
  })
  void versionTwoNamesTheClient(String hex, String client) {
    assertClient(v2(hex), client);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET / HTTP/1.1_",
        "PRI * HTTP/2.0_",
        "PROXY TCP4 192.0.2.1 10.0.0.1 56324_",
        "PROXY TCP4 192.0.2.1 10.0.0.1 56324 443 _",
        "PROXY TCP4 2001:db8::1 ::1 1 2_",
        "PROXY TCP6 192.0.2.1 10.0.0.1 1 2_",
        "PROXY TCP4 host 10.0.0.1 1 2_",
        "PROXY TCP4 192.0.2.1 10.0.0.1 65536 443_",
        "PROXY TCP4 192.0.2.1 10.0.0.1 01 443_",
        "PROXY TCP4 192.0.2.1 10.0.0.1 -1 443_",
        "PROXY  TCP4 192.0.2.1 10.0.0.1 1 443_",
        "PROXY TCP4 192.0.2.1 10.0.0.1 1 2\n",
        "PROXY TCP6 fe80::1%eth0 ::1 1 2_",
        "PROXY _",
        "proxy TCP4 192.0.2.1 10.0.0.1 56324 443_",
      })
  void malformedLineIsRefused(String line) {
    assertThatThrownBy(() -> read(v1(line), v1(line).length))
        .isInstanceOf(CorruptedFrameException.class);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "11 11 000c c0000201 0a000001 dc04 01bb",
        "22 11 000c c0000201 0a000001 dc04 01bb",
        "21 11 000b c0000201 0a000001 dc04 01",
        "21 21 000c c0000201 0a000001 dc04 01bb",
        "21 41 000c c0000201 0a000001 dc04 01bb",
        "21 11 ffff",
      })
  void malformedBinaryHeaderIsRefused(String hex) {
    assertThatThrownBy(() -> read(v2(hex), v2(hex).length))
        .isInstanceOf(CorruptedFrameException.class);
  }

  @Property
  void lineWithoutAnEndIsRefused(@ForAll byte[] more) {
    byte[] line = v1("PROXY UNKNOWN " + "x".repeat(120));
    assertThatThrownBy(() -> read(line, line.length)).isInstanceOf(CorruptedFrameException.class);
    byte[] any = java.util.Arrays.copyOf(more, 4200);
    any[0] = 'P';
    any[1] = 'R';
    assertThatThrownBy(() -> read(any, any.length)).isInstanceOf(CorruptedFrameException.class);
  }
}
