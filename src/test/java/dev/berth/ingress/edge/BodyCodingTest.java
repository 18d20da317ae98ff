package dev.berth.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import io.vertx.core.buffer.Buffer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.zip.DataFormatException;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.InflaterInputStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Bodies that the ingress compresses and decodes, against the streams of the JDK. */
class BodyCodingTest {

  static byte[] gzip(byte[] body) throws IOException {
    ByteArrayOutputStream to = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(to)) {
      out.write(body);
    }
    return to.toByteArray();
  }

  private static byte[] deflated(byte[] body) throws IOException {
    ByteArrayOutputStream to = new ByteArrayOutputStream();
    try (DeflaterOutputStream out = new DeflaterOutputStream(to)) {
      out.write(body);
    }
    return to.toByteArray();
  }

  /** Decodes in pieces of so many bytes. */
  private static byte[] decoded(ContentCoding coding, byte[] body, int piece)
      throws DataFormatException {
    BodyDecoder decoder = new BodyDecoder(coding);
    Buffer all = Buffer.buffer();
    for (int at = 0; at < body.length; at += piece) {
      decoder.add(Buffer.buffer(Arrays.copyOfRange(body, at, Math.min(body.length, at + piece))));
      for (Buffer next = decoder.next(); next.length() > 0; next = decoder.next()) {
        all.appendBuffer(next);
      }
    }
    if (!decoder.isComplete()) {
      throw new DataFormatException("incomplete");
    }
    return all.getBytes();
  }

  private static byte[] plain(ContentCoding coding, byte[] body) throws IOException {
    ByteArrayInputStream in = new ByteArrayInputStream(body);
    return coding == ContentCoding.GZIP
        ? new GZIPInputStream(in).readAllBytes()
        : new InflaterInputStream(in).readAllBytes();
  }

  @Property(tries = 200)
  void eachPieceOfAStreamDecodesAtOnce(
      @ForAll @Size(max = 12) List<byte[]> pieces, @ForAll ContentCoding coding) throws Exception {
    BodyCompressor compressor = new BodyCompressor(coding, 4);
    BodyDecoder reader = new BodyDecoder(coding);
    Buffer sent = Buffer.buffer();
    Buffer compressed = Buffer.buffer();
    Buffer read = Buffer.buffer();
    for (byte[] each : pieces) {
      sent.appendBytes(each);
      Buffer next = compressor.next(Buffer.buffer(each), false);
      compressed.appendBuffer(next);
      reader.add(next);
      for (Buffer part = reader.next(); part.length() > 0; part = reader.next()) {
        read.appendBuffer(part);
      }
      assertThat(read).isEqualTo(sent);
    }
    compressed.appendBuffer(compressor.next(Buffer.buffer(), true));
    compressor.close();
    assertThat(plain(coding, compressed.getBytes())).isEqualTo(sent.getBytes());
  }

  @ParameterizedTest
  @EnumSource
  void largePiecesAreCompressed(ContentCoding coding) throws Exception {
    byte[] text = "a line of a text, and another\n".repeat(40_000).getBytes();
    Buffer whole = new BodyCompressor(coding, 9).whole(Buffer.buffer(text));
    assertThat(whole.length()).isLessThan(text.length / 50);
    assertThat(plain(coding, whole.getBytes())).isEqualTo(text);
    byte[] noise = new byte[300_000];
    new java.util.Random(7).nextBytes(noise);
    BodyCompressor stream = new BodyCompressor(coding, 1);
    Buffer all =
        stream.next(Buffer.buffer(noise), false).appendBuffer(stream.whole(Buffer.buffer()));
    assertThat(all.length()).isLessThan(noise.length + 1000);
    assertThat(plain(coding, all.getBytes())).isEqualTo(noise);
  }

  @Property(tries = 200)
  void bodiesDecodeInPiecesOfAnySize(
      @ForAll byte[] body, @ForAll @IntRange(min = 1, max = 40) int piece) throws Exception {
    assertThat(decoded(ContentCoding.GZIP, gzip(body), piece)).isEqualTo(body);
    assertThat(decoded(ContentCoding.DEFLATE, deflated(body), piece)).isEqualTo(body);
    Buffer members = Buffer.buffer(gzip(body)).appendBytes(gzip(body));
    assertThat(decoded(ContentCoding.GZIP, members.getBytes(), piece))
        .isEqualTo(Buffer.buffer(body).appendBytes(body).getBytes());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 1000})
  void headWithAllFieldsIsSkipped(int piece) throws Exception {
    byte[] plain = gzip("hello".getBytes());
    Buffer full =
        Buffer.buffer(Arrays.copyOf(plain, 10))
            .setByte(3, (byte) 0x1f)
            .appendBytes(new byte[] {3, 0, 'x', 'y', 'z'})
            .appendString("name\0comment\0")
            .appendBytes(new byte[] {1, 2})
            .appendBytes(plain, 10, plain.length - 10);
    assertThat(decoded(ContentCoding.GZIP, full.getBytes(), piece)).isEqualTo("hello".getBytes());
  }

  @Test
  void malformedBodiesAreRefused() throws Exception {
    byte[] body = gzip("hello hello hello".getBytes());
    byte[] sum = body.clone();
    sum[sum.length - 8]++;
    byte[] length = body.clone();
    length[length.length - 1]++;
    byte[] magic = body.clone();
    magic[1]++;
    byte[] flags = body.clone();
    flags[3] = (byte) 0x80;
    byte[] data = body.clone();
    data[10] = 7;
    byte[] more = Arrays.copyOf(body, body.length + 12);
    byte[] name = Arrays.copyOf(body, 5000);
    name[3] = 8;
    Arrays.fill(name, 10, 5000, (byte) 'n');
    for (byte[] each : List.of(sum, length, magic, flags, data, more, name)) {
      assertThatThrownBy(() -> decoded(ContentCoding.GZIP, each, 3))
          .isInstanceOf(DataFormatException.class);
    }
    for (int cut = 1; cut < body.length; cut++) {
      byte[] part = Arrays.copyOf(body, cut);
      assertThatThrownBy(() -> decoded(ContentCoding.GZIP, part, 100))
          .isInstanceOf(DataFormatException.class);
    }
    byte[] zlib = Arrays.copyOf(deflated("hello".getBytes()), 40);
    assertThatThrownBy(() -> decoded(ContentCoding.DEFLATE, zlib, 100))
        .isInstanceOf(DataFormatException.class);
  }

  private static byte[] repeated(byte[] part, int times) {
    Buffer all = Buffer.buffer();
    for (int i = 0; i < times; i++) {
      all.appendBytes(part);
    }
    return all.getBytes();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 1 << 20})
  void manyEmptyMembersAreRefused(int piece) throws Exception {
    byte[] some = repeated(gzip(new byte[0]), 100);
    assertThat(decoded(ContentCoding.GZIP, some, piece)).isEmpty();
    byte[] mixed = Buffer.buffer(gzip("a".getBytes())).appendBytes(some, 0, 99 * 20).getBytes();
    assertThat(decoded(ContentCoding.GZIP, repeated(mixed, 3), piece)).isEqualTo("aaa".getBytes());
    byte[] many = repeated(gzip(new byte[0]), 101);
    assertThatThrownBy(() -> decoded(ContentCoding.GZIP, many, piece))
        .isInstanceOf(DataFormatException.class);
  }

  @Test
  void effortCountsMembersAndBytes() throws Exception {
    byte[] small = gzip("x".getBytes());
    BodyDecoder decoder = new BodyDecoder(ContentCoding.GZIP);
    decoder.add(Buffer.buffer(repeated(small, 1000)));
    assertThat(decoder.effort()).isZero();
    int results = 0;
    while (decoder.effort() < 1 << 20) {
      assertThat(decoder.next().length()).isOne();
      results++;
    }
    assertThat(results).isBetween(100, 300);
  }

  @Test
  void piecesOfManyMembersDecodeInAShortTime() {
    assertTimeout(
        Duration.ofSeconds(20),
        () -> {
          byte[] body = repeated(gzip("x".getBytes()), 100_000);
          assertThat(decoded(ContentCoding.GZIP, body, body.length)).hasSize(100_000);
        });
  }

  @Property
  void noiseIsDecodedOrRefused(@ForAll byte[] noise, @ForAll ContentCoding coding) {
    try {
      decoded(coding, noise, 5);
    } catch (DataFormatException refused) {
      assertThat(noise).isNotEmpty();
    }
  }

  @Test
  void bombIsDetectedByItsRatio() throws Exception {
    BodyDecoder decoder = new BodyDecoder(ContentCoding.GZIP);
    decoder.add(Buffer.buffer(gzip(new byte[64 << 20])));
    int decoded = 0;
    while (!decoder.isBomb()) {
      decoded += decoder.next().length();
    }
    assertThat(decoded).isBetween(1 << 20, 16 << 20);
  }
}
