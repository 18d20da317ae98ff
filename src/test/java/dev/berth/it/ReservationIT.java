package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Leases whose owners vanish, in a running instance. */
class ReservationIT {
  @Test
  void selectionsThatAreForgottenGiveTheirSlotsBackAfterTheirTime(@TempDir Path folder)
      throws Exception {
    try (Server server =
        TestJar.serve(
            folder,
            """
            applications:
              - name: forgetful
                import_path: dev.berth.it.app.ForgetfulApplication:build
                runtime_env: {jars: [app.jar]}
            """)) {
      for (int i = 0; i < 5; i++) {
        assertThat(server.get("/").body()).startsWith("forgetful#chosen#");
      }
      // All slots are held: the next choose waits for one to run out, and gets it.
      assertThat(server.get("/").body()).startsWith("forgetful#chosen#");

      GatedServer.assertAtRest(server);
      assertThat(server.sum("berth_lease_expiries_total")).isEqualTo(6);
    }
  }
}
