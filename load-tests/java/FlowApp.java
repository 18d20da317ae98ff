import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * One deployment, {@code work}, whose handler waits on a timer and answers with its version and its
 * setting. Arguments say how a version goes wrong.
 */
public final class FlowApp {
  static final String DEPLOYMENT = "work";

  private FlowApp() {}

  /**
   * @param args {@code version}: answered; {@code wait_ms}: 20 by default; {@code start}: {@code
   *     fail} makes its replicas not start; {@code start_ms}: they take so long for it; {@code
   *     sick_after_ms}: makes them unhealthy so long after their start
   */
  public static Application build(Map<String, Object> args) {
    String version = String.valueOf(args.getOrDefault("version", "1"));
    Duration wait = Duration.ofMillis(((Number) args.getOrDefault("wait_ms", 20)).longValue());
    long start = ((Number) args.getOrDefault("start_ms", 0)).longValue();
    boolean fails = "fail".equals(args.get("start"));
    Number sickAfter = (Number) args.get("sick_after_ms");
    return Application.of(
        Deployment.of(
                DEPLOYMENT,
                replica -> {
                  if (fails) {
                    throw new IllegalStateException("version " + version + " cannot start");
                  }
                  TimeUnit.MILLISECONDS.sleep(start);
                  return new Handler(
                      version, wait, sickAfter == null ? Long.MAX_VALUE : sickAfter.longValue());
                })
            .withMaxOngoingRequests(10));
  }

  /** An application of two deployments that cost next to nothing. */
  public static Application pair(Map<String, Object> args) {
    String version = String.valueOf(args.getOrDefault("version", "1"));
    Deployment front = Deployment.of("front", replica -> new Handler(version, Duration.ZERO));
    return Application.of(
        front, Deployment.of("back", replica -> new Handler(version, Duration.ZERO)));
  }

  private static final class Handler implements AsyncHandler {
    private final String version;
    private final Duration wait;
    private final long sickAfterMillis;
    private final long madeNanos = System.nanoTime();
    private volatile Object setting = "";

    Handler(String version, Duration wait) {
      this(version, wait, Long.MAX_VALUE);
    }

    Handler(String version, Duration wait, long sickAfterMillis) {
      this.version = version;
      this.wait = wait;
      this.sickAfterMillis = sickAfterMillis;
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      Response answer = Response.text(version + " " + setting);
      return wait.isZero()
          ? Future.succeededFuture(answer)
          : context.after(wait).map(none -> answer);
    }

    @Override
    public void reconfigure(Map<String, Object> userConfig) {
      Object given = userConfig.getOrDefault("setting", "");
      if ("bad".equals(given)) {
        throw new IllegalArgumentException("setting: bad (expected: another)");
      }
      setting = given;
    }

    @Override
    public void checkHealth() {
      if ((System.nanoTime() - madeNanos) / 1_000_000 >= sickAfterMillis) {
        throw new IllegalStateException("version " + version + " is sick");
      }
    }
  }
}
