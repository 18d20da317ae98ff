import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * One kind of request that a client sends.
 *
 * @param name what reports call it
 * @param bytes the whole request as it goes over the wire
 * @param expected the status of a right answer
 * @param sendOnly of its bytes, so many; then the connection is reset. -1 sends all
 * @param readOnly of the answer, at least so many; then the connection is reset. -1 reads all. 0
 *     resets when the request has been sent
 */
record PacedRequest(String name, ByteBuffer bytes, int expected, int sendOnly, int readOnly) {
  /** Expected in place of a status: the server cuts the connection before the answer's end. */
  static final int CUT = -1;

  /** A GET that reads its whole answer. */
  static PacedRequest get(
      String name, String host, String path, int expected, String... headerLines) {
    StringBuilder head = new StringBuilder("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n");
    for (String line : headerLines) {
      head.append(line).append("\r\n");
    }
    return new PacedRequest(name, buffer(head.append("\r\n").toString()), expected, -1, -1);
  }

  /** A POST of so many bytes. */
  static PacedRequest post(String name, String host, String path, int length, int expected) {
    String head =
        "POST "
            + path
            + " HTTP/1.1\r\nHost: "
            + host
            + "\r\nContent-Length: "
            + length
            + "\r\n\r\n";
    return new PacedRequest(name, buffer(head + "x".repeat(length)), expected, -1, -1);
  }

  /** The same, but the client resets its connection in the middle of sending. */
  PacedRequest killedAfterSending(String killedName, int bytesSent) {
    return new PacedRequest(killedName, bytes, expected, bytesSent, -1);
  }

  /** The same, but the client resets its connection in the middle of reading. */
  PacedRequest killedAfterReading(String killedName, int bytesRead) {
    return new PacedRequest(killedName, bytes, expected, -1, bytesRead);
  }

  boolean isKilled() {
    return sendOnly >= 0 || readOnly >= 0;
  }

  private static ByteBuffer buffer(String text) {
    byte[] ascii = text.getBytes(StandardCharsets.US_ASCII);
    return ByteBuffer.allocateDirect(ascii.length).put(ascii).flip().asReadOnlyBuffer();
  }
}
