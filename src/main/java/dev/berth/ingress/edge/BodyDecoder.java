package dev.berth.ingress.edge;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * Incremental decoder of one body (RFC 1950, RFC 1952 with several members).
 *
 * <pre>
 *   HEAD --read--> DATA --end--> TAIL --gzip: sums match--> HEAD
 * </pre>
 *
 * Confined to one thread at a time.
 */
final class BodyDecoder {
  /** Maximum bytes of one result. */
  private static final int CHUNK_BYTES = 32 << 10;

  /** Bytes that any body may decode to. Above them, the ratio counts. */
  private static final long FREE_BYTES = 1 << 20;

  /** Maximum decoded bytes per encoded byte. */
  private static final int MAX_RATIO = 200;

  private static final int FIXED_HEAD_BYTES = 10;
  private static final int MAX_HEAD_BYTES = 4096;
  private static final int SUMS_BYTES = 8;

  /** Maximum members without a decoded byte in between. */
  private static final int MAX_EMPTY_MEMBERS = 100;

  /** Effort of a member in bytes, for its state and its sums. */
  private static final int MEMBER_EFFORT = 4096;

  private enum DecoderState {
    HEAD,
    DATA,
    TAIL
  }

  private final boolean gzip;
  private final Inflater inflater;
  private final CRC32 sum = new CRC32();
  private final byte[] chunk = new byte[CHUNK_BYTES];
  private DecoderState state = DecoderState.HEAD;
  private Buffer in = Buffer.buffer(); // not yet given to the inflater
  private Buffer given = in;
  private long encoded;
  private long decoded;
  private long members;
  private int emptyMembers; // since the last decoded byte

  BodyDecoder(ContentCoding coding) {
    gzip = coding == ContentCoding.GZIP;
    inflater = new Inflater(gzip);
  }

  void add(Buffer piece) {
    encoded += piece.length();
    in = in.length() == 0 ? piece : Buffer.buffer().appendBuffer(in).appendBuffer(piece);
  }

  /** Returns whether the bytes so far are a complete body. */
  boolean isComplete() {
    return in.length() == 0
        && (encoded == 0 || state == (gzip ? DecoderState.HEAD : DecoderState.TAIL));
  }

  /** Returns whether a body decodes to more bytes than any sender of good intent needs. */
  boolean isBomb() {
    return decoded > FREE_BYTES && decoded / MAX_RATIO > encoded;
  }

  /** Returns the bytes read and written so far, with a surcharge for each member. */
  long effort() {
    return encoded - in.length() + decoded + members * MEMBER_EFFORT;
  }

  /**
   * Returns the next decoded bytes; empty if more bytes must arrive first.
   *
   * @throws DataFormatException if the body is malformed
   */
  Buffer next() throws DataFormatException {
    while (true) {
      int length = 0;
      switch (state) {
        case HEAD -> {
          int head = gzip ? headLength() : 0;
          if (head < 0) {
            return Buffer.buffer();
          }
          in = in.slice(head, in.length());
          state = DecoderState.DATA;
        }
        case DATA -> {
          if (inflater.needsInput()) {
            if (in.length() == 0) {
              return in;
            }
            given = in;
            in = Buffer.buffer();
            inflater.setInput(((BufferInternal) given).getByteBuf().nioBuffer());
          }
          length = inflater.inflate(chunk);
          decoded += length;
          sum.update(chunk, 0, length);
          require(!inflater.needsDictionary());
          if (inflater.finished()) {
            Buffer later = in;
            in = given.slice(given.length() - inflater.getRemaining(), given.length());
            if (later.length() > 0) {
              in = Buffer.buffer().appendBuffer(in).appendBuffer(later);
            }
            state = DecoderState.TAIL;
          }
        }
        default -> {
          require(gzip || in.length() == 0);
          if (!gzip || in.length() < SUMS_BYTES) {
            return Buffer.buffer();
          }
          require(in.getIntLE(0) == (int) sum.getValue());
          require(in.getIntLE(4) == (int) inflater.getBytesWritten());
          in = in.slice(SUMS_BYTES, in.length());
          inflater.reset();
          sum.reset();
          state = DecoderState.HEAD;
          members++;
          require(++emptyMembers <= MAX_EMPTY_MEMBERS);
        }
      }
      if (length > 0) {
        emptyMembers = 0;
        return Buffer.buffer(length).appendBytes(chunk, 0, length);
      }
    }
  }

  /** Returns the length of the header of a member; negative if it is incomplete. */
  private int headLength() throws DataFormatException {
    try {
      int flags = in.getByte(3);
      require(in.getUnsignedShort(0) == 0x1f8b && in.getByte(2) == 8 && (flags & 0xe0) == 0);
      int end = FIXED_HEAD_BYTES;
      if ((flags & 4) != 0) {
        end += 2 + in.getUnsignedShortLE(end);
      }
      for (int texts = Integer.bitCount(flags & 0x18); texts > 0; texts--) {
        while (in.getByte(end++) != 0) {
          continue;
        }
      }
      end += flags & 2; // the length of a check sum, and its flag
      in.getByte(end - 1);
      return end;
    } catch (IndexOutOfBoundsException incomplete) {
      require(in.length() < MAX_HEAD_BYTES);
      return -1;
    }
  }

  private static void require(boolean valid) throws DataFormatException {
    if (!valid) {
      throw new DataFormatException();
    }
  }

  void close() {
    inflater.end();
  }
}
