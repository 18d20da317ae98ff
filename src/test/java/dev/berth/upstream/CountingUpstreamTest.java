package dev.berth.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.CountingUpstream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The fixture counts truthfully, or no test above it proves a limit. */
@Timeout(30)
class CountingUpstreamTest {
  @AutoClose private final CountingUpstream upstream = new CountingUpstream();

  CountingUpstreamTest() throws IOException {}

  private Socket send(String target) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), upstream.port());
    socket
        .getOutputStream()
        .write(
            ("GET " + target + " HTTP/1.1\r\nhost: u\r\nx-request-id: " + target + "\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  private static String read(InputStream in, String end) throws IOException {
    StringBuilder text = new StringBuilder();
    while (text.indexOf(end) < 0) {
      int next = in.read();
      if (next < 0) {
        return text + "<closed>";
      }
      text.append((char) next);
    }
    return text.toString();
  }

  private void awaitOngoing(int number) {
    while (upstream.ongoing() != number) {
      Thread.onSpinWait();
    }
  }

  @Test
  void exchangeIsCountedUntilItsLastByte() throws Exception {
    try (Socket one = send("/?wait=60000");
        Socket two = send("/?events=3")) {
      assertThat(read(two.getInputStream(), "0\r\n\r\n")).contains("data: ", " 2\n\n");
      awaitOngoing(1);
      assertThat(upstream.highest()).isBetween(1, 2);
      one.shutdownOutput();
      assertThat(read(one.getInputStream(), "?")).isEqualTo("<closed>");
      assertThat(upstream.ongoing()).isZero(); // before the close
      assertThat(upstream.cancelled()).containsOnlyKeys("/?wait=60000");
    }
  }

  @Test
  void exchangeThatRunsOnIsCountedAfterItsClientLeft() throws Exception {
    try (Socket one = send("/?events=100&every=5&on")) {
      assertThat(read(one.getInputStream(), "data")).startsWith("HTTP/1.1 200 ");
      one.setSoLinger(true, 0);
    }
    assertThat(upstream.ongoing()).isEqualTo(1);
    awaitOngoing(0);
    assertThat(upstream.cancelled()).isEmpty();
  }

  @Test
  void stoppedUpstreamRefusesUntilItsRestart() throws Exception {
    int port = upstream.port();
    upstream.stop();
    assertThat(isRefused(port)).isTrue();
    upstream.restart();
    assertThat(upstream.port()).isEqualTo(port);
    assertThat(isRefused(port)).isFalse();
  }

  private static boolean isRefused(int port) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return !socket.isConnected();
    } catch (IOException refused) {
      return true;
    }
  }

  private static Socket post(CountingUpstream upstream, String path, String body)
      throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), upstream.port());
    String head = "POST " + path + " HTTP/1.1\r\nhost: u\r\ncontent-length: ";
    socket
        .getOutputStream()
        .write((head + body.length() + "\r\n\r\n" + body).getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  private static final String STREAM =
      "{\"model\": \"m\", \"stream\": true, \"stream_options\": {\"include_usage\": true}}";

  @Test
  void modelAnswersTheFormThatTheRequestNames() throws Exception {
    upstream.behave("llm&tokens=2");
    try (Socket chat = post(upstream, "/v1/chat/completions", STREAM);
        Socket messages = post(upstream, "/v1/messages", STREAM);
        Socket whole = post(upstream, "/v1/responses", "{\"model\": \"m\"}")) {
      assertThat(read(chat.getInputStream(), "0\r\n\r\n"))
          .containsSubsequence(
              "t0", "t1", "\"choices\":[],\"usage\":{\"prompt_tokens\":7", "[DONE]");
      assertThat(read(messages.getInputStream(), "0\r\n\r\n"))
          .containsSubsequence("event: message_start", "t0", "t1", "\"output_tokens\":2", "stop");
      assertThat(read(whole.getInputStream(), "]}]}"))
          .contains("application/json", "\"output_tokens\":2");
    }
    assertThat(upstream.completed()).isEqualTo(3);
  }

  @Test
  void modelEndsAtAndWithinAnEvent() throws Exception {
    upstream.behave("llm&tokens=5&after=2&every=1");
    try (Socket chat = post(upstream, "/v1/chat/completions", STREAM)) {
      assertThat(read(chat.getInputStream(), "?"))
          .contains("t1")
          .doesNotContain("t2")
          .endsWith("\n\n\r\n<closed>");
    }
    upstream.behave("llm&tokens=5&after=2&half&split=3");
    try (Socket chat = post(upstream, "/v1/chat/completions", STREAM)) {
      assertThat(read(chat.getInputStream(), "?")).contains("\r\n3\r\ndat").endsWith("<closed>");
    }
    assertThat(upstream.completed()).isZero();
  }
}
