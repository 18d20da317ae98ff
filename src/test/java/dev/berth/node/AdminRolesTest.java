package dev.berth.node;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.admin.AdminAuthFilter;
import dev.berth.config.admin.AdminRole;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The table of roles in {@code docs/rest.md}: each path of a node, with the rule that applies. */
@Timeout(60)
class AdminRolesTest {
  private static final Path DOCUMENT = Path.of("docs/rest.md");
  private static final String BEGIN = "<!-- roles: AdminRolesTest writes this table -->\n";
  private static final String END = "<!-- end of roles -->\n";

  @TempDir private Path folder;

  /** Run with {@code -Dberth.docs.write=true} to write the table again. */
  @Test
  void documentShowsTheRoleOfEachPath() throws Exception {
    JsonObject paths;
    try (NodePair pair = new NodePair(folder)) {
      paths = new JsonObject(pair.nodes.get(0).admin("GET", "/", "").body()).getJsonObject("paths");
    }
    StringBuilder table =
        new StringBuilder("| path | no token | viewer | operator only |\n|---|---|---|---|\n");
    for (String path : new TreeSet<>(paths.fieldNames())) {
      JsonArray methods = paths.getJsonArray(path);
      table.append(
          "| `%s` | %s | %s | %s |\n"
              .formatted(
                  path.equals(AdminAuthFilter.PAGE) ? path + "{file}" : path,
                  methods(path, methods, null),
                  methods(path, methods, AdminRole.VIEWER),
                  methods(path, methods, AdminRole.OPERATOR)));
    }
    String text = Files.readString(DOCUMENT);
    int begin = text.indexOf(BEGIN) + BEGIN.length();
    int end = text.indexOf(END);
    if (Boolean.getBoolean("berth.docs.write")) {
      Files.writeString(DOCUMENT, text.substring(0, begin) + table + text.substring(end));
    } else {
      assertThat(text.substring(begin, end)).isEqualTo(table.toString());
    }
  }

  private static String methods(String path, JsonArray methods, @Nullable AdminRole role) {
    return methods.stream()
        .map(String::valueOf)
        .filter(
            method ->
                Objects.equals(AdminAuthFilter.required(HttpMethod.valueOf(method), path), role))
        .sorted()
        .collect(joining(", "));
  }
}
