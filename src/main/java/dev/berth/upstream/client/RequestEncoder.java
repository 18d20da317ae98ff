package dev.berth.upstream.client;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Encoder of requests to one authority. Builds each head from validated parts, in one array that
 * all requests of a client share. Confined to the event loop.
 */
final class RequestEncoder implements BiConsumer<String, String> {
  private static final byte[] CONTENT_LENGTH = bytes("content-length: ");
  private static final byte[] CHUNKED = bytes("transfer-encoding: chunked\r\n");
  private static final byte[] LAST_CHUNK = bytes("0\r\n\r\n");
  private static final byte[] SPACE = {' '};
  private static final byte[] COLON = {':', ' '};
  private static final byte[] CRLF = {'\r', '\n'};
  static final boolean[] VISIBLE = new boolean[256]; // of a target
  static final boolean[] TEXT = new boolean[256]; // of a field value

  static {
    Arrays.fill(VISIBLE, '!', '~' + 1, true);
    Arrays.fill(TEXT, ' ', 256, true);
    TEXT['\t'] = true;
    TEXT[0x7F] = false;
  }

  private final byte[] afterTarget;
  private byte[] head = new byte[1024];
  private int length;

  /**
   * @param authority value of the {@code host} field
   */
  RequestEncoder(String authority) {
    this.afterTarget = bytes(" HTTP/1.1\r\nhost: " + authority + "\r\n");
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  /**
   * Encodes a head, and the body if it is whole.
   *
   * @return the caller releases it
   * @throws IllegalArgumentException if a part has an illegal character
   */
  ByteBuf request(ByteBufAllocator memory, UpstreamRequest request, @Nullable Buffer whole) {
    length = 0;
    String method = request.method();
    String target = request.pathAndQuery();
    add(method, MessageFields.TOKEN, "method");
    add(SPACE);
    add(target, VISIBLE, "target");
    checkOrigin(method, target);
    add(afterTarget);
    request.headers().forEach(this);
    long body = whole == null ? request.bodyLength() : whole.length();
    if (body > 0 || (body == 0 && expectsBody(method))) {
      add(CONTENT_LENGTH);
      add(bytes(Long.toString(body)));
      add(CRLF);
    } else if (body < 0) {
      add(CHUNKED);
    }
    add(CRLF);
    ByteBuf out = memory.directBuffer(length + (whole == null ? 0 : whole.length()));
    out.writeBytes(head, 0, length);
    return whole == null ? out : append(out, whole);
  }

  static void checkOrigin(String method, String target) {
    boolean origin = target.startsWith("/") || (target.equals("*") && method.equals("OPTIONS"));
    if (!origin || method.isEmpty() || method.equals("CONNECT")) {
      throw new IllegalArgumentException("request line: malformed (expected: origin-form)");
    }
  }

  /** Returns whether a request without a body states its length, 0 (RFC 9110, 8.6). */
  static boolean expectsBody(String method) {
    return method.equals("POST") || method.equals("PUT") || method.equals("PATCH");
  }

  /** Adds a field, unless it is one of the client's own. */
  @Override
  public void accept(String name, String value) {
    if (isOwn(name)) {
      return;
    }
    if (name.isEmpty()) {
      throw new IllegalArgumentException("field name: empty (expected: a token)");
    }
    add(name, MessageFields.TOKEN, "field name");
    add(COLON);
    add(value, TEXT, "field value");
    add(CRLF);
  }

  static boolean isOwn(String name) {
    return switch (name.length()) {
      case 4 -> name.equalsIgnoreCase("host");
      case 10 -> name.equalsIgnoreCase("connection");
      case 14 -> name.equalsIgnoreCase("content-length");
      case 17 -> name.equalsIgnoreCase("transfer-encoding");
      default -> false;
    };
  }

  private void add(String text, boolean[] legal, String part) {
    int chars = text.length();
    ensure(chars);
    for (int i = 0; i < chars; i++) {
      char each = text.charAt(i);
      if (each > 255 || !legal[each]) { // the text may be a secret
        throw new IllegalArgumentException(
            "%s: character 0x%02x (expected: none)".formatted(part, (int) each));
      }
      head[length++] = (byte) each;
    }
  }

  private void add(byte[] bytes) {
    ensure(bytes.length);
    System.arraycopy(bytes, 0, head, length, bytes.length);
    length += bytes.length;
  }

  private void ensure(int more) {
    if (length + more > head.length) {
      head = Arrays.copyOf(head, Math.max(length + more, 2 * head.length));
    }
  }

  // --- streamed bodies ---

  /** Encodes a part of a body; the caller releases it. */
  static ByteBuf piece(ByteBufAllocator memory, Buffer piece, boolean chunked) {
    int bytes = piece.length();
    ByteBuf out = memory.directBuffer(bytes + 16);
    if (chunked) {
      out.writeCharSequence(Integer.toHexString(bytes), StandardCharsets.US_ASCII);
      out.writeBytes(CRLF);
    }
    append(out, piece);
    if (chunked) {
      out.writeBytes(CRLF);
    }
    return out;
  }

  /**
   * Copies a body that may have several parts. Netty's {@code writeBytes} would join them first.
   */
  private static ByteBuf append(ByteBuf out, Buffer body) {
    ByteBuf bytes = ((BufferInternal) body).getByteBuf();
    bytes.getBytes(bytes.readerIndex(), out, body.length());
    return out;
  }

  static ByteBuf lastChunk(ByteBufAllocator memory) {
    return memory.directBuffer(LAST_CHUNK.length).writeBytes(LAST_CHUNK);
  }
}
