package dev.berth.fakes;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP/1.1 server that counts the exchanges in progress. An exchange counts from its request's
 * head to before the last byte of its response, or until the end of its client is seen.
 *
 * <p>The query of a request holds commands, beside those of {@link #behave}:
 *
 * <ul>
 *   <li>{@code wait=MS} before the head; {@code never} sends no response
 *   <li>{@code size=N} bytes of body, {@code drip=MS} between its single bytes; {@code echo}
 *       returns the request's body, {@code say=TEXT} this text
 *   <li>{@code events=N}, {@code every=MS}: a chunked stream of server-sent events
 *   <li>{@code llm}: the {@link ModelAnswer} to the request, {@code tokens=N} words long, with
 *       {@code every=MS} between the events of a stream and {@code split=N} bytes in a chunk;
 *       {@code after=N} ends the connection after N events, {@code half} in the middle of the next
 *       event, by {@code cut}
 *   <li>{@code hints=N}: so many 103 responses, before any wait; {@code trailers} after the events
 *   <li>{@code status=N}, {@code retry=S}: the status, and Retry-After
 *   <li>{@code drop} closes the connection instead of a response; {@code cut=reset} or {@code
 *       cut=close} ends the connection before the last byte
 *   <li>{@code head=N} adds N bytes of headers
 *   <li>{@code lie=long}, {@code short}, {@code twice} or {@code chunked}: a wrong length, two
 *       lengths, or a length beside chunks
 *   <li>{@code on} continues after the client has left; {@code early} responds before it has read
 *       the body; {@code close} closes the connection after the response; {@code stray} sends a
 *       byte after it
 * </ul>
 *
 * <p>Plain sockets, one thread per connection. Thread-safe.
 */
public final class CountingUpstream implements AutoCloseable {
  private static final int MAX_RECORDED = 1_000;
  private static final int EVENT_BYTES = 30;

  /** A request as received; header names are in lower case. */
  public record ReceivedRequest(
      String method, String target, Map<String, String> headers, String body) {}

  /** The end of a client, seen as the end of its bytes or as a reset. */
  private static final class ClientLeft extends IOException {
    private static final long serialVersionUID = 1;
  }

  private volatile ServerSocket server;
  private volatile String behaviour = "";
  private Socket reserved = new Socket(); // holds the port while stopped, so that no other gets it
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private final AtomicInteger ongoing = new AtomicInteger();
  private final AtomicInteger highest = new AtomicInteger();
  private final AtomicInteger requests = new AtomicInteger();
  private final AtomicInteger connections = new AtomicInteger();
  private final AtomicInteger completed = new AtomicInteger();
  private final Queue<ReceivedRequest> received = new ConcurrentLinkedQueue<>();
  private final Map<String, Long> cancelled = new ConcurrentHashMap<>();
  private final Queue<String> violations = new ConcurrentLinkedQueue<>();

  public CountingUpstream() throws IOException {
    server = listen(0);
  }

  private ServerSocket listen(int port) throws IOException {
    ServerSocket listening = new ServerSocket();
    listening.setReuseAddress(true);
    listening.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 512);
    daemon(() -> accept(listening), "upstream-" + listening.getLocalPort());
    return listening;
  }

  private static void daemon(Runnable task, String name) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    thread.start();
  }

  private void accept(ServerSocket listening) {
    while (!listening.isClosed()) {
      try {
        Socket socket = listening.accept();
        socket.setTcpNoDelay(true);
        sockets.add(socket);
        connections.incrementAndGet();
        daemon(() -> new UpstreamConnection(socket).run(), "upstream-connection");
      } catch (IOException closed) {
        return;
      }
    }
  }

  public int port() {
    return server.getLocalPort();
  }

  /** Returns the origin for the key {@code url}. */
  public String url() {
    return "http://127.0.0.1:" + port();
  }

  /** Returns the number of exchanges in progress. */
  public int ongoing() {
    return ongoing.get();
  }

  /** Returns the highest number of exchanges in progress at once. */
  public int highest() {
    return highest.get();
  }

  /** Counts {@link #highest} from the present number on. */
  public void resetHighest() {
    highest.set(ongoing.get());
  }

  /** Returns the number of received requests. */
  public int requests() {
    return requests.get();
  }

  /** Returns the number of responses that were sent completely. */
  public int completed() {
    return completed.get();
  }

  /** Returns the number of accepted connections. */
  public int connections() {
    return connections.get();
  }

  /** Returns the first requests as received, at most 1 000. */
  public Queue<ReceivedRequest> received() {
    return received;
  }

  /** Returns the nano times at which the ends of clients were seen, by the request's id. */
  public Map<String, Long> cancelled() {
    return cancelled;
  }

  /** Returns descriptions of bytes that a client must not send. */
  public Queue<String> violations() {
    return violations;
  }

  /** Sets commands for the requests that follow, as in a query; empty for none. */
  public void behave(String commands) {
    behaviour = commands;
  }

  /** Refuses connections and resets the open ones, until {@link #restart}. */
  public void stop() throws IOException {
    int port = port();
    endConnections();
    reserve(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
  }

  /** Binds the port as soon as the thread that accepted has left it. */
  private void reserve(InetSocketAddress address) throws IOException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
    while (!reserved.isBound()) {
      try {
        reserved.setReuseAddress(true);
        reserved.bind(address);
      } catch (BindException occupied) {
        if (System.nanoTime() - deadline > 0) {
          throw occupied;
        }
        reserved = new Socket();
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
      }
    }
  }

  private void endConnections() throws IOException {
    server.close();
    for (Socket socket : sockets) {
      reset(socket);
    }
  }

  /** Listens again on the same port. */
  public void restart() throws IOException {
    reserved.close();
    reserved = new Socket();
    server = listen(port());
  }

  @Override
  public void close() throws IOException {
    endConnections();
    reserved.close();
  }

  private static void reset(Socket socket) {
    try {
      socket.setSoLinger(true, 0);
      socket.close();
    } catch (IOException closed) {
      // nothing is left to close
    }
  }

  private void enter() {
    int now = ongoing.incrementAndGet();
    highest.accumulateAndGet(now, Math::max);
    requests.incrementAndGet();
  }

  /** One connection, whose requests follow each other. Confined to its thread. */
  private final class UpstreamConnection {
    private final Socket socket;
    private boolean counted; // an exchange of this connection is in progress
    private boolean runsOn; // ignores the end of the client
    private boolean broken; // a write failed while it runs on
    private boolean last; // closes after this response

    UpstreamConnection(Socket socket) {
      this.socket = socket;
    }

    void run() {
      try {
        InputStream in = new BufferedInputStream(socket.getInputStream());
        while (serve(in)) {
          last = false;
        }
      } catch (IOException ended) {
        // the client has left
      } finally {
        leave();
        try {
          socket.close();
        } catch (IOException closed) {
          // nothing is left to close
        }
        sockets.remove(socket);
      }
    }

    private void leave() {
      if (counted) {
        counted = false;
        ongoing.decrementAndGet();
      }
    }

    private boolean serve(InputStream in) throws IOException {
      String head = head(in);
      if (head == null) {
        return false;
      }
      counted = true;
      enter();
      Map<String, String> headers = headers(head);
      String[] line = head.substring(0, head.indexOf('\r')).split(" ");
      Map<String, String> commands = commands(line[1]);
      runsOn = commands.containsKey("on");
      String id = headers.getOrDefault("x-request-id", "");
      try {
        byte[] body = commands.containsKey("early") ? new byte[0] : body(in, headers);
        ReceivedRequest request =
            new ReceivedRequest(
                line[0], line[1], headers, new String(body, StandardCharsets.UTF_8));
        if (received.size() < MAX_RECORDED) {
          received.add(request);
        }
        respond(in, commands, request, body);
      } catch (IOException left) {
        cancelled.put(id, System.nanoTime());
        throw left;
      }
      return !last && !broken;
    }

    // --- the request ---

    private @Nullable String head(InputStream in) throws IOException {
      ByteArrayOutputStream read = new ByteArrayOutputStream();
      int matched = 0;
      while (matched < 4) {
        int next = in.read();
        if (next < 0) {
          if (read.size() > 0) {
            violations.add("end within a head: " + read);
          }
          return null;
        }
        read.write(next);
        matched = next == "\r\n\r\n".charAt(matched) ? matched + 1 : next == '\r' ? 1 : 0;
      }
      return read.toString(StandardCharsets.ISO_8859_1);
    }

    private static Map<String, String> headers(String head) {
      Map<String, String> headers = new LinkedHashMap<>();
      head.lines()
          .skip(1)
          .filter(line -> line.indexOf(':') > 0)
          .forEach(
              line ->
                  headers.merge(
                      line.substring(0, line.indexOf(':')).toLowerCase(Locale.ROOT),
                      line.substring(line.indexOf(':') + 1).strip(),
                      (one, other) -> one + ", " + other));
      return headers;
    }

    private Map<String, String> commands(String target) {
      Map<String, String> commands = new LinkedHashMap<>();
      int mark = target.indexOf('?');
      String all = behaviour + "&" + (mark < 0 ? "" : target.substring(mark + 1));
      for (String each : all.split("&")) {
        String[] pair = each.split("=", 2);
        commands.put(pair[0], pair.length == 1 ? "" : pair[1]);
      }
      return commands;
    }

    private byte[] body(InputStream in, Map<String, String> headers) throws IOException {
      if (headers.containsKey("expect")) {
        send("HTTP/1.1 100 Continue\r\n\r\n");
      }
      String length = headers.get("content-length");
      if (length != null) {
        return exactly(in, Integer.parseInt(length));
      }
      ByteArrayOutputStream body = new ByteArrayOutputStream();
      if (headers.containsKey("transfer-encoding")) {
        int size;
        do {
          size = Integer.parseInt(line(in), 16);
          body.write(exactly(in, size));
          line(in);
        } while (size > 0);
      }
      return body.toByteArray();
    }

    private static byte[] exactly(InputStream in, int length) throws IOException {
      byte[] bytes = in.readNBytes(length);
      if (bytes.length < length) {
        throw new ClientLeft();
      }
      return bytes;
    }

    private static String line(InputStream in) throws IOException {
      StringBuilder line = new StringBuilder();
      for (int next = in.read(); next != '\n'; next = in.read()) {
        if (next < 0) {
          throw new ClientLeft();
        }
        line.append((char) next);
      }
      return line.toString().strip();
    }

    // --- the response ---

    private void respond(
        InputStream in, Map<String, String> commands, ReceivedRequest request, byte[] received)
        throws IOException {
      for (int hint = number(commands, "hints", 0); hint > 0; hint--) {
        send("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\nx-berth-a: 1\r\n\r\n");
      }
      pause(in, number(commands, "wait", 0));
      if (commands.containsKey("never")) {
        pause(in, Integer.MAX_VALUE);
      }
      if (commands.containsKey("drop")) {
        last = true;
        leave();
        return;
      }
      int status = number(commands, "status", 200);
      StringBuilder head = new StringBuilder("HTTP/1.1 " + status + " Status\r\n");
      if (commands.containsKey("retry")) {
        head.append("retry-after: ").append(commands.get("retry")).append("\r\n");
      }
      if (commands.containsKey("close")) {
        head.append("connection: close\r\n");
        last = true;
      }
      int extra = number(commands, "head", 0);
      if (extra > 0) {
        send(head.toString());
        String filler = "x-filler: " + "f".repeat(1_000) + "\r\n";
        for (int sent = 0; sent < extra; sent += filler.length()) {
          send(filler);
        }
        head.setLength(0);
      }
      if (commands.containsKey("llm")) {
        if (!answer(in, commands, head, request)) {
          return;
        }
      } else if (commands.containsKey("events")) {
        events(in, commands, head);
      } else {
        byte[] body =
            commands.containsKey("echo")
                ? received
                : commands
                    .getOrDefault("say", "x".repeat(number(commands, "size", 2)))
                    .getBytes(StandardCharsets.UTF_8);
        whole(
            in, commands, head, request.method().equals("HEAD") ? new byte[0] : body, body.length);
      }
      completed.incrementAndGet();
      if (commands.containsKey("stray")) {
        send("s");
      }
    }

    private void whole(
        InputStream in, Map<String, String> commands, StringBuilder head, byte[] body, int length)
        throws IOException {
      int declared =
          switch (commands.getOrDefault("lie", "")) {
            case "long" -> length + 10;
            case "short" -> length - 1;
            default -> length;
          };
      head.append("content-type: text/plain\r\ncontent-length: ").append(declared).append("\r\n");
      switch (commands.getOrDefault("lie", "")) {
        case "twice" -> head.append("content-length: ").append(declared + 1).append("\r\n");
        case "chunked" -> head.append("transfer-encoding: chunked\r\n");
        default -> {}
      }
      byte[] bytes = (head + "\r\n").getBytes(StandardCharsets.ISO_8859_1);
      int drip = number(commands, "drip", 0);
      if (body.length == 0) {
        finish(commands, bytes);
        return;
      }
      send(bytes);
      int sent = 0;
      for (; drip > 0 && sent < body.length - 1; sent++) {
        send(new byte[] {body[sent]});
        pause(in, drip);
      }
      byte[] rest = new byte[body.length - sent];
      System.arraycopy(body, sent, rest, 0, rest.length);
      last |= declared > length;
      finish(commands, rest);
    }

    private void events(InputStream in, Map<String, String> commands, StringBuilder head)
        throws IOException {
      send(head + "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
      int events = number(commands, "events", 1);
      for (int event = 0; event < events; event++) {
        if (event > 0) {
          pause(in, number(commands, "every", 0));
        }
        String data = "data: %" + (EVENT_BYTES - 8) + "d\n\n";
        send(Integer.toHexString(EVENT_BYTES) + "\r\n" + data.formatted(event) + "\r\n");
      }
      String trailers =
          "x-sum: 7\r\nX-Berth-A: 1\r\nSet-Cookie: a\r\nTE: b\r\nContent-Length: 9\r\n";
      String end = "0\r\n" + (commands.containsKey("trailers") ? trailers : "") + "\r\n";
      finish(commands, end.getBytes(StandardCharsets.US_ASCII));
    }

    /** Sends the answer of a model; returns whether it was sent to its end. */
    private boolean answer(
        InputStream in, Map<String, String> commands, StringBuilder head, ReceivedRequest request)
        throws IOException {
      int status = number(commands, "status", 200);
      ModelAnswer answer =
          ModelAnswer.of(request.target(), request.body(), number(commands, "tokens", 3));
      if (status >= 400 || !answer.streams()) {
        String body = status >= 400 ? ModelAnswer.error(status) : answer.whole();
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        head.append("content-type: application/json\r\ncontent-length: ");
        send(head.append(bytes.length).append("\r\n\r\n").toString());
        finish(commands, bytes);
        return true;
      }
      send(head + "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
      int after = number(commands, "after", Integer.MAX_VALUE);
      int sent = 0;
      for (String event : answer.events()) {
        pause(in, sent == 0 ? 0 : number(commands, "every", 0));
        byte[] bytes = event.getBytes(StandardCharsets.UTF_8);
        int size = number(commands, "split", bytes.length);
        if (sent == after && commands.containsKey("half")) {
          chunks(Arrays.copyOf(bytes, bytes.length / 2), size);
        }
        if (sent == after) {
          leave();
          if (commands.getOrDefault("cut", "").equals("reset")) {
            reset(socket);
          }
          last = true;
          return false;
        }
        chunks(bytes, size);
        sent++;
      }
      finish(commands, "0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      return true;
    }

    private void chunks(byte[] bytes, int size) throws IOException {
      for (int from = 0; from < bytes.length; from += size) {
        int length = Math.min(size, bytes.length - from);
        send(Integer.toHexString(length) + "\r\n");
        send(Arrays.copyOfRange(bytes, from, from + length));
        send("\r\n");
      }
    }

    /** Sends the last bytes; the exchange no longer counts before the last one. */
    private void finish(Map<String, String> commands, byte[] bytes) throws IOException {
      byte[] most = new byte[bytes.length - 1];
      System.arraycopy(bytes, 0, most, 0, most.length);
      send(most);
      String cut = commands.get("cut");
      if (cut != null) {
        leave();
        if (cut.equals("reset")) {
          reset(socket);
        }
        last = true;
        return;
      }
      leave();
      send(new byte[] {bytes[bytes.length - 1]});
    }

    private static int number(Map<String, String> commands, String name, int otherwise) {
      String value = commands.get(name);
      return value == null ? otherwise : Integer.parseInt(value);
    }

    private void send(String text) throws IOException {
      send(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    private void send(byte[] bytes) throws IOException {
      if (broken) {
        return;
      }
      try {
        OutputStream out = socket.getOutputStream();
        out.write(bytes);
        out.flush();
      } catch (IOException reset) {
        if (!runsOn) {
          throw reset;
        }
        broken = true;
      }
    }

    /** Waits, and throws as soon as the client leaves. */
    private void pause(InputStream in, int ms) throws IOException {
      if (ms <= 0) {
        return;
      }
      if (runsOn) {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
        for (long left = end - System.nanoTime(); left > 0; left = end - System.nanoTime()) {
          LockSupport.parkNanos(left);
        }
        return;
      }
      socket.setSoTimeout(ms);
      try {
        int next = in.read();
        if (next < 0) {
          throw new ClientLeft();
        }
        violations.add("byte during a response: " + next);
      } catch (SocketTimeoutException elapsed) {
        // the client waits
      } finally {
        if (!socket.isClosed()) {
          socket.setSoTimeout(0);
        }
      }
    }
  }
}
