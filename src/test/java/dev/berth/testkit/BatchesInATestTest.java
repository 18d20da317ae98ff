package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Application;
import dev.berth.api.BatchFunction;
import dev.berth.api.BatchHandler;
import dev.berth.api.BatchResult;
import dev.berth.api.BerthException;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.api.TypedHandle;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Batches in a test: the window passes by {@code advance} alone. */
class BatchesInATestTest {
  @AutoClose private TestBerth berth;
  private final List<Integer> sizes = new ArrayList<>();

  private final BatchHandler paths =
      items -> {
        sizes.add(items.size());
        return items.stream()
            .map(
                each ->
                    each.request().path().equals("/bad")
                        ? BatchResult.ofFailure(new BerthException.PayloadTooLarge("bad"))
                        : BatchResult.of(Response.text(each.request().path())))
            .toList();
      };

  record Square(int side) {}

  record Area(int area) {}

  private static Application of(Deployment deployment) {
    return Application.of(deployment);
  }

  @Test
  void requestsOfOneWindowShareABatch() {
    berth = TestBerth.start(of(Deployment.batch("one", paths)));
    DeploymentHandle one = berth.handle("one");
    List<Future<Response>> responses =
        List.of(one.call(Request.get("/a")), one.call(Request.get("/b")));
    berth.run();
    assertThat(sizes).isEmpty();

    berth.advance(Duration.ofMillis(10));

    assertThat(responses.stream().map(each -> berth.text(berth.await(each))))
        .containsExactly("/a", "/b");
    assertThat(sizes).containsExactly(2);
  }

  @Test
  void aTypedFunctionReceivesTheValidBodies() {
    BatchFunction<Square, Area> areas =
        squares -> squares.stream().map(each -> new Area(each.side() * each.side())).toList();
    berth = TestBerth.start(of(Deployment.batch("one", Square.class, Area.class, areas)));
    TypedHandle<Square, Area> typed = berth.handle("one").typed(Square.class, Area.class);
    Future<Area> small = typed.call(new Square(2));
    Future<Area> large = typed.call(new Square(9));
    Future<Response> invalid = berth.handle("one").call(Request.get("/"));

    berth.advance(Duration.ofMillis(10));

    assertThat(berth.await(small)).isEqualTo(new Area(4));
    assertThat(berth.await(large)).isEqualTo(new Area(81));
    assertThat(berth.await(invalid).status()).isEqualTo(400);
  }

  @Test
  void aTypedResultWithoutAValueFailsItsRequestAlone() {
    BatchFunction<Square, Area> areas =
        squares ->
            squares.stream().map(each -> each.side() < 0 ? null : new Area(each.side())).toList();
    berth = TestBerth.start(of(Deployment.batch("one", Square.class, Area.class, areas)));
    TypedHandle<Square, Area> typed = berth.handle("one").typed(Square.class, Area.class);
    Future<Area> none = typed.call(new Square(-1));
    Future<Area> one = typed.call(new Square(1));

    berth.advance(Duration.ofMillis(10));

    assertThat(berth.await(one)).isEqualTo(new Area(1));
    assertThat(none.cause()).isInstanceOf(BerthException.HandlerFailed.class);
  }

  @Test
  void theKeysOfTheSectionReplaceThoseOfTheCode() {
    berth =
        TestBerth.of(of(Deployment.batch("one", paths)))
            .set("one", "berth", Map.of("batching", Map.of("max_batch_size", 2)))
            .start();
    DeploymentHandle one = berth.handle("one");
    Future<Response> first = one.call(Request.get("/1"));
    one.call(Request.get("/2"));
    Future<Response> last = one.call(Request.get("/3"));

    assertThat(berth.text(berth.await(first))).isEqualTo("/1");
    assertThat(sizes).containsExactly(2);
    berth.advance(Duration.ofMillis(10));
    assertThat(berth.text(berth.await(last))).isEqualTo("/3");
    assertThat(sizes).containsExactly(2, 1);
  }
}
