package dev.berth.desired;

import static dev.berth.fakes.Submits.submit;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ConfigReader;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Commands about applications whose requests name a model. */
class OpenAiDeployTest extends ServeControlRig {
  private static final String ENTRY =
      "{name: a, import_path: 'berth:openai', args: {models: [{name: m, deployment: d}]},"
          + " deployments: [{name: d, berth: {upstreams: [{url: 'http://h',"
          + " max_ongoing_requests: 1}]}}]}";

  private void start(String host) {
    String text = "{applications: [], http_options: {host: '" + host + "'}}";
    ServeConfig file =
        ConfigReader.read("file", folder, text)
            .with(InstanceOptions.STATE_DIR, folder.resolve("state"));
    start(file, new JournalLog(file.settings()));
  }

  @Test
  void deployToAnOpenInstanceIsRefused() {
    start("0.0.0.0");
    assertThat(
            refused(
                CommandRejectionReason.INVALID,
                submit(commands(), "{applications: [" + ENTRY + "]}")))
        .hasMessageContaining("berth:openai, for any client of another machine")
        .hasMessageContaining("http_options.host")
        .hasMessageContaining("api_keys_file")
        .hasMessageContaining("allow_unauthenticated");
    assertThat(control.state.find("a")).isNull();
  }

  @Test
  void weightsAreRefusedSinceTheModelSelects() {
    start("127.0.0.1");
    deployRan("a", ENTRY);
    controls.deployments = Set.of("d");
    assertThat(refused(CommandRejectionReason.INVALID, commands().split("a", Map.of("d", 1.0))))
        .hasMessageContaining("berth.traffic: with import_path berth:openai");
    deploy("a", ENTRY.replace("name: m,", "name: other,"));
  }
}
