import io.vertx.core.json.JsonObject;
import java.io.IOException;

/**
 * One row in one round.
 *
 * @param perSecond operations a second: requests, unless the row says that one request holds more
 * @param p50Micros of requests
 * @param p99Micros of requests
 * @param cpuMicros of the server's process, per operation
 * @param allocatedBytes by the server's threads, per operation
 * @param residentMib of the server's process, at the end
 * @param collectionMillis that the server was in its garbage collector
 * @param clientCores what the load client used
 * @param otherCores what neither it nor the server used: others at work on the machine
 */
record Sample(
    double perSecond,
    double p50Micros,
    double p99Micros,
    double cpuMicros,
    double allocatedBytes,
    double residentMib,
    double collectionMillis,
    double clientCores,
    double otherCores) {

  static Sample of(Row row, Server server, int seconds) throws IOException, InterruptedException {
    long client = ProcessFigures.endedChildrenCpuMicros();
    long own = ProcessFigures.cpuMicros(ProcessHandle.current().pid());
    Server.Used before = server.used();
    long machine = ProcessFigures.machineCpuMicros();
    long begun = System.nanoTime();
    Load load = row.client().run(server.uri(row.path()), row.connections(), seconds);
    double took = (System.nanoTime() - begun) / 1e3;
    machine = ProcessFigures.machineCpuMicros() - machine;
    Server.Used after = server.used();
    own = ProcessFigures.cpuMicros(ProcessHandle.current().pid()) - own;
    client = ProcessFigures.endedChildrenCpuMicros() - client;
    long cpu = after.cpuMicros() - before.cpuMicros();
    if (load.requests() == 0) {
      throw new IOException("no answer in " + seconds + " s");
    }
    double operations = (double) load.requests() * row.operations();
    return new Sample(
        operations / load.seconds(),
        load.p50Micros(),
        load.p99Micros(),
        cpu / operations,
        (after.allocatedBytes() - before.allocatedBytes()) / operations,
        server.residentKib() / 1024.0,
        after.collectionMillis() - before.collectionMillis(),
        client / took,
        Math.max(0, machine - cpu - client - own) / took);
  }

  JsonObject json() {
    return new JsonObject()
        .put("per_s", Spread.rounded(perSecond))
        .put("p50_us", Spread.rounded(p50Micros))
        .put("p99_us", Spread.rounded(p99Micros))
        .put("cpu_us", Spread.rounded(cpuMicros))
        .put("allocated_bytes", Spread.rounded(allocatedBytes))
        .put("resident_mib", Spread.rounded(residentMib))
        .put("collection_ms", Spread.rounded(collectionMillis))
        .put("client_cores", Spread.rounded(clientCores))
        .put("other_cores", Spread.rounded(otherCores));
  }
}
