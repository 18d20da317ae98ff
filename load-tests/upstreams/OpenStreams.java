import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Measures the memory of an idle upstream in Berth, and of an open stream in Berth and nginx. */
final class OpenStreams {
  /** About the duration. */
  static final double SECONDS = 20;

  private static final int DEPLOYMENTS = 10;
  private static final int UPSTREAMS = 64; // of a deployment, its maximum
  private static final Pattern USED = Pattern.compile("used (\\d+)K");
  private static final Pattern FIRST_EVENT = Pattern.compile("\r\n\r\n.*data: ", Pattern.DOTALL);
  private static final int SETTLE_MS = 1_000;

  private final Proxies proxies;
  private final Servers servers;
  private final int streams;

  OpenStreams(Proxies proxies, Servers servers, boolean quick) {
    this.proxies = proxies;
    this.servers = servers;
    this.streams = quick ? 200 : 1_000;
  }

  String table() throws IOException, InterruptedException {
    proxies.upstream(servers);
    Server few = proxies.berth(servers, "few", 1, 1);
    Server idle = proxies.berth(servers, "idle", DEPLOYMENTS, UPSTREAMS);
    TimeUnit.MILLISECONDS.sleep(SETTLE_MS);
    double heapOfUpstream =
        (liveHeapKib(idle) - liveHeapKib(few)) / (double) (DEPLOYMENTS * UPSTREAMS - 1);
    Server nginx = proxies.nginx(servers, "nginx-streams");
    Table table = new Table("memory", "live heap KiB", "resident KiB");
    table.line(
        List.of(
            "Berth, an idle upstream, of " + DEPLOYMENTS * UPSTREAMS,
            Spread.number(heapOfUpstream, 1),
            ""));
    long heap = liveHeapKib(few);
    long resident = few.residentKib();
    long nginxResident = nginx.residentKib();
    List<SocketChannel> open = new ArrayList<>();
    try {
      open(few, open);
      TimeUnit.MILLISECONDS.sleep(SETTLE_MS);
      long heapOfStreams = liveHeapKib(few) - heap;
      table.line(
          List.of(
              "Berth, an open stream, of " + streams,
              Spread.number(heapOfStreams / (double) streams, 1),
              Spread.number((few.residentKib() - resident) / (double) streams, 1)));
      open(nginx, open);
      TimeUnit.MILLISECONDS.sleep(SETTLE_MS);
      table.line(
          List.of(
              "nginx, an open stream, of " + streams,
              "",
              Spread.number((nginx.residentKib() - nginxResident) / (double) streams, 1)));
    } finally {
      for (SocketChannel each : open) {
        each.close();
      }
    }
    return table.markdown();
  }

  /** Opens streams and reads the first event of each. */
  private void open(Server server, List<SocketChannel> open) throws IOException {
    byte[] request = Ask.get("/held").bytes(server.uri("/held"));
    for (int i = 0; i < streams; i++) {
      SocketChannel channel = SocketChannel.open(new InetSocketAddress("127.0.0.1", server.port()));
      open.add(channel);
      channel.write(ByteBuffer.wrap(request));
      ByteBuffer read = ByteBuffer.allocate(4096);
      while (!FIRST_EVENT.matcher(text(read)).find()) {
        if (channel.read(read) < 0) {
          throw new IOException(server.name() + " closed a stream: " + text(read));
        }
      }
    }
  }

  private static String text(ByteBuffer read) {
    return new String(read.array(), 0, read.position(), StandardCharsets.ISO_8859_1);
  }

  private static long liveHeapKib(Server server) throws IOException, InterruptedException {
    String pid = String.valueOf(server.processes().get(0).pid());
    String jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd").toString();
    ClientProcess.output(List.of(jcmd, pid, "GC.run"));
    ClientProcess.output(List.of(jcmd, pid, "GC.run"));
    Matcher used = USED.matcher(ClientProcess.output(List.of(jcmd, pid, "GC.heap_info")));
    if (!used.find()) {
      throw new IOException("jcmd printed no heap size");
    }
    return Long.parseLong(used.group(1));
  }
}
