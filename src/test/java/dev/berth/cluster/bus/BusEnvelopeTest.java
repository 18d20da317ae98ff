package dev.berth.cluster.bus;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cluster.data.FakeNode;
import dev.berth.cluster.data.LocalRegistration;
import dev.berth.cluster.membership.Member;
import io.vertx.core.buffer.Buffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BusEnvelopeTest {
  private static final LocalRegistration SENDER = new LocalRegistration("cluster-1", 1);
  private static final long SECRET = 0x1234_5678_9abc_def0L;
  private static final Member FROM = FakeNode.member("n1~1", 0, 1);

  private static Buffer written() {
    return BusEnvelope.header("n1~1", SENDER, 2, SECRET)
        .appendLong(99)
        .appendBuffer(Buffer.buffer("frame"));
  }

  @Test
  void envelopeIsReadAsItWasWritten() {
    BusEnvelope read = BusEnvelope.read(written());
    assertThat(read)
        .isEqualTo(new BusEnvelope("cluster-1", "n1~1", 1, 2, SECRET, 99, Buffer.buffer("frame")));
    assertThat(read).hasToString("BusEnvelope[n1~1 1 to 2]");
  }

  @Test
  void anyOtherBytesAreNoEnvelope() {
    Buffer whole = written();
    int withoutFrame = whole.length() - "frame".length();
    for (int length = 0; length <= withoutFrame; length++) {
      assertThat(BusEnvelope.read(whole.getBuffer(0, length))).as("%d bytes", length).isNull();
    }
    assertThat(BusEnvelope.read(whole.copy().setByte(0, (byte) 2))).isNull();
    assertThat(BusEnvelope.read(whole.copy().setUnsignedShort(1, 65_535))).isNull();
  }

  @ParameterizedTest
  @CsvSource({
    "cluster-1, 2, 0, n1~1, 1, true",
    "cluster-2, 2, 0, n1~1, 1, false",
    "cluster-1, 3, 0, n1~1, 1, false",
    "cluster-1, 2, 1, n1~1, 1, false",
    "cluster-1, 2, -9223372036854775808, n1~1, 1, false",
    "cluster-1, 2, 0, n3~1, 1, false",
    "cluster-1, 2, 0, n1~1, 9, false"
  })
  void onlyTheExpectedProcessesFit(
      String cluster, long receiver, long otherBits, String sender, long number, boolean fits) {
    long secret = SECRET ^ otherBits;
    assertThat(
            BusEnvelope.read(written())
                .fits(
                    new LocalRegistration(cluster, receiver),
                    secret,
                    FakeNode.member(sender, 0, number)))
        .isEqualTo(fits);
  }

  @Test
  void nothingFitsBeforeTheRegistrationOrFromAnUnknownProcess() {
    BusEnvelope read = BusEnvelope.read(written());
    long secret = SECRET;
    assertThat(read.fits(null, secret, FROM)).isFalse();
    assertThat(read.fits(new LocalRegistration("cluster-1", 2), secret, null)).isFalse();
  }
}
