package dev.berth.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class UserFailureTest {

  private static RuntimeException saying(Supplier<String> message) {
    return new IllegalArgumentException() {
      @Override
      public String getMessage() {
        return message.get();
      }
    };
  }

  private static String fail() {
    throw new UnsupportedOperationException("secret");
  }

  @Test
  void oneThatCanBeToldIsItself() {
    Throwable plain = new Exception(null, new Error("why", saying(() -> null)));
    plain.addSuppressed(new Exception());
    assertThat(UserFailure.legible(plain)).isSameAs(plain);
  }

  @Test
  void oneThatFailsToSayWhatItIsIsToldByItsClass() {
    Throwable illegible = saying(UserFailureTest::fail);
    Throwable suppressing = new Exception("a");
    suppressing.addSuppressed(new Exception("b", illegible));
    for (Throwable each : new Throwable[] {illegible, new Exception("a", illegible), suppressing}) {
      assertThat(UserFailure.legible(each))
          .hasMessage(
              each.getClass().getName()
                  + ", without a message: java.lang.UnsupportedOperationException")
          .hasNoCause();
    }
  }

  @Test
  void aChainOfCausesIsBounded() {
    Throwable chain = new Exception("end");
    for (int i = 1; i < UserFailure.MAX_CAUSES; i++) {
      chain = new Exception("a", chain);
    }
    assertThat(UserFailure.legible(chain)).isSameAs(chain);
    assertThat(UserFailure.legible(new Exception("a", chain)).getMessage())
        .contains("without a message");
    Exception circle = new Exception("a");
    circle.addSuppressed(new Exception("b", circle));
    assertThat(UserFailure.legible(circle)).as("a log ends there too").isSameAs(circle);
  }
}
