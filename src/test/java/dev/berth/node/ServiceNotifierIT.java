package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.berth.node.loops.LoopVerticle;
import dev.berth.node.loops.ServiceNotifier;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollDomainDatagramChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.unix.DomainDatagramPacket;
import io.netty.channel.unix.DomainSocketAddress;
import io.vertx.core.Vertx;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real datagrams of {@link ServiceNotifier} to a socket of the test. */
class ServiceNotifierIT {
  private static final long PID = 7;
  @TempDir Path dir;
  private final BlockingQueue<String> received = new LinkedBlockingQueue<>();
  private EventLoopGroup receivers;
  private Vertx vertx;
  private String socket;

  @BeforeEach
  void receive() throws Exception {
    assumeTrue(Epoll.isAvailable(), "no epoll here");
    vertx = Vertx.vertx();
    socket = dir.resolve("notify").toString();
    receivers = new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());
    new Bootstrap()
        .group(receivers)
        .channel(EpollDomainDatagramChannel.class)
        .handler(
            new SimpleChannelInboundHandler<DomainDatagramPacket>() {
              @Override
              protected void channelRead0(ChannelHandlerContext on, DomainDatagramPacket packet) {
                received.add(packet.content().toString(StandardCharsets.US_ASCII));
              }
            })
        .bind(new DomainSocketAddress(socket))
        .sync();
  }

  @AfterEach
  void release() throws Exception {
    if (receivers != null) {
      receivers.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
      vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    }
  }

  private ServiceNotifier with(Map<String, String> variables) {
    return ServiceNotifier.of(variables::get, PID);
  }

  private String next() throws InterruptedException {
    return received.poll(10, TimeUnit.SECONDS);
  }

  private LoopVerticle loop(String name) throws Exception {
    LoopVerticle loop = new LoopVerticle(name);
    vertx.deployVerticle(loop).toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    return loop;
  }

  @Test
  void startAndDrainAreReportedInTheirOrder() throws Exception {
    ServiceNotifier service = with(Map.of("NOTIFY_SOCKET", socket));
    service.ready();
    service.stopping();
    assertThat(next()).isEqualTo("READY=1");
    assertThat(next()).isEqualTo("STOPPING=1");
  }

  @Test
  void blockedControlLoopMissesItsWatchdogUntilItRunsAgain() throws Exception {
    LoopVerticle control = loop("control");
    with(Map.of("NOTIFY_SOCKET", socket, "WATCHDOG_USEC", "100000", "WATCHDOG_PID", "7"))
        .watch(control);
    assertThat(next()).isEqualTo("WATCHDOG=1");
    CountDownLatch blocked = new CountDownLatch(1);
    CountDownLatch free = new CountDownLatch(1);
    control.execute(
        () -> {
          blocked.countDown();
          try {
            free.await();
          } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
          }
        });
    blocked.await();
    received.clear();
    assertThat(received.poll(500, TimeUnit.MILLISECONDS)).as("while it is blocked").isNull();
    free.countDown();
    assertThat(next()).isEqualTo("WATCHDOG=1");
  }

  @Test
  void blockedServingLoopMissesNoMessageOfTheWatchdog() throws Exception {
    LoopVerticle control = loop("control");
    LoopVerticle serving = loop("serving");
    CountDownLatch free = new CountDownLatch(1);
    serving.execute(
        () -> {
          try {
            free.await();
          } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
          }
        });
    with(Map.of("NOTIFY_SOCKET", socket, "WATCHDOG_USEC", "100000")).watch(control);
    for (int i = 0; i < 5; i++) {
      assertThat(next()).isEqualTo("WATCHDOG=1");
    }
    free.countDown();
  }

  @Test
  void watchdogOfAnotherProcessOrOfNoNumberSendsNothing() throws Exception {
    LoopVerticle control = loop("control");
    with(Map.of("NOTIFY_SOCKET", socket, "WATCHDOG_USEC", "2000", "WATCHDOG_PID", "8"))
        .watch(control);
    with(Map.of("NOTIFY_SOCKET", socket, "WATCHDOG_USEC", "soon")).watch(control);
    with(Map.of("NOTIFY_SOCKET", socket, "WATCHDOG_USEC", "99999999999999999999")).watch(control);
    with(Map.of("NOTIFY_SOCKET", socket)).watch(control);
    assertThat(received.poll(300, TimeUnit.MILLISECONDS)).isNull();
  }

  @Test
  void missingSocketOrOneWithoutAReceiverEndsNothing() {
    with(Map.of()).ready();
    with(Map.of("NOTIFY_SOCKET", "vsock:1")).ready();
    with(Map.of("NOTIFY_SOCKET", dir.resolve("none").toString())).ready();
    with(Map.of("NOTIFY_SOCKET", "/" + "x".repeat(300))).ready();
    with(Map.of("NOTIFY_SOCKET", "@berth-none")).ready();
    assertThat(received).isEmpty();
  }

  @Test
  void abstractSocketReceivesTheStart() throws Exception {
    String name = "berth-test-" + ProcessHandle.current().pid();
    new Bootstrap()
        .group(receivers)
        .channel(EpollDomainDatagramChannel.class)
        .handler(
            new SimpleChannelInboundHandler<DomainDatagramPacket>() {
              @Override
              protected void channelRead0(ChannelHandlerContext on, DomainDatagramPacket packet) {
                received.add(packet.content().toString(StandardCharsets.US_ASCII));
              }
            })
        .bind(new DomainSocketAddress('\0' + name))
        .sync();
    with(Map.of("NOTIFY_SOCKET", "@" + name)).ready();
    assertThat(next()).isEqualTo("READY=1");
  }
}
