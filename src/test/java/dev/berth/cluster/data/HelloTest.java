package dev.berth.cluster.data;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cluster.membership.Member;
import io.vertx.core.json.JsonObject;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HelloTest {
  private static final LocalRegistration SENDER = new LocalRegistration("cluster-1", 1);
  private static final LocalRegistration RECEIVER = new LocalRegistration("cluster-1", 2);
  private static final Member KNOWN = FakeNode.member("n1~1", 1, 1);

  private final DataLinkHello hello =
      DataLinkHello.of("n1~1", SENDER, 3, FakeNode.member("n2~1", 2, 2));

  private static @Nullable String refusal(
      JsonObject fields, @Nullable LocalRegistration own, @Nullable Member known) {
    return DataLinkHello.read(fields.toBuffer()).refusal("n2~1", own, known);
  }

  @Test
  void whatIsAsTheReceiverHasItIsTaken() {
    assertThat(refusal(hello.fields(), RECEIVER, KNOWN)).isNull();
    assertThat(DataLinkHello.read(hello.fields().toBuffer()).loop()).isEqualTo(3);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "version",
        "version of messages",
        "cluster id",
        "receiver",
        "receiver's registration",
        "sender's registration"
      })
  void whatIsNotIsNamedAndSoIsWhatIsMissing(String field) {
    Object right = hello.fields().getValue(field);
    Object wrong = right instanceof Number number ? number.longValue() + 1 : "another";
    assertThat(refusal(hello.fields().copy().put(field, wrong), RECEIVER, KNOWN))
        .isEqualTo(field + ": " + wrong + " (expected: " + right + ")");
    JsonObject without = hello.fields().copy();
    without.remove(field);
    assertThat(refusal(without, RECEIVER, KNOWN))
        .isEqualTo(field + ": null (expected: " + right + ")");
  }

  @Test
  void whatALaterVersionSaysBesideIsPassedOver() {
    assertThat(refusal(hello.fields().copy().put("weather", "fine"), RECEIVER, KNOWN)).isNull();
  }

  @Test
  void whoIsNoNodeTakesNobody() {
    assertThat(refusal(hello.fields(), null, KNOWN)).isEqualTo("n2~1 is not registered yet");
    assertThat(refusal(hello.fields(), RECEIVER, null)).isEqualTo("n1~1 is not known here");
  }
}
