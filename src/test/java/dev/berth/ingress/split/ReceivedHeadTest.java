package dev.berth.ingress.split;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.routing.traffic.RequestHead.RequestPartKind;
import io.vertx.core.http.HttpServerRequest;
import java.lang.reflect.Proxy;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A split reads a query as the request's handler does. */
class ReceivedHeadTest {

  private static HttpServerRequest withQuery(String query) {
    return (HttpServerRequest)
        Proxy.newProxyInstance(
            HttpServerRequest.class.getClassLoader(),
            new Class<?>[] {HttpServerRequest.class},
            (proxy, asked, arguments) -> {
              assertThat(asked.getName()).isEqualTo("query");
              return query;
            });
  }

  @ParameterizedTest
  @CsvSource({
    "user=anna, anna",
    "user=a%20b, a b",
    "user=a+b, a b",
    "us%65r=caf%C3%A9, café",
    "x=1&user=%26, &",
    "user=100%, 100%",
    "user=, ''",
    "other=1,",
  })
  void queryIsReadDecoded(String query, String value) {
    assertThat(new ReceivedHead(withQuery(query)).get(RequestPartKind.QUERY, "user"))
        .isEqualTo(value);
  }
}
