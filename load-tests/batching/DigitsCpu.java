import dev.berth.api.BatchHandler;
import dev.berth.api.BatchItem;
import dev.berth.api.BatchResult;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaContext;
import dev.berth.api.ReplicaMeters;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.examples.Quickstart;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import javax.imageio.ImageIO;

/**
 * Measures the CPU time of the quickstart's digits per picture, in batches and alone, on the
 * calling thread. The model runs on that thread too, because its session has one thread.
 */
final class DigitsCpu {
  private static final int BATCH = 16;
  private static final int PICTURES = 100;
  private static final int SLICE_ROUNDS = 20; // of all pictures
  private static final int WARM_ROUNDS = 400;
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final BatchHandler handler;
  private final List<BatchItem> items = new ArrayList<>();

  /**
   * CPU microseconds per picture alone and in batches, and ratios of neighbouring slices.
   *
   * @param ratio of a batch to alone
   * @param equal of alone to alone
   */
  record DigitsFigures(Spread alone, Spread batched, Spread ratio, Spread equal) {}

  private DigitsCpu(boolean png) throws Exception {
    Deployment digits = Quickstart.classify().deployments().get(1);
    handler = (BatchHandler) digits.factory().create(new OneReplica(digits.name()));
    handler.start();
    RequestContext none =
        (RequestContext)
            Proxy.newProxyInstance(
                DigitsCpu.class.getClassLoader(),
                new Class<?>[] {RequestContext.class},
                (proxy, method, arguments) -> null);
    try (Stream<Path> files = Files.list(Path.of("src/examples/images"))) {
      for (Path file : files.sorted().toList()) {
        items.add(new BatchItem(png ? png(file) : pixels(file), none));
      }
    }
    if (items.size() != PICTURES) {
      throw new IOException("pictures: %d (expected: %d)".formatted(items.size(), PICTURES));
    }
  }

  /**
   * Measures one form of pictures.
   *
   * @param png whether they are files to decode; otherwise 64 numbers, as the ingress passes on
   */
  static DigitsFigures measure(boolean png, int slices) throws Exception {
    DigitsCpu cpu = new DigitsCpu(png);
    try {
      cpu.checkAnswers();
      for (int i = 0; i < WARM_ROUNDS; i++) {
        cpu.run(i % 2 == 0 ? 1 : BATCH);
      }
      double[] alone = new double[slices];
      double[] batched = new double[slices];
      double[] ratio = new double[slices];
      double[] equal = new double[slices];
      for (int i = 0; i < slices; i++) {
        double first = cpu.slice(1);
        batched[i] = cpu.slice(BATCH);
        double second = cpu.slice(1);
        alone[i] = (first + second) / 2;
        ratio[i] = batched[i] / alone[i];
        equal[i] = second / first;
      }
      return new DigitsFigures(
          Spread.of(alone), Spread.of(batched), Spread.of(ratio), Spread.of(equal));
    } finally {
      cpu.handler.stop();
    }
  }

  private double slice(int size) throws Exception {
    long before = THREADS.getCurrentThreadCpuTime();
    for (int i = 0; i < SLICE_ROUNDS; i++) {
      run(size);
    }
    return (THREADS.getCurrentThreadCpuTime() - before) / 1e3 / SLICE_ROUNDS / PICTURES;
  }

  private void run(int size) throws Exception {
    for (int from = 0; from < PICTURES; from += size) {
      handler.handle(items.subList(from, Math.min(PICTURES, from + size)));
    }
  }

  private void checkAnswers() throws Exception {
    for (int from = 0; from < PICTURES; from += BATCH) {
      List<BatchItem> part = items.subList(from, Math.min(PICTURES, from + BATCH));
      List<BatchResult> together = handler.handle(part);
      for (int i = 0; i < part.size(); i++) {
        String one = body(handler.handle(List.of(part.get(i))).get(0));
        if (!one.equals(body(together.get(i)))) {
          throw new IOException("picture %d: %s in a batch, %s alone"
              .formatted(from + i, body(together.get(i)), one));
        }
      }
    }
  }

  private static String body(BatchResult result) throws IOException {
    Response response = result.response();
    if (response == null || response.status() != 200) {
      throw new IOException("digits: " + result);
    }
    return ((Response.Body.Whole) response.body()).bytes().toString();
  }

  private static Request png(Path file) throws IOException {
    return Request.post("/", Buffer.buffer(Files.readAllBytes(file)))
        .withHeader("content-type", "image/png");
  }

  /** Returns a picture in the form in which the ingress passes a JSON array on. */
  private static Request pixels(Path file) throws IOException {
    var raster = ImageIO.read(file.toFile()).getRaster();
    Buffer floats = Buffer.buffer();
    for (int y = 0; y < raster.getHeight(); y++) {
      for (int x = 0; x < raster.getWidth(); x++) {
        floats.appendFloat(Math.round(raster.getSample(x, y, 0) * 16 / 255f));
      }
    }
    return Request.post("/", floats).withHeader("content-type", "application/vnd.berth.pixels");
  }

  /** A replica outside of an instance. */
  private record OneReplica(String name) implements ReplicaContext {
    @Override
    public DeploymentId deployment() {
      return new DeploymentId("load-test", name);
    }

    @Override
    public String replicaId() {
      return "load-test#" + name + "#00000000";
    }

    @Override
    public Map<String, Object> userConfig() {
      return Map.of();
    }

    @Override
    public int maxOngoingRequests() {
      return BATCH;
    }

    @Override
    public DeploymentHandle handle(String deployment) {
      throw new UnsupportedOperationException(deployment);
    }

    @Override
    public ReplicaMeters meters() {
      throw new UnsupportedOperationException("meters");
    }
  }
}
