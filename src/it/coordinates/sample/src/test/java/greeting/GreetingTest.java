package greeting;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.berth.api.Request;
import dev.berth.testkit.TestBerth;
import org.junit.jupiter.api.Test;

class GreetingTest {
  @Test
  void whoIsNotNamedIsGreetedToo() {
    try (TestBerth berth = TestBerth.start(Greeting.build())) {
      var answer = berth.handle("greeting").call(Request.get("/"));
      assertEquals("hello you\n", berth.text(berth.await(answer)));
    }
  }
}
