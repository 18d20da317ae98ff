package dev.berth.cli.log;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import dev.berth.view.LogLine;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;

class LogTapTest {
  private final LoggerContext context = new LoggerContext();
  private final LogbackMDCAdapter mdc = new LogbackMDCAdapter();
  private final List<LogLine> lines = new CopyOnWriteArrayList<>();

  @BeforeEach
  void prepare() {
    context.setMDCAdapter(mdc);
  }

  @Test
  void aLineIsHandedOnWithItsPairsTheMdcAndItsStack() {
    new LogTap(context).to(lines::add);
    mdc.put("tenant", "t-1");
    mdc.put("replica", "of the thread");
    context
        .getLogger("shop.cart")
        .atWarn()
        .addKeyValue("replica", "shop#cart#1")
        .addKeyValue("attempt", 3)
        .setCause(new IllegalStateException("why"))
        .log("failed {}", "twice");

    LogLine line = lines.get(0);
    assertThat(line.message()).isEqualTo("failed twice");
    assertThat(line.level()).isEqualTo("WARN");
    assertThat(line.logger()).isEqualTo("shop.cart");
    assertThat(line.fields())
        .isEqualTo(Map.of("tenant", "t-1", "replica", "shop#cart#1", "attempt", "3"));
    assertThat(line.exception()).startsWith("java.lang.IllegalStateException: why");
  }

  @Test
  void theAccessLogIsNotInItAndItsEndIsTheEnd() {
    DefaultLogging.configureDefaults(context);
    context.getLogger(Logger.ROOT_LOGGER_NAME).detachAppender(DefaultLogging.APPENDER);
    context.getLogger(DefaultLogging.ACCESS_LOGGER).getAppender("access").stop();
    Runnable end = new LogTap(context).to(lines::add);
    context.getLogger(DefaultLogging.ACCESS_LOGGER).info("GET /");
    context.getLogger("dev.berth.X").info("kept");
    end.run();
    context.getLogger("dev.berth.X").info("after the end");

    assertThat(lines).extracting(LogLine::message).containsExactly("kept");
  }

  @Test
  void aDeploymentMayHaveALevelOfItsOwnAndLoseItAgain() {
    DefaultLogging.configureDefaults(context);
    LogTap tap = new LogTap(context);
    tap.level("shop.cart", "DEBUG");
    assertThat(context.getLogger("shop.cart").isDebugEnabled()).isTrue();
    tap.level("shop.cart", null);
    assertThat(context.getLogger("shop.cart").isDebugEnabled()).isFalse();
  }

  @Test
  void logbacksOwnConfigurationHasTheLastWordOnLevels() {
    new LogTap(context).level("shop.cart", "ERROR");
    assertThat(context.getLogger("shop.cart").getLevel()).isNull();
  }

  @Test
  void theProcessesOwnLogIsFoundWhereItIsLogbacks() {
    assertThat(LogTap.ofProcess()).isInstanceOf(LogTap.class);
  }
}
