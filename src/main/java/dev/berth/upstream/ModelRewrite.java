package dev.berth.upstream;

import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.protocol.port.ModelHeader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Replaces the name of the model in the body of one request, whole or in parts. Copies no large
 * part and changes none, since the request may be sent again. Confined to the replica's loop.
 */
final class ModelRewrite {
  /** Maximum size of a copied body in bytes. A larger one is sent in parts. */
  private static final int MAX_COPIED_BYTES = 64 << 10;

  private final int start;
  private final int end;
  private final byte[] name;
  private long position; // in the client's body

  private ModelRewrite(int start, int end, String name) {
    this.start = start;
    this.end = end;
    this.name = name.getBytes(StandardCharsets.US_ASCII);
  }

  /**
   * Returns the change of a request's body; null for none.
   *
   * @param headers of the request, as the ingress sent it
   * @param bodyLength of the body; negative if unknown
   */
  static @Nullable ModelRewrite of(
      Headers headers, DeploymentId deployment, UpstreamSettings settings, long bodyLength) {
    ModelHeader place =
        settings.isOpenAi() ? ModelHeader.read(headers.get(ModelHeader.HEADER), deployment) : null;
    String name = place == null || settings.model() != null ? settings.model() : place.name();
    return place == null || name == null || (bodyLength >= 0 && place.end() >= bodyLength)
        ? null
        : new ModelRewrite(place.start(), place.end(), name);
  }

  /** Returns the length of the upstream's body, less that of the client's. */
  int growth() {
    return name.length - (end - start);
  }

  /** Returns whether the next part of the body has quotes around the name, as far as it does. */
  boolean fits(Buffer part) {
    return isQuote(part, start - 1 - position) && isQuote(part, end - position);
  }

  private static boolean isQuote(Buffer part, long at) {
    return at < 0 || at >= part.length() || part.getByte((int) at) == '"';
  }

  /** Returns the next part of the body for the upstream. */
  Buffer pass(Buffer part) {
    long from = position;
    int length = part.length();
    position += length;
    if (position <= start || from >= end) {
      return part;
    }
    ByteBuf bytes = ((BufferInternal) part).getByteBuf();
    int first = bytes.readerIndex();
    int before = (int) Math.max(0, start - from);
    int after = (int) Math.min(length, end - from);
    if (length <= MAX_COPIED_BYTES && from <= start) {
      return Buffer.buffer(length + name.length)
          .appendBuffer(part, 0, before)
          .appendBytes(name)
          .appendBuffer(part, after, length - after);
    }
    return BufferInternal.buffer(
        Unpooled.wrappedBuffer(
            bytes.slice(first, before),
            from <= start ? Unpooled.wrappedBuffer(name) : Unpooled.EMPTY_BUFFER,
            bytes.slice(first + after, length - after)));
  }
}
