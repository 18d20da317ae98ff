import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;

/**
 * What a load client saw.
 *
 * @param requests answered, each with 2xx
 * @param seconds it took
 * @param p50Micros half of the answers took no longer
 * @param p99Micros 99 of 100 took no longer
 */
record Load(long requests, double seconds, double p50Micros, double p99Micros) {

  /** A program that sends one request on each connection after the other's answer. */
  interface Client {
    /** Fails when one answer is not 2xx, or a connection fails. */
    Load run(URI uri, int connections, int seconds) throws IOException, InterruptedException;

    /** As rows name it. */
    String protocol();
  }

  /** HTTP/1.1, by wrk with one thread. */
  static Client wrk() {
    return new Wrk();
  }

  /** HTTP/2, by h2load with one thread; eight requests at a time on each connection. */
  static Client h2load(Path work) {
    return new H2Load(work);
  }
}
