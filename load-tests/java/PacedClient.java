import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.function.Supplier;

/**
 * An HTTP/1.1 client that sends at given times, on one thread, over connections that it keeps.
 *
 * <p>A request is timed from when it was due, not from when it was sent: what waits because the
 * server is slow, because no connection is free, or because this client was late, counts. No
 * request is left out, also those that never got an answer.
 *
 * <p>How late the client itself was is told beside it, see {@link PacedRun#lag}: a figure means
 * nothing when the client was the slow one.
 */
final class PacedClient implements AutoCloseable {
  /** It looks without waiting from this long before a time: a selector counts milliseconds. */
  private static final long SPIN_NANOS = 1_000_000;

  private static final long LONGEST_WAIT_NANOS = 100_000_000;

  /** What is to be killed while its answer is awaited is killed within this time. */
  private static final long KILL_WITHIN_NANOS = 5_000_000;

  private final InetSocketAddress address;
  private final Selector selector;
  private final ArrayDeque<Connection> free = new ArrayDeque<>();
  private final long spinNanos;
  private final PriorityQueue<Connection> doomed =
      new PriorityQueue<>((a, b) -> Long.compare(a.killAt, b.killAt));
  private final SplittableRandom random;
  private final ByteBuffer in = ByteBuffer.allocateDirect(64 * 1024);
  private final byte[] bytes = new byte[64 * 1024];
  private final Connection[] connections;
  private PacedRun run;
  private Pace pace;
  private Supplier<PacedRequest> script;
  private long begin;
  private long giveUp;
  private long due; // of the next request

  /** One that keeps its times to the microsecond, for the price of a core. */
  PacedClient(InetSocketAddress address, int connections, long seed) throws IOException {
    this(address, connections, seed, true);
  }

  /**
   * @param seed of when connections are reset, of requests that ask for it
   * @param spins false leaves the core to others, and is up to a millisecond late
   */
  PacedClient(InetSocketAddress address, int connections, long seed, boolean spins)
      throws IOException {
    this.address = address;
    this.spinNanos = spins ? SPIN_NANOS : -999_999;
    this.random = new SplittableRandom(seed);
    this.selector = Selector.open();
    this.connections = new Connection[connections];
    for (int i = 0; i < connections; i++) {
      this.connections[i] = new Connection();
      this.connections[i].open();
      free.add(this.connections[i]);
    }
  }

  /**
   * Sends what the pace and the script say for a time, then waits for the answers.
   *
   * @param givenPace when requests are due; null for a closed loop, in which each connection sends
   *     its next request when it has its answer
   * @param warmUpNanos at the beginning, not counted
   * @param nanos the time counted
   * @param drainNanos how long to wait for what is unanswered in the end
   */
  PacedRun run(
      Pace givenPace,
      Supplier<PacedRequest> givenScript,
      Observer observer,
      long warmUpNanos,
      long nanos,
      long drainNanos)
      throws IOException {
    long cpuBefore = threadCpu();
    pace = givenPace;
    script = givenScript;
    begin = System.nanoTime() + 1_000_000;
    run = new PacedRun(begin, begin + warmUpNanos, begin + warmUpNanos + nanos, observer);
    giveUp = run.end + drainNanos;
    due = begin;
    advance(begin);
    long now = begin;
    while (!(due >= run.end && run.underWay == 0) && now < giveUp) {
      waitUntil(wakeAt(now), now);
      now = System.nanoTime();
      if (pace == null && now >= run.end) {
        due = run.end;
      }
      while (!doomed.isEmpty() && doomed.peek().killAt <= now) {
        doomed.poll().killNow(now);
      }
      sendDue(now);
    }
    now = System.nanoTime();
    for (Connection connection : connections) {
      if (connection.request != null) {
        run.unanswered(connection.dueAt, now);
        connection.again(now);
        connection.idle(now);
      }
    }
    doomed.clear();
    for (; due < run.end; advance(now)) {
      run.unsent(due, now);
    }
    run.cpuShare = (double) (threadCpu() - cpuBefore) / (now - begin);
    return run;
  }

  /** Sends on free connections what should have been sent by now. */
  private void sendDue(long from) {
    long now = from;
    while (!free.isEmpty() && due <= now && due < run.end && now < giveUp) {
      Connection connection = free.poll();
      connection.send(script.get(), pace == null ? Math.max(begin, connection.freeAt) : due);
      now = System.nanoTime();
      advance(now);
    }
  }

  /** In a closed loop there is always one due, until the end. */
  private void advance(long now) {
    due = pace != null ? begin + pace.next() : now < run.end ? begin : run.end;
  }

  private long wakeAt(long now) {
    long wake = Math.min(giveUp, now + LONGEST_WAIT_NANOS);
    if (due < run.end && !free.isEmpty()) {
      wake = Math.min(wake, due);
    }
    return doomed.isEmpty() ? wake : Math.min(wake, doomed.peek().killAt);
  }

  private void waitUntil(long wake, long now) throws IOException {
    long waitMillis = (wake - now - spinNanos) / 1_000_000;
    if (waitMillis > 0) {
      selector.select(this::ready, waitMillis);
    } else {
      selector.selectNow(this::ready);
    }
  }

  private static long threadCpu() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  private void ready(SelectionKey key) {
    Connection connection = (Connection) key.attachment();
    try {
      if (key.isWritable()) {
        connection.write();
      }
      if (key.isReadable()) {
        connection.read();
      }
    } catch (IOException lost) {
      connection.lost();
    }
  }

  @Override
  public void close() throws IOException {
    for (Connection connection : connections) {
      connection.channel.close();
    }
    selector.close();
  }

  /** Hears of each answer, those of the warm-up too. */
  interface Observer {
    void answered(PacedRequest request, int status, long latencyNanos, boolean counted);
  }

  private final class Connection {
    final AnswerReader answer = new AnswerReader();
    SocketChannel channel;
    SelectionKey key;
    PacedRequest request;
    ByteBuffer out;
    long dueAt;
    long freeAt;
    long killAt;
    long received;

    void open() throws IOException {
      channel = SocketChannel.open(address);
      channel.configureBlocking(false);
      channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      key = channel.register(selector, SelectionKey.OP_READ, this);
      answer.reset();
    }

    void send(PacedRequest next, long due) {
      request = next;
      dueAt = due;
      received = 0;
      out = next.bytes().duplicate();
      if (next.sendOnly() >= 0) {
        out.limit(Math.min(out.limit(), next.sendOnly()));
      }
      run.sent(due, Math.max(due, freeAt));
      try {
        write();
      } catch (IOException lost) {
        lost();
      }
    }

    void write() throws IOException {
      channel.write(out);
      boolean all = !out.hasRemaining();
      key.interestOps(all ? SelectionKey.OP_READ : SelectionKey.OP_READ | SelectionKey.OP_WRITE);
      if (all && killAt == 0 && (request.sendOnly() >= 0 || request.readOnly() == 0)) {
        doom();
      }
    }

    void read() throws IOException {
      in.clear();
      int length = channel.read(in);
      if (length < 0) {
        throw new IOException("closed by the server");
      }
      in.flip();
      in.get(bytes, 0, length);
      if (request == null) {
        if (length > 0) {
          throw new IOException("bytes that nobody asked for");
        }
        return;
      }
      received += length;
      if (request.readOnly() > 0 && received >= request.readOnly() && killAt == 0) {
        killNow(System.nanoTime());
        return;
      }
      if (answer.take(bytes, length)) {
        long now = System.nanoTime();
        PacedRequest done = request;
        run.answered(done, answer.status(), dueAt, now);
        if (killAt != 0) {
          doomed.remove(this); // it was answered before its time had come
        }
        if (answer.closes()) {
          again(now);
        }
        idle(now);
        sendDue(now);
      }
    }

    private void doom() {
      killAt = System.nanoTime() + 1 + random.nextLong(KILL_WITHIN_NANOS);
      doomed.add(this);
    }

    /** Resets the connection, as a client does that dies. */
    void killNow(long now) {
      run.killed(request);
      try {
        channel.setOption(StandardSocketOptions.SO_LINGER, 0);
      } catch (IOException closed) {
        // The server was faster.
      }
      again(now);
      idle(now);
    }

    void lost() {
      long now = System.nanoTime();
      if (request != null) {
        if (request.isKilled()) {
          run.killed(request);
          doomed.remove(this);
        } else {
          run.lost(request, dueAt, now);
        }
      }
      boolean wasBusy = request != null;
      again(now);
      if (wasBusy) {
        idle(now);
      }
    }

    private void idle(long now) {
      request = null;
      killAt = 0;
      freeAt = now;
      free.add(this);
    }

    private void again(long now) {
      try {
        channel.close();
        open();
        freeAt = now;
      } catch (IOException gone) {
        throw new UncheckedIOException("the server is gone", gone);
      }
    }
  }
}
