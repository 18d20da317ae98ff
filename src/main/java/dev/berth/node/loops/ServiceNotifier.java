package dev.berth.node.loops;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelException;
import io.netty.channel.unix.Socket;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sender of the states of an instance to a service manager, by the protocol of {@code sd_notify}.
 * Sends nothing if the variables name no socket.
 *
 * <p><b>Watchdog.</b> Its messages come from the control loop, so that a blocked control loop sends
 * none. A blocked serving loop does not stop them: its replicas run on other loops, and the other
 * applications need no restart.
 *
 * <p><b>Failure.</b> The JDK has no datagrams of Unix sockets, and Netty has them once epoll is
 * loaded. A message that cannot be sent is logged and lost.
 *
 * <p>Source: sd_notify(3), sd_watchdog_enabled(3).
 */
public final class ServiceNotifier {
  private static final Logger LOG = LoggerFactory.getLogger(ServiceNotifier.class);
  private static final int MESSAGES_PER_WATCH = 2; // as sd_watchdog_enabled(3) recommends

  private final byte[] socket; // path, or a name that begins with 0; empty: no service manager
  private final long watchMs; // interval of the watchdog's messages; 0 for none

  private ServiceNotifier(byte[] socket, long watchMs) {
    this.socket = socket;
    this.watchMs = watchMs;
  }

  /** Returns the sender for this process and its environment. */
  public static ServiceNotifier ofProcess() {
    return of(System::getenv, ProcessHandle.current().pid());
  }

  /**
   * Reads the address and the watchdog of the service manager.
   *
   * @param variables values of the environment by name
   * @param pid process of which a service manager may expect the messages
   */
  public static ServiceNotifier of(UnaryOperator<@Nullable String> variables, long pid) {
    String socket = text(variables.apply("NOTIFY_SOCKET"));
    if (!socket.startsWith("/") && !socket.startsWith("@")) {
      return new ServiceNotifier(new byte[0], 0);
    }
    byte[] address = socket.getBytes(StandardCharsets.UTF_8);
    if (address[0] == '@') {
      address[0] = 0;
    }
    String watched = text(variables.apply("WATCHDOG_PID"));
    String micros = text(variables.apply("WATCHDOG_USEC"));
    boolean watches =
        micros.matches("\\d{1,18}") && (watched.isEmpty() || watched.equals(Long.toString(pid)));
    long millis = watches ? TimeUnit.MICROSECONDS.toMillis(Long.parseLong(micros)) : 0;
    return new ServiceNotifier(address, millis / MESSAGES_PER_WATCH);
  }

  private static String text(@Nullable String value) {
    return value == null ? "" : value;
  }

  /** Reports that the instance accepts requests. */
  public void ready() {
    send("READY=1");
  }

  /** Reports that the instance drains. */
  public void stopping() {
    send("STOPPING=1");
  }

  /** Sends the watchdog's messages from a loop, as long as the loop runs. */
  public void watch(LoopVerticle control) {
    if (watchMs > 0) {
      control.home().setPeriodic(watchMs, fired -> send("WATCHDOG=1"));
    }
  }

  private void send(String message) {
    if (socket.length == 0) {
      return;
    }
    ByteBuf bytes = Unpooled.directBuffer().writeBytes(message.getBytes(StandardCharsets.US_ASCII));
    try {
      Socket datagrams = Socket.newSocketDomainDgram(); // native, of the transport of the instance
      try {
        int end = bytes.readableBytes();
        datagrams.sendToDomainSocket(bytes.internalNioBuffer(0, end), 0, end, socket);
      } finally {
        datagrams.close();
      }
    } catch (IOException | ChannelException | LinkageError failed) { // no socket: ChannelException
      LOG.warn("service manager: {} not sent: {}", message, failed.toString());
    } finally {
      bytes.release();
    }
  }
}
