package dev.berth.cluster.data;

import static dev.berth.cluster.link.LinkWorld.await;
import static dev.berth.cluster.link.LinkWorld.on;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import dev.berth.cluster.link.Link;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.link.LinkWorld;
import dev.berth.cluster.membership.Member;
import dev.berth.fakes.LogLines;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.stream.CountingLimit;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A node of the cluster, by its certificate, that says by hand what no node says. */
@Timeout(60)
class LyingPeerIT {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final long HOUR = TimeUnit.HOURS.toNanos(1);

  @TempDir private Path folder;
  private LinkWorld world;
  private FakeNode honest;
  private FakeNode other;

  /** What it says once it is welcome, and how the honest side takes that. */
  enum Lie {
    A_SECOND_HELLO("a frame of kind 1 ", liar -> liar.say(out -> out.appendByte(DataFrame.HELLO))),
    AN_UNKNOWN_FRAME("a frame of kind 99 ", liar -> liar.say(out -> out.appendByte((byte) 99))),
    AN_EMPTY_FRAME("message not handled", liar -> liar.say(out -> {})),
    A_FRAME_THAT_IS_CUT(
        "message not handled", liar -> liar.say(out -> out.appendByte(DataFrame.PONG))),
    AN_ANSWER_TO_NO_PING(
        "a frame from the future",
        liar -> {
          liar.say(out -> DataFrame.write(out, DataFrame.PONG, liar.ping + HOUR, 0));
          liar.say(out -> DataFrame.write(out, DataFrame.SENT, 0));
          liar.reserves(0);
        }),
    A_FRAME_OF_TOMORROW(
        "a frame from the future",
        liar -> {
          liar.answersPings();
          liar.say(out -> DataFrame.write(out, DataFrame.SENT, System.nanoTime() + HOUR));
          liar.reserves(0);
        }),
    A_FRAME_OLDER_THAN_TIME(
        null,
        true,
        liar -> {
          liar.answersPings();
          liar.say(
              out -> DataFrame.write(out, DataFrame.SENT, System.nanoTime() - Long.MAX_VALUE / 2));
          liar.reserves(0);
        }),
    A_MESSAGE_WITHOUT_ITS_TIME(null, true, liar -> liar.reserves(0)),
    A_MESSAGE_TO_A_LOOP_THAT_IS_NONE(null, liar -> liar.reserves(65_535)),
    A_MESSAGE_THAT_IS_NONE(
        null,
        liar -> liar.say(out -> DataFrame.write(out, DataFrame.REPLICA, Buffer.buffer("lies"))));

    private final @Nullable String ends; // the link, which else stays
    private final boolean isOld;
    private final Consumer<Liar> step;

    Lie(@Nullable String ends, Consumer<Liar> step) {
      this(ends, false, step);
    }

    Lie(@Nullable String ends, boolean isOld, Consumer<Liar> step) {
      this.ends = ends;
      this.isOld = isOld;
      this.step = step;
    }
  }

  /** Its end of the link. */
  private static final class Liar implements Link.LinkOwner {
    private final ContextInternal loop;
    private final Link link;
    private final CompletableFuture<Void> welcome = new CompletableFuture<>();
    private final CompletableFuture<String> ended = new CompletableFuture<>();
    private long ping; // the first one

    Liar(ContextInternal loop) {
      this.loop = loop;
      this.link = new Link(loop, DataFrame.MAX_BYTES, new CountingLimit(1 << 20), this);
    }

    void say(Consumer<Buffer> frame) {
      link.writeFirst(frame);
    }

    void answersPings() {
      say(out -> DataFrame.write(out, DataFrame.PONG, ping, System.nanoTime()));
    }

    void reserves(int replicaLoop) {
      say(out -> DataFrame.write(out, BusAddresses.replica("n2~1", replicaLoop), reserve("n1~1")));
    }

    @Override
    public void onFrames(List<Buffer> frames) {
      for (Buffer frame : frames) {
        if (frame.getByte(0) == DataFrame.PING && !welcome.isDone()) {
          ping = DataFrame.time(frame, 0);
          welcome.complete(null);
        }
      }
    }

    @Override
    public void onEnded(String reason) {
      ended.complete(reason);
    }
  }

  private static ReserveSlot reserve(String from) {
    return new ReserveSlot(
        1,
        new RouterAddress(from, 0),
        new AttemptId(1, 0, 1),
        new ReplicaAddress("n2~1", 0, 0, 1),
        5_000,
        20_000_000,
        1);
  }

  @BeforeEach
  void begin() throws Exception {
    world = new LinkWorld(folder);
    honest = new FakeNode(world, world.tls("n2"), "n2", LONG).start(2);
    other = new FakeNode(world, world.tls("n3"), "n3", LONG).start(3);
    FakeNode.acquaint(honest, other);
    honest.bus.add(FakeNode.member("n1~1", 1, 1));
  }

  @AfterEach
  void close() throws Exception {
    await(honest.bus.stop());
    await(other.bus.stop());
    world.close();
  }

  private Liar liar() throws Exception {
    LinkTls tls = world.tls("n1");
    NetClient dialer = tls.dialer(world.vertx);
    Liar liar = new Liar(world.loop());
    NetSocket socket = await(on(liar.loop, () -> dialer.connect(honest.port(), "127.0.0.1")));
    Member to = FakeNode.member("n2~1", honest.port(), 2);
    DataLinkHello hello = DataLinkHello.of("n1~1", new LocalRegistration("cluster-1", 1), 0, to);
    on(
        liar.loop,
        () -> {
          liar.link.attach(socket);
          liar.link.open();
          liar.say(out -> DataFrame.write(out, DataFrame.HELLO, hello.fields().toBuffer()));
          return null;
        });
    liar.welcome.get(20, TimeUnit.SECONDS);
    return liar;
  }

  @ParameterizedTest
  @EnumSource
  void nobodyButItselfIsTheWorseForIt(Lie lie) throws Exception {
    Liar liar = liar();
    List<BusMessage> taken = honest.received.get("berth.replica.n2~1.0");
    try (LogLines said = new LogLines(EventLoopLinks.class, Level.INFO)) {
      on(
          liar.loop,
          () -> {
            lie.step.accept(liar);
            return null;
          });
      if (lie.ends != null) {
        liar.ended.get(20, TimeUnit.SECONDS);
        world.eventually(() -> honest.told.contains("broken n1~1 1"));
        assertThat(said.all())
            .anyMatch(
                line -> line.getFormattedMessage().contains("loop 0: 127.0.0.1: " + lie.ends));
      }
    }
    world.eventually(() -> taken.size() == (lie.isOld ? 1 : 0));
    world.eventually(() -> other.send(honest, 7));
    world.eventually(() -> honest.routers(0).contains(new CallAccepted(7, 0)));
    assertThat(taken)
        .hasSize(lie.isOld ? 1 : 0)
        .allMatch(message -> ((ReserveSlot) message).acceptMicros() == 0, "nothing left of 20 s");
    assertThat(liar.ended.isDone()).isEqualTo(lie.ends != null);
    assertThat(honest.told).hasSize(lie.ends == null ? 0 : 2); // of either loop
    assertThat(other.told).isEmpty();
  }
}
