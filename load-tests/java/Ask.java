import java.net.URI;
import java.nio.charset.StandardCharsets;

/**
 * What a row asks for.
 *
 * @param header lines such as {@code X-Berth-Explain: 1}, with CRLF between them, or nothing
 * @param body sent by POST; without one it is a GET
 * @param status that the answer must have
 */
record Ask(String path, String header, String body, int status) {
  static Ask get(String path) {
    return new Ask(path, "", "", 200);
  }

  static Ask post(String path, String body) {
    return new Ask(path, "", body, 200);
  }

  Ask with(String line) {
    return new Ask(path, line, body, status);
  }

  Ask expecting(int other) {
    return new Ask(path, header, body, other);
  }

  /** As it is sent over HTTP/1.1. */
  byte[] bytes(URI uri) {
    StringBuilder text = new StringBuilder(body.isEmpty() ? "GET " : "POST ");
    text.append(path).append(" HTTP/1.1\r\nHost: ").append(uri.getAuthority()).append("\r\n");
    if (!header.isEmpty()) {
      text.append(header).append("\r\n");
    }
    if (!body.isEmpty()) {
      text.append("Content-Length: ").append(body.length()).append("\r\n");
    }
    return text.append("\r\n").append(body).toString().getBytes(StandardCharsets.US_ASCII);
  }
}
