import java.io.IOException;

/**
 * One row's slice of one round.
 *
 * @param perSecond operations a second: requests, unless the row says that one request holds more
 * @param p50Micros of requests
 * @param p99Micros of requests
 * @param cpuMicros of the server's threads but the JIT compilers', per operation
 * @param compilerMicros of the JIT compilers' threads, per operation
 * @param userMicros of both outside of the kernel; of one slice hardly a figure, of many a mean
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
    double compilerMicros,
    double userMicros,
    double allocatedBytes,
    double residentMib,
    double wireBytes,
    double packets,
    double otherCores) {

  static Sample of(Row row, Server server, Connections connections, long millis)
      throws IOException, InterruptedException {
    long client = ProcessHandle.current().pid();
    long allocated = server.allocatedBytes();
    Connections.Received received = connections.received();
    long machine = ProcessFigures.machineCpuMicros();
    long own = ProcessFigures.cpuMicros(client);
    long user = server.userMicros();
    long begun = System.nanoTime();
    CpuTime before = CpuTime.of(server.processes());
    Slice slice = connections.ask(millis);
    CpuTime after = CpuTime.of(server.processes());
    double cpu = after.microsSince(before);
    double compiling = after.compilerMicrosSince(before);
    double took = (System.nanoTime() - begun) / 1e3;
    user = server.userMicros() - user;
    own = ProcessFigures.cpuMicros(client) - own;
    machine = ProcessFigures.machineCpuMicros() - machine;
    Connections.Received all = connections.received();
    allocated = server.allocatedBytes() - allocated;
    double requests = slice.answers();
    double operations = requests * row.operations();
    return new Sample(
        operations / slice.seconds(),
        slice.micros(0.50),
        slice.micros(0.99),
        cpu / operations,
        compiling / operations,
        user / operations,
        allocated / operations,
        server.residentKib() / 1024.0,
        (all.bytes() - received.bytes()) / requests,
        (all.packets() - received.packets()) / requests,
        (machine - cpu - compiling - own) / took);
  }
}
