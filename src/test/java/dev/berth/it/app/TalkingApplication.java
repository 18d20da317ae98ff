package dev.berth.it.app;

import dev.berth.api.Application;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Deployment;
import dev.berth.api.ReplicaContext;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.logging.Level;
import org.slf4j.LoggerFactory;

/** Says something in every way that there is, from everywhere that its code may run. */
public final class TalkingApplication {
  static {
    System.out.println("from its static initializer");
  }

  private TalkingApplication() {}

  /** Builds it: {@code front} on an event loop, {@code back} on threads. */
  public static Application build() {
    say("from its builder");
    return Application.of(
        Deployment.async("front", TalkingApplication::front), Deployment.of("back", Back::new));
  }

  /** In each way, with what might break a line. */
  static void say(String what) {
    LoggerFactory.getLogger("com.acme.Library").info("slf4j {}\n{\"forged\": true}", what);
    java.util.logging.Logger.getLogger("com.acme.Old").log(Level.WARNING, "jul {0}", what);
    System.out.println("stdout {} \u001b[31m\u0000\u0007 " + what);
    System.err.print("stderr ");
    System.err.println(what);
    System.out.printf("two%nlines of %s%n%n", what);
    System.out.print(String.valueOf((Object) null)); // and no end of the line
    System.out.println();
  }

  private static Future<Response> front(Request request, RequestContext context) {
    say("in front");
    context.logger().info("own in front");
    switch (request.path()) {
      case "/deep" -> deep(1);
      case "/unspeakable" -> throw new Unspeakable();
      case "/huge" -> System.out.println("huge " + "é".repeat(200_000));
      case "/thread" -> new Thread(TalkingApplication::onItsOwnThread, "its own").start();
      default -> {}
    }
    return context
        .after(Duration.ofMillis(1))
        .compose(
            none -> {
              say("after a delay");
              return context.handle("back").call(Request.get(request.path()));
            })
        .onComplete((answer, failed) -> say(failed == null ? "with an answer" : "with a failure"));
  }

  private static void onItsOwnThread() {
    say("on its own thread");
    throw new IllegalStateException("the end of its own thread");
  }

  private static int deep(int n) {
    return deep(n + 1) + 1;
  }

  private static final class Unspeakable extends RuntimeException {
    private static final long serialVersionUID = 1L;

    @Override
    public String getMessage() {
      throw new UnsupportedOperationException("nothing to say");
    }
  }

  private static final class Back implements BlockingHandler {
    private Back(ReplicaContext replica) {
      say("while it is made");
    }

    @Override
    public void start() {
      say("in start");
      Thread background = new Thread(() -> say("in the background"), "background");
      background.start();
    }

    @Override
    public void stop() {
      say("in stop");
    }

    @Override
    public Response handle(Request request, RequestContext context) {
      say("in back");
      if (request.path().equals("/fails")) {
        throw new IllegalStateException("no stock");
      }
      if (request.path().equals("/trace")) {
        new IllegalStateException("printed").printStackTrace(System.err);
      }
      return Response.text("said");
    }
  }
}
