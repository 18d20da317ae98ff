package dev.berth.cluster.bus;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.MessageCodec;

/**
 * Passes encoded messages of Berth over the event bus. The sender encodes a message before the
 * send, since Vert.x neither reports nor survives a codec that fails.
 */
public final class BusFrameCodec
    implements MessageCodec<BusFrameCodec.BusFrame, BusFrameCodec.BusFrame> {
  /** Codec name for delivery options. */
  public static final String NAME = "berth-frame";

  static final DeliveryOptions OPTIONS = new DeliveryOptions().setCodecName(NAME);

  /**
   * An encoded message of Berth.
   *
   * @param bytes a {@link BusEnvelope}
   */
  public record BusFrame(Buffer bytes) {}

  @Override
  public void encodeToWire(Buffer buffer, BusFrame frame) {
    buffer.appendBuffer(frame.bytes);
  }

  /** Returns the rest of the buffer without a copy, because the body is its last part. */
  @Override
  public BusFrame decodeFromWire(int position, Buffer buffer) {
    return new BusFrame(buffer.slice(position, buffer.length()));
  }

  @Override
  public BusFrame transform(BusFrame frame) {
    return frame;
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
