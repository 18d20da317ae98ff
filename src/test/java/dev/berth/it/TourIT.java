package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** {@code docs/tour.md}, command by command. */
class TourIT {
  /** How the client of Java begins HTTP/2 in the clear; curl has prior knowledge. */
  private static final String[] OPTIONS = {
    "--host=127.0.0.1", "--port=0", "--admin-port=0", "--set=berth.h2c_upgrade=true"
  };

  private static final Map<String, Server> SERVERS = new HashMap<>();

  @BeforeAll
  static void start() throws IOException {
    for (Tour.Step step : steps()) {
      if (!SERVERS.containsKey(step.config())) {
        SERVERS.put(step.config(), Server.start(Path.of(step.config()), OPTIONS));
      }
    }
  }

  @AfterAll
  static void stop() {
    SERVERS.values().forEach(Server::close);
  }

  static List<Tour.Step> steps() throws IOException {
    return Tour.of(Path.of("docs/tour.md"));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("steps")
  void theAnswerIsTheOneShown(Tour.Step step) throws Exception {
    Server server = SERVERS.get(step.config());

    String answer =
        Curl.run(
            step.command(),
            url ->
                url.replace("localhost:8000", "127.0.0.1:" + server.port())
                    .replace("localhost:8265", "127.0.0.1:" + server.adminPort()));

    assertThat(step.mismatch(answer)).as(answer).isEmpty();
  }
}
