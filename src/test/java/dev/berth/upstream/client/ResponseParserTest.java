package dev.berth.upstream.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Headers;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.vertx.core.buffer.Buffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ResponseParserTest implements ResponseParser.ResponseSink {
  private static final String OK = "HTTP/1.1 200 OK\r\n";

  private final List<String> heads = new ArrayList<>();
  private Buffer body = Buffer.buffer();
  private int pieces;
  private ResponseParser parser = new ResponseParser(this);

  @Override
  public void onHead(int status, Headers headers) {
    StringBuilder text = new StringBuilder().append(status);
    headers.forEach((name, value) -> text.append(' ').append(name).append('=').append(value));
    heads.add(text.toString());
  }

  @Override
  public void onFields(int status, Headers fields) {
    onHead(status, fields);
  }

  @Override
  public void onPiece(Buffer piece) {
    pieces++;
    body.appendBuffer(piece);
  }

  private static ByteBuf bytes(String text) {
    return Unpooled.copiedBuffer(text, StandardCharsets.ISO_8859_1);
  }

  /** Parses a text in parts of a size. Returns the rest that belongs to no response. */
  private String parse(String text, int size, boolean headRequest) {
    heads.clear();
    body = Buffer.buffer();
    pieces = 0;
    parser = new ResponseParser(this);
    parser.begin(headRequest);
    StringBuilder rest = new StringBuilder();
    for (int at = 0; at < text.length(); at += size) {
      ByteBuf in = bytes(text.substring(at, Math.min(text.length(), at + size)));
      parser.parse(in);
      rest.append(in.toString(StandardCharsets.ISO_8859_1));
    }
    return rest.toString();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "content-length: 5\\r\\n\\r\\nhello|200 content-length=5|hello|true",
        "Content-Length: 5\\r\\ncontent-length:5\\r\\n\\r\\nhello|200 Content-Length=5 content-length=5|hello|true",
        "content-length: 0\\r\\n\\r\\n|200 content-length=0||true",
        "transfer-encoding: Chunked\\r\\n\\r\\n5\\r\\nhello\\r\\n0\\r\\n\\r\\n|200 transfer-encoding=Chunked|hello|true",
        "transfer-encoding: chunked\\r\\n\\r\\n2;a=b\\r\\nhe\\r\\n0003 \\r\\nllo\\r\\n0\\r\\nx: y\\r\\n\\r\\n|200 transfer-encoding=chunked;0 x=y|hello|true",
        "content-length: 5\\r\\nconnection: a, Close\\r\\n\\r\\nhello|200 content-length=5 connection=a, Close|hello|false",
        "a:  b c\\t\\r\\nd:\\r\\ncontent-length: 1\\r\\n\\r\\nx|200 a=b c d= content-length=1|x|true"
      })
  void framingEndsTheResponseInAnyParts(String text, String head, String expected, boolean reused) {
    String response =
        OK
            + text.replace("\\r", "\r").replace("\\n", "\n").replace("\\t", "\t")
            + "HTTP/1.1 200 NEXT";
    for (int size = 1; size <= response.length(); size++) {
      assertThat(parse(response, size, false)).isEqualTo("HTTP/1.1 200 NEXT");
      assertThat(String.join(";", heads)).isEqualTo(head);
      assertThat(body.toString()).isEqualTo(expected == null ? "" : expected);
      assertThat(parser.isDone()).isTrue();
      assertThat(parser.isReusable()).isEqualTo(reused);
    }
    assertThat(pieces).as("of one read").isLessThanOrEqualTo(1);
  }

  @Test
  void responsesWithoutBodyEndWithTheirHead() {
    assertThat(parse("HTTP/1.1 204 No\r\ncontent-length: 9\r\n\r\nx", 99, false)).isEqualTo("x");
    assertThat(parse("HTTP/1.1 304\r\n\r\nx", 99, false)).isEqualTo("x");
    assertThat(parse(OK + "content-length: 9\r\n\r\nx", 99, true)).isEqualTo("x");
    assertThat(parse(OK + "transfer-encoding: chunked\r\n\r\nx", 99, true)).isEqualTo("x");
    assertThat(parser.isReusable()).isTrue();
  }

  @Test
  void bodyWithoutLengthEndsWithTheConnection() {
    assertThat(parse(OK + "\r\nhello", 3, false)).isEmpty();
    assertThat(parser.isDone()).isFalse();
    assertThat(parser.endOfInput()).isTrue();
    assertThat(body.toString()).isEqualTo("hello");
    assertThat(parser.isDone()).isTrue();
    assertThat(parser.isReusable()).isFalse();
    for (String cut : new String[] {"", "HTTP", OK, OK + "content-length: 2\r\n\r\nx"}) {
      parse(cut, 99, false);
      assertThat(parser.endOfInput()).isFalse();
    }
  }

  @Test
  void informationalResponsesAreReportedExceptContinue() {
    String first = "HTTP/1.1 100 Continue\r\na: b\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\n";
    assertThat(parse(first + OK + "content-length: 1\r\n\r\nx", 7, false)).isEmpty();
    assertThat(heads).containsExactly("103 link=x", "200 content-length=1");
  }

  @Test
  void oldResponsesAreNotReused() {
    parse("HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx", 99, false);
    assertThat(parser.isDone()).isTrue();
    assertThat(parser.isReusable()).isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {"timeout=5|5", "max=2, Timeout=1|1", "max=2|2147483647", "timeout=x|0"})
  void keepAliveStatesItsTimeout(String value, int seconds) {
    parse(OK + "Keep-Alive: " + value + "\r\ncontent-length: 0\r\n\r\n", 99, false);
    assertThat(parser.keepAliveSeconds()).isEqualTo(seconds);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "garbage\r\n",
        "\r\n",
        "HTTP/2.0 200 OK\r\n",
        "HTTP/1.1 20 OK\r\n",
        "HTTP/1.1 2000 OK\r\n",
        "HTTP/1.1  200 OK\r\n",
        "HTTP/1.1 -20 OK\r\n",
        "HTTP/1.1 099 OK\r\n",
        "HTTP/1.1 200 OK\n",
        OK + "\n",
        OK + "name\r\n",
        OK + ": value\r\n",
        OK + "name : value\r\n",
        OK + " folded: value\r\n",
        OK + "a: b\r\n folded\r\n",
        OK + "a: b\u0000c\r\n",
        OK + "a: b\rc\r\n",
        OK + "a: b\u007fc\r\n",
        OK + "content-length: 5\r\ncontent-length: 6\r\n\r\n",
        OK + "content-length: 5, 5\r\n\r\n",
        OK + "content-length: +5\r\n\r\n",
        OK + "content-length: -5\r\n\r\n",
        OK + "content-length: \r\n\r\n",
        OK + "content-length: 9999999999999999999\r\n\r\n",
        OK + "content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
        OK + "transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n",
        OK + "transfer-encoding: gzip, chunked\r\n\r\n",
        OK + "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
        OK + "transfer-encoding: xchunked\r\n\r\n",
        "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n",
        OK + "transfer-encoding: chunked\r\n\r\n\r\n",
        OK + "transfer-encoding: chunked\r\n\r\nx\r\n",
        OK + "transfer-encoding: chunked\r\n\r\n-1\r\n",
        OK + "transfer-encoding: chunked\r\n\r\n5x\r\n",
        OK + "transfer-encoding: chunked\r\n\r\n5\nhello\r\n",
        OK + "transfer-encoding: chunked\r\n\r\n1000000000000000\r\n",
        OK + "transfer-encoding: chunked\r\n\r\n5\r\nhello!\r\n",
        OK + "transfer-encoding: chunked\r\n\r\n0\r\nbad trailer\r\n"
      })
  void malformedResponsesAreRefusedInAnyParts(String text) {
    for (int size : new int[] {1, 2, 3, text.length()}) {
      assertThatThrownBy(() -> parse(text, size, false)).isInstanceOf(MalformedResponse.class);
    }
  }

  @Test
  void headOver64KibIsRefused() {
    String field = "x-filler: " + "a".repeat(1_012) + "\r\n"; // 1 024 bytes
    String most = OK + field.repeat(63);
    String last = "y: " + "b".repeat(64 * 1024 - most.length() - 7) + "\r\n\r\n";
    parse(most + last, 5_000, false);
    assertThat(heads).hasSize(1);
    assertRefused(most + "z" + last);
    assertRefused("a".repeat(65 * 1024));
    assertRefused("HTTP/1.1 100 Continue\r\n\r\n".repeat(3_000));
    String chunked = OK + "transfer-encoding: chunked\r\n\r\n";
    assertRefused(chunked + "1;" + "x".repeat(1_024) + "\r\n");
    assertRefused(chunked + "0\r\n" + field.repeat(65));
  }

  private void assertRefused(String text) {
    assertThatThrownBy(() -> parse(text, 1_000, false))
        .isInstanceOf(MalformedResponse.class)
        .hasMessageMatching("head: over 64 KiB|chunk: line too long");
  }

  @Test
  void longBodyHasNoLimitOfItsHead() {
    String chunk = "400\r\n" + "x".repeat(1_024) + "\r\n";
    parse(OK + "transfer-encoding: chunked\r\n\r\n" + chunk.repeat(200) + "0\r\n\r\n", 999, false);
    assertThat(body.length()).isEqualTo(200 * 1_024);
    assertThat(parser.isDone()).isTrue();
  }
}
