import java.io.IOException;
import java.util.Map;

/**
 * One row's slice of one round.
 *
 * @param perSecond operations a second: requests, unless the row says that one request holds more
 * @param p50Micros of requests
 * @param p99Micros of requests
 * @param cpuMicros of the server's process, per operation
 * @param userMicros of it outside of the kernel; of one slice hardly a figure, of many a mean
 * @param allocatedBytes by the server's threads, per operation
 * @param residentMib of the server's process, at the end
 * @param wireBytes that the client received, per request
 * @param packets that they came in, per request: on the loopback each write of less than 64 KiB is
 *     one
 * @param otherCores what neither the client nor the server used: others at work on the machine
 */
record Sample(
    double perSecond,
    double p50Micros,
    double p99Micros,
    double cpuMicros,
    double userMicros,
    double allocatedBytes,
    double residentMib,
    double wireBytes,
    double packets,
    double otherCores) {

  static Sample of(Row row, Server server, Connections connections, long millis)
      throws IOException, InterruptedException {
    long client = ProcessHandle.current().pid();
    long pid = server.process().pid();
    long allocated = server.allocatedBytes();
    Connections.Received received = connections.received();
    long machine = ProcessFigures.machineCpuMicros();
    long own = ProcessFigures.cpuMicros(client);
    long user = ProcessFigures.userMicros(pid);
    long begun = System.nanoTime();
    Map<String, Long> threads = ProcessFigures.threadNanos(pid);
    Slice slice = connections.ask(millis);
    double cpu = ProcessFigures.nanosBetween(threads, ProcessFigures.threadNanos(pid)) / 1e3;
    double took = (System.nanoTime() - begun) / 1e3;
    user = ProcessFigures.userMicros(pid) - user;
    own = ProcessFigures.cpuMicros(client) - own;
    machine = ProcessFigures.machineCpuMicros() - machine;
    Connections.Received after = connections.received();
    allocated = server.allocatedBytes() - allocated;
    double requests = slice.answers();
    double operations = requests * row.operations();
    return new Sample(
        operations / slice.seconds(),
        slice.micros(0.50),
        slice.micros(0.99),
        cpu / operations,
        user / operations,
        allocated / operations,
        server.residentKib() / 1024.0,
        (after.bytes() - received.bytes()) / requests,
        (after.packets() - received.packets()) / requests,
        (machine - cpu - own) / took);
  }
}
