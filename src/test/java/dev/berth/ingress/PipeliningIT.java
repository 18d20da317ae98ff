package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.berth.config.HttpOptions;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.FakeUpstream.Call;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Requests that stand behind one another on a connection, where the next begins as one ends. */
class PipeliningIT {
  private static final String GET = "GET / HTTP/1.1\r\nHost: t\r\n\r\n";
  private static final String CHUNKED =
      "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n";

  @AutoClose private IngressRig rig;
  private FakeUpstream upstream;

  @BeforeEach
  void start() throws Exception {
    Settings http = IngressRig.LOCAL.with(HttpOptions.KEEP_ALIVE_TIMEOUT_S, Duration.ofMillis(500));
    rig = new IngressRig(http).route("/");
    upstream = rig.upstream;
  }

  @Test
  void aClientThatLeavesCancelsTheRequestThatBeganAsAnotherEnded() throws Exception {
    RawClient raw = rig.raw();
    raw.send(GET + GET);
    upstream.nextCall().respond("one");
    raw.readUntil("one");
    Call second = upstream.nextCall();
    raw.close();
    assertThat(second.cancelledWithin(10)).isTrue();
  }

  @Test
  void aConnectionIsNotIdleWhileTheRequestRunsThatBeganAsAnotherEnded() throws Exception {
    RawClient raw = rig.raw();
    RawClient idle = rig.raw();
    raw.send(GET + GET);
    upstream.nextCall().respond("one");
    raw.readUntil("one");
    Call second = upstream.nextCall();
    idle.get("/-/healthz");
    assertThat(idle.readToEnd()).as("closed when it was idle for long").endsWith("success");
    second.respond("two");
    assertThat(raw.readUntil("two")).startsWith("HTTP/1.1 200");
  }

  @ParameterizedTest
  @ValueSource(strings = {"zz\r\n", "2\r\nhi\r\nzz\r\n", "-1\r\n", "ffffffff1\r\n", "2\nhi\n"})
  void aBodyThatIsNoHttpBehindAnotherRequestLeavesNothing(String body) throws Exception {
    RawClient raw = rig.raw().send(GET + CHUNKED + body);
    upstream.nextCall().respond("one");
    raw.readUntil("one");
    raw.readToEnd();
  }

  @Test
  void aClientThatResetsWhileRequestsWaitIsNoNews() throws Exception {
    Logger root = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    root.addAppender(log);
    try {
      RawClient raw = rig.raw();
      raw.send(GET + CHUNKED + "2\r\nhi\r\n");
      Call first = upstream.nextCall();
      raw.reset();
      assertThat(first.cancelledWithin(10)).isTrue();
      rig.eventually("its connection is gone", () -> rig.connections() == 0);
    } finally {
      root.detachAppender(log);
    }
    assertThat(log.list).noneMatch(event -> event.getLevel().isGreaterOrEqual(Level.WARN));
  }
}
