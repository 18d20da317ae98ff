package dev.berth.protocol.wire;

import dev.berth.protocol.BusMessage;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.MessageCodec;

/**
 * Passes messages over the Vert.x event bus: by identity inside an instance, since they are
 * immutable, and by {@link WireCodec} between instances. Registered on every instance under one
 * name.
 */
public final class BusMessageCodec implements MessageCodec<BusMessage, BusMessage> {
  /** Codec name for delivery options. */
  public static final String NAME = "berth";

  @Override
  public void encodeToWire(Buffer buffer, BusMessage message) {
    WireCodec.encode(message, buffer);
  }

  @Override
  public BusMessage decodeFromWire(int position, Buffer buffer) {
    return WireCodec.decode(position, buffer);
  }

  @Override
  public BusMessage transform(BusMessage message) {
    return message;
  }

  @Override
  public String name() {
    return NAME;
  }

  /** Returns -1, which Vert.x requires of user codecs. */
  @Override
  public byte systemCodecID() {
    return -1;
  }
}
