import dev.berth.api.Application;
import dev.berth.api.AsyncBatchHandler;
import dev.berth.api.BatchResult;
import dev.berth.api.Deployment;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.concurrent.TimeUnit;
import org.slf4j.LoggerFactory;

/** Applications with something to see in each view of the page. */
public final class Demo {
  private Demo() {}

  /** A front with two nested calls; {@code infer} is slow and has few slots, so requests wait. */
  public static Application shop() {
    return Application.of(
        Deployment.async(
            "front",
            (request, context) ->
                context
                    .handle("cart")
                    .call(request)
                    .compose(cart -> context.handle("infer").call(request))),
        Deployment.async("cart", (request, context) -> pause(request, 3)),
        Deployment.async("infer", (request, context) -> pause(request, 40)));
  }

  /** Three versions for a split route; the second one fails at times. */
  public static Application versions() {
    return Application.of(
        Deployment.async("v1", (request, context) -> pause(request, 4)),
        Deployment.async(
            "v2",
            (request, context) -> {
              if (System.nanoTime() % 50 == 0) {
                LoggerFactory.getLogger(Demo.class).warn("a label is missing");
                throw new IllegalStateException("no label");
              }
              return pause(request, 2);
            }),
        Deployment.async("v3", (request, context) -> pause(request, 2)));
  }

  /** Batches of at most 8. */
  public static Application squares() {
    AsyncBatchHandler squares =
        items ->
            timer(12)
                .map(done -> items.stream().map(each -> BatchResult.of(Response.text("1\n"))).toList());
    return Application.of(Deployment.of("squares", replica -> squares));
  }

  /** A deployment that autoscales with its load. */
  public static Application scaled() {
    return Application.of(Deployment.async("sleep", (request, context) -> pause(request, 250)));
  }

  /** A deployment whose name is HTML. */
  public static Application hostile() {
    return Application.of(
        Deployment.async(
            "<img src=x onerror=document.title='owned'>", (request, context) -> pause(request, 1)));
  }

  private static Future<Response> pause(Request request, int ms) {
    String text = request.queryParameter("ms");
    return timer(text == null ? ms : Integer.parseInt(text)).map(Response.text("done\n"));
  }

  private static Future<Void> timer(int ms) {
    return Vertx.currentContext().owner().timer(ms, TimeUnit.MILLISECONDS);
  }
}
