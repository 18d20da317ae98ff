import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/**
 * A Java agent in every server that is measured, the raw ones too: who connects to its port is told
 * what the process has allocated so far, and what its collections took.
 *
 * <p>Between two questions its one thread sleeps in {@code accept}; the JVM keeps the counts in any
 * case, one for each thread. A thread that has ended is no longer counted, and this one never is.
 */
public final class Probe {
  private Probe() {}

  /** Prints {@code probe on port N}. */
  public static void premain(String arguments) throws IOException {
    ServerSocket server = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
    Thread thread = new Thread(() -> answer(server), "probe");
    thread.setDaemon(true);
    thread.start();
    System.out.print("probe on port " + server.getLocalPort() + "\n"); // one piece
  }

  private static void answer(ServerSocket server) {
    while (true) {
      try (Socket client = server.accept()) {
        client.getOutputStream().write(figures().getBytes(StandardCharsets.US_ASCII));
      } catch (IOException gone) {
        // The one who asked has left; the next one is waited for.
      }
    }
  }

  /** {@code <bytes allocated> <collections> <milliseconds in collections>}. */
  private static String figures() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long own = Thread.currentThread().getId();
    long[] ids = threads.getAllThreadIds();
    long[] bytes = threads.getThreadAllocatedBytes(ids);
    long allocated = 0;
    for (int i = 0; i < ids.length; i++) {
      if (ids[i] != own && bytes[i] > 0) {
        allocated += bytes[i];
      }
    }
    long collections = 0;
    long millis = 0;
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      collections += Math.max(0, collector.getCollectionCount());
      millis += Math.max(0, collector.getCollectionTime());
    }
    return allocated + " " + collections + " " + millis;
  }
}
